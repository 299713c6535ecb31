#!/usr/bin/env bash
# Installs a build into an empty folder, builds the examples against it as a project of
# its own, and runs them: test_install.sh BUILD
set -euo pipefail
build=$(cd "$1" && pwd)
examples=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export OMP_WAIT_POLICY=PASSIVE

cached() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"; }
cmake=$(cached CMAKE_COMMAND)
torch=$(cached REFORWARD_TORCH)

fail() { echo "test_install: $1" >&2; exit 1; }
expect() { grep -qE "$2" "$1" || { cat "$1" >&2; fail "no line like '$2' in the output above"; }; }

# compile FOLDER OPTIONS...: the examples against what is installed
compile() {
  local into="$scratch/$1"; shift
  "$cmake" -S "$scratch/source" -B "$into" -G Ninja -DCMAKE_PREFIX_PATH="$scratch/prefix" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_CXX_COMPILER="$(cached CMAKE_CXX_COMPILER)" -DCMAKE_CXX_COMPILER_LAUNCHER="$(cached CCACHE | grep -v NOTFOUND || true)" "$@" \
    > "$scratch/log" 2>&1 && "$cmake" --build "$into" > "$scratch/log" 2>&1 || { cat "$scratch/log" >&2; fail "$into does not build"; }
}

"$cmake" --install "$build" --prefix "$scratch/prefix" > "$scratch/log" 2>&1 || { cat "$scratch/log" >&2; fail "does not install"; }
mkdir "$scratch/source"
cp "$examples"/CMakeLists.txt "$examples"/*.cpp "$scratch/source"

# What is handed to others names neither our folders nor our warnings.
source_tree=$(cached CMAKE_HOME_DIRECTORY)
if grep -rnE "$build|$source_tree/(src|include|cmake)|-Werror|-Wall" "$scratch/prefix/lib"*/cmake; then
  fail "the package leaks the lines above"
fi

# The program.
"$scratch/prefix/bin/reforward" trace --model gpt_tiny --rounds 1 -o "$scratch/trace.json" > "$scratch/out"
expect "$scratch/out" '^plain step +[0-9.]+ [KMG]iB'

# reforward::plan, with no torch to be found.
compile plan_only -DWITH_TORCH=OFF -DREFORWARD_TORCH=/nowhere
"$scratch/plan_only/plan" "$scratch/trace.json" > "$scratch/out"
expect "$scratch/out" '^100%: peak .* recomputes for 0 s$'
expect "$scratch/out" '^min: peak '

# reforward::reforward.
compile all -DREFORWARD_TORCH="$torch"
"$scratch/all/train" > "$scratch/out"
expect "$scratch/out" '^a plain step needs [0-9.]+ [KMG]iB, a planned one [0-9.]+ [KMG]iB$'
[ "$(grep -c '^loss ' "$scratch/out")" = 5 ] || fail "not five steps"
cat "$scratch/out"
