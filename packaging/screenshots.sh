#!/usr/bin/env bash
# Makes the pictures of README and docs from the built window, offscreen: bash packaging/screenshots.sh
# They are always taken the same way, so that a change of the window shows as a change of the picture.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/.." && pwd)

bash "$here/setup.sh"
bash "$here/build.sh" release megascope megascope-worker
out=$root/docs/images
mkdir -p "$out"
export QT_QPA_PLATFORM=offscreen
sample=$root/resources/samples/resnet18_w4.test.mge

shot() { # shot NAME ARGUMENTS...
  local name=$1
  shift
  "$root/build/release/bin/megascope" --screenshot "$out/$name.png" "$@" 2>/dev/null
  echo "docs/images/$name.png"
}

shot window --size 1440x900 --theme light --run "$sample"
shot window-dark --size 1440x900 --theme dark --run "$sample"
shot opened --size 1280x800 --theme light --select maxpool.Pooling "$sample"
shot timeline --size 1440x900 --theme light --view timeline "$root/tests/data/profile/lenet_lar_profile.json"
shot flame --size 1440x900 --theme light --view flame "$root/tests/data/profile/lenet_lar_profile.json"
shot memory --size 1440x900 --theme light --view memory "$sample"
# The same net profiled twice, compared: operators that MegEngine's tools named alike.
shot changes --size 1440x900 --theme light --view changes --compare-profile "$root/tests/data/profile/lenet_lar_profile.json" "$root/tests/data/profile/lenet_get_profile.json"
shot roofline --size 1440x900 --theme light --view roofline --run --measure "$sample"

# Graphs of larger networks: MegEngine's dumps of them are read in place where they are (MEGASCOPE_REFERENCE_DATA), else their pictures stay.
data=${MEGASCOPE_REFERENCE_DATA:-$root/../shared/data}/big
graph() { # graph NAME CASE [ARGUMENTS...]
  local name=$1 case=$2 unpacked
  shift 2
  [ -e "$data/$case/models.tar.xz" ] || { echo "skipped $name: no $case"; return; }
  unpacked=$(mktemp -d)
  tar xJf "$data/$case/models.tar.xz" -C "$unpacked"
  shot "$name" --size 1100x1000 --theme "${THEME:-light}" "$@" "$unpacked/plain.mge"
  rm -r "$unpacked"
}
graph graph-resnet18 classification/official_resnet18
graph graph-vit classification/bc_vit_tiny_patch16
graph graph-yolox detection/yolox_s_deploy
THEME=dark graph graph-hrnet classification/bc_hrnet_w18
graph graph-training training/resnet18_sgd
shot order --size 1440x900 --theme light --view order "$sample"
nets=$data/../ref/nets/lenet
if [ -e "$nets/noopt.mge" ]; then shot compare --size 1440x900 --theme light "$nets/noopt.mge" "$nets/fuse.mge"; fi
shot testcases --size 1440x900 --theme light --add-testcase '#rand(0,1)' --run "$sample"
shot dump --size 1040x760 --theme light --dump "$sample"
