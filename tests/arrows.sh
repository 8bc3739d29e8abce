#!/usr/bin/env bash
# Checks which folder includes which: the arrows of docs/architecture.md. Usage: arrows.sh SOURCE_DIR
set -u
cd "$1" || exit 2
declare -A may=(
  [base]="base"
  [tensor]="base tensor"
  [graph]="base tensor graph"
  [opr]="base tensor graph opr"
  [format]="base tensor graph opr format"
  [feed]="base tensor feed"
  [exec]="base tensor graph opr exec"
  [optimize]="base tensor graph opr exec optimize"
  [profile]="base tensor graph profile"
  [compare]="base tensor graph opr exec compare"
  [layout]="base tensor graph opr layout"
  [trace]="base tensor graph opr exec optimize format feed compare profile session trace"
  [session]="base tensor graph opr exec format feed compare profile session"
)
bad=0
for folder in "${!may[@]}"; do
  [ -d "core/$folder" ] || continue
  while IFS=: read -r file line text; do
    target=${text#*\"}; target=${target%%\"*}
    first=${target%%/*}
    [ "$first" = "$target" ] && continue # generated headers have no folder
    case " ${may[$folder]} " in
      *" $first "*) ;;
      *) echo "$file:$line: core/$folder must not include \"$target\""; bad=1 ;;
    esac
  done < <(grep -rnE '^\s*#\s*include\s+"' "core/$folder" --include='*.h' --include='*.cpp')
done
if grep -rnE '#\s*include\s*<Q[A-Z]' core --include='*.h' --include='*.cpp'; then
  echo "core must not know Qt"; bad=1
fi
if grep -rnE '#\s*include\s*"app/' core views --include='*.h' --include='*.cpp'; then
  echo "core and views must not include app"; bad=1
fi
[ $bad = 0 ] && echo "all includes follow the arrows"
exit $bad
