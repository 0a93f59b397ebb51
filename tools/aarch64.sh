#!/usr/bin/env bash
# tools/aarch64.sh [ARGS]: compiles Rondel for aarch64 with Debian's cross compiler and runs the C++ tests under qemu; ARGS go to
# ctest (-R ops: only the tests of that name). Everything is in build/aarch64/: debian/ is a Debian of that architecture, whose packages
# are unpacked, not installed, since no program of theirs runs.
set -euo pipefail
[ "${1:-}" != --help ] || { sed -n '2,/^set/s/^# //p' "${BASH_SOURCE[0]}"; exit; }
cd "$(dirname "${BASH_SOURCE[0]}")/.."
here=$PWD/build/aarch64
packages=(libc6-dev libstdc++-12-dev libfmt-dev libre2-dev libturbojpeg0-dev libspng-dev libwebp-dev nlohmann-json3-dev
  libyaml-cpp-dev llvm-19-dev libzstd-dev libgtest-dev libgmock-dev)
for_target=(-DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/aarch64.cmake" -DCMAKE_SYSROOT="$here/debian")

if [ "$(cat "$here/debian/.stamp" 2>/dev/null)" != "${packages[*]}" ]; then
  rm -rf "$here/debian"
  mkdir -p "$here"
  mmdebstrap --architectures=arm64 --variant=extract --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr \
    --include="$(IFS=,; echo "${packages[*]}")" bookworm "$here/debian"
  echo "${packages[*]}" > "$here/debian/.stamp"
fi
for library in protobuf onnx; do
  RONDEL_DEPS=$here/deps DEPS_CMAKE="${for_target[*]} -DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc" tools/deps.sh "$library"
done
cmake -S . -B "$here/tree" -G Ninja -DCMAKE_BUILD_TYPE=Release -DRONDEL_UNITY=ON "${for_target[@]}" \
  -DRONDEL_DEPS="$here/deps" -DRONDEL_PYTHON=OFF -DRONDEL_INSTALL=OFF
cmake --build "$here/tree"
# Some tests run for minutes here.
ctest --test-dir "$here/tree" --parallel "$(nproc)" --timeout 7200 --output-on-failure "$@"
