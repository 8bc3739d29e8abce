#!/usr/bin/env bash
# Writes the expected texts anew from what the command line prints now. Look at the difference before you commit it.
# Usage: update.sh CLI [case...]
set -eu
cli=$(readlink -f "$1"); shift
here=$(dirname "$(readlink -f "$0")")
for case in "${@:-}"; do
  for file in "$here"/cases/${case:-*}.args; do
    GOLDEN_UPDATE=1 bash "$here/run_case.sh" "$cli" "$file" "$here/../.."
  done
done
