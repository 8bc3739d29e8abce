#!/usr/bin/env bash
# Runs one command of the command line and compares what it prints with the expected text.
# Usage: run_case.sh CLI CASE_FILE SOURCE_DIR. With GOLDEN_UPDATE=1 it writes the expected text instead.
# A case file holds the arguments in its first line; beside it, NAME.txt is the expected output: stdout, stderr and exit status.
# @TMP@ in the arguments is an empty folder; it reads @TMP@ in the output, too.
set -u
cli=$1 case_file=$2 source=$3
expected=${case_file%.args}.txt
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$source" || exit 2
arguments=$(head -n 1 "$case_file")
eval "set -- ${arguments//@TMP@/$folder}"
actual=$("$cli" "$@" 2>"$folder.err"; echo "exit status $?")
actual=$({ printf '%s\n' "$actual"; cat "$folder.err"; } | sed "s|$folder|@TMP@|g")
rm -f "$folder.err"
if [ "${GOLDEN_UPDATE:-}" = 1 ]; then
  printf '%s\n' "$actual" >"$expected"
  exit 0
fi
diff -u "$expected" <(printf '%s\n' "$actual")
