#!/usr/bin/env bash
# Installs what is needed, builds, and opens the window: bash packaging/run.sh [FILE...]
# Without FILE it opens the bundled sample. Without a display it starts the window under Xvfb, saves a screenshot,
# and prints what the command line says of the file.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/.." && pwd)

bash "$here/setup.sh"
bash "$here/build.sh" release megascope megascope-cli megascope-worker

bin=$root/build/release/bin
files=("$@")
[ ${#files[@]} -eq 0 ] && files=("$root/resources/samples/resnet18_w4.test.mge")

if [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; then
  exec "$bin/megascope" "${files[@]}"
fi

shot=$root/build/screenshot.png
echo "There is no display: the window is opened under Xvfb and its picture saved."
xvfb-run -a -s "-screen 0 1600x1000x24" "$bin/megascope" --screenshot "$shot" --size 1440x900 --run "${files[@]}"
echo "Screenshot: $shot"
for file in "${files[@]}"; do
  "$bin/megascope-cli" info "$file" || exit $?
  "$bin/megascope-cli" run "$file" || exit $?
done
