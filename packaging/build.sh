#!/usr/bin/env bash
# Configures and builds a preset (default: release). Usage: bash packaging/build.sh [PRESET] [TARGET...]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/.."
preset=${1:-release}
shift || true

log=build/$preset-configure.log
mkdir -p build
if ! cmake --preset "$preset" > "$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi
cmake --build --preset "$preset" ${1:+--target "$@"}
