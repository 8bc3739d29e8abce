#!/usr/bin/env bash
# Installs the libraries below the build folder, builds an example against them and runs it.
# Usage: installed.sh SOURCE_DIR BUILD_DIR EXAMPLE
set -eu
source=$1 build=$2 example=$3
prefix=$build/examples/prefix
rm -rf "$prefix"
cmake --install "$build" --component development --prefix "$prefix" > "$build/examples-install.log"
cmake -S "$source/docs/examples/$example" -B "$build/examples/$example" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release > "$build/examples-configure.log"
cmake --build "$build/examples/$example"
"$build/examples/$example/$example" "$build/examples/$example.mge"
