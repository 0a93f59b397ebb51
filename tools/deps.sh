#!/usr/bin/env bash
# tools/deps.sh [--done] NAME: builds or unpacks one library from its source package into .deps/NAME.
# Names: protobuf onnx. Versions and hashes are pinned here. A library is rebuilt only if its recipe changes.
# Downloads with pip of .venv/, or of the interpreter DEPS_PYTHON. Builds into the folder RONDEL_DEPS instead, if it is set, with
# DEPS_CMAKE, a list of arguments, for another processor.
# --done only tests whether the library is up to date (exit code 0).
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
deps=${RONDEL_DEPS:-$root/.deps}
python=${DEPS_PYTHON:-$root/.venv/bin/python}
jobs=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}
read -ra for_target <<< "${DEPS_CMAKE:-}"

protobuf_version=3.21.12
protobuf_sha=930c2c3b5ecc6c9c12615cf5ad93f1cd6e12d0aba862b572e076259970ac3a53
onnx_version=1.23.2
onnx_sha=008cb0467b2bbee41448acc7da8b6f4e704624cb0d327a2d5adafc7ce19bc5b8

verify() { echo "$2  $1" | sha256sum --check --quiet || { echo "$1 is not the file that is pinned"; exit 1; }; }

configure() {  # configure SOURCE cmake-arguments...: configures a third-party C++ library
  local source=$1; shift
  cmake -S "$source" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_STANDARD=20 \
    -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_CXX_VISIBILITY_PRESET=hidden \
    -DCMAKE_VISIBILITY_INLINES_HIDDEN=ON -DCMAKE_CXX_COMPILER_LAUNCHER="$(command -v ccache || true)" "${for_target[@]}" "$@"
}

# Debian's libprotobuf.a is not position independent, and its shared library exports its symbols to
# the whole process. onnx needs only the lite runtime.
protobuf() {
  mkdir -p "$work/lists/partial" "$work/sources"
  local list
  for list in /etc/apt/sources.list /etc/apt/sources.list.d/debian.{list,sources}; do
    [ ! -f "$list" ] || sed 's/^deb /deb-src /; s/^Types:.*/Types: deb-src/' "$list" > "$work/sources/${list##*/}"
  done
  mv "$work/sources/sources.list" "$work/sources/main.list" 2>/dev/null || true
  local apt=(-o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$work/sources"
    -o "Dir::State::lists=$work/lists" -o APT::Sandbox::User=root)
  cd "$work"
  apt-get "${apt[@]}" update
  apt-get "${apt[@]}" source --download-only --tar-only protobuf
  verify "protobuf_$protobuf_version.orig.tar.gz" "$protobuf_sha"
  tar xf "protobuf_$protobuf_version.orig.tar.gz"
  configure "$work/protobuf-$protobuf_version" -Dprotobuf_BUILD_TESTS=OFF \
    -Dprotobuf_BUILD_PROTOC_BINARIES=OFF -Dprotobuf_WITH_ZLIB=OFF
  cmake --build build --target libprotobuf-lite -j "$jobs"
  mkdir -p "$out/lib" "$out/include"
  cp build/libprotobuf-lite.a "$out/lib/"
  cd "protobuf-$protobuf_version/src"
  find google \( -name '*.h' -o -name '*.inc' \) -not -path '*/compiler/*' -exec cp --parents {} "$out/include" \;
}

onnx() {
  "$python" -m pip download --quiet --disable-pip-version-check --no-deps --no-binary onnx --dest "$work" "onnx==$onnx_version"
  verify "$work/onnx-$onnx_version.tar.gz" "$onnx_sha"
  tar xf "$work/onnx-$onnx_version.tar.gz" -C "$work"
  # onnx requires CMake 3.26, but uses no feature of that version.
  sed -i 's/cmake_minimum_required(VERSION 3.26)/cmake_minimum_required(VERSION 3.25)/' \
    "$work/onnx-$onnx_version/CMakeLists.txt"
  cat > "$work/protobuf.cmake" <<CMAKE
add_library(protobuf::libprotobuf-lite STATIC IMPORTED GLOBAL)
set_target_properties(protobuf::libprotobuf-lite PROPERTIES
  IMPORTED_LOCATION $deps/protobuf/lib/libprotobuf-lite.a
  INTERFACE_INCLUDE_DIRECTORIES $deps/protobuf/include)
CMAKE
  # -O1 and unity builds: most of the code is schemas, which run once.
  configure "$work/onnx-$onnx_version" -DCMAKE_PROJECT_onnx_INCLUDE="$work/protobuf.cmake" \
    -DONNX_CUSTOM_PROTOC_EXECUTABLE="$(command -v protoc)" -DONNX_USE_LITE_PROTO=ON -DONNX_ML=ON \
    -DPython3_EXECUTABLE="$python" -DCMAKE_CXX_FLAGS_RELEASE="-O1 -DNDEBUG" \
    -DONNX_USE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=16 \
    -DCMAKE_INSTALL_PREFIX="$out" -DCMAKE_INSTALL_LIBDIR=lib
  cmake --build "$work/build" -j "$jobs"
  cmake --install "$work/build"
}

only_ask=
[ "${1:-}" != --done ] || { only_ask=1; shift; }
name=${1:-}
case $name in
  protobuf | onnx) ;;
  *) sed -n '2,/^set/s/^# //p' "${BASH_SOURCE[0]}"; [ "$name" = --help ] || exit 2; exit ;;
esac
stamp=$({ declare -f configure "$name"; for v in $(compgen -v "${name}_"); do echo "$v=${!v}"; done; } | sha256sum)
is_done() { [ "$(cat "$deps/$name/.stamp" 2>/dev/null)" = "$stamp" ]; }
[ -z "$only_ask" ] || { is_done; exit; }
mkdir -p "$deps"
exec 9>"$deps/$name.lock"
flock 9  # waits for another process that builds the same library
! is_done || exit 0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
out=$work/out
mkdir -p "$out"
"$name"
echo "$stamp" > "$out/.stamp"
rm -rf "${deps:?}/$name"
mv "$out" "$deps/$name"
