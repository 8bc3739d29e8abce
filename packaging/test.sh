#!/usr/bin/env bash
# Installs what is needed, builds everything, and runs the tests. Usage: bash packaging/test.sh [ctest arguments]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/.." && pwd)

bash "$here/setup.sh"
bash "$here/build.sh" release
cd "$root"
exec ctest --preset release "$@"
