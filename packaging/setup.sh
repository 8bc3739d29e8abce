#!/usr/bin/env bash
# Installs the Debian 12 packages of packaging/packages.txt that are missing. Asks for sudo when not root.
# Usage: bash packaging/setup.sh
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

wanted=()
while read -r line; do
  name=${line%%#*}
  name=${name//[[:space:]]/}
  [ -n "$name" ] && wanted+=("$name")
done < "$here/packages.txt"

missing=()
for name in "${wanted[@]}"; do
  dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null | grep -qx installed || missing+=("$name")
done
if [ ${#missing[@]} -eq 0 ]; then
  exit 0
fi

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}
echo "Installing ${#missing[@]} Debian packages: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
as_root apt-get update -qq
as_root apt-get install -y --no-install-recommends "${missing[@]}"
