#!/usr/bin/env bash
# Every sentence with a count in the window has its singular and plural in the English translation. Usage: plurals.sh SOURCE_DIR
set -u
cd "$1" || exit 2
ts=resources/translations/megascope_en.ts
bad=0
while IFS= read -r text; do
  escaped=$(printf '%s' "$text" | sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g; s/\\n.*//')
  if ! grep -qF "$escaped" "$ts"; then echo "not in $ts: $text"; bad=1; fi
done < <(grep -rhoE 'tr\("[^"]*%n[^"]*"' views app/gui --include='*.cpp' | sed 's/^tr("//; s/"$//' | sort -u)
if grep -q '<numerusform></numerusform>' "$ts"; then echo "$ts has empty forms"; bad=1; fi
[ $bad = 0 ] && echo "all counts have both forms"
exit $bad
