"""The library as part of another CMake project, compiled and run. The project has -ffast-math, which Rondel's arithmetic must not have."""

import subprocess
from pathlib import Path

import onnx

ROOT = Path(__file__).resolve().parents[2]
PROJECT = f"""
cmake_minimum_required(VERSION 3.16)
project(parent LANGUAGES CXX)
set(RONDEL_UNITY ON CACHE BOOL "")
add_compile_options(-ffast-math)
add_subdirectory({ROOT} rondel)
add_executable(app {ROOT}/examples/cpp/first_run.cpp)
add_executable(exact exact.cpp)
target_link_libraries(app PRIVATE rondel::rondel)
target_link_libraries(exact PRIVATE rondel::rondel)
"""
# Prints the bits of each output for x = 1e-30, NaN, infinity.
EXACT = """
#include <rondel/session.h>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <limits>
int main(int, char** argv) {
  const rondel::Session session(argv[1]);
  rondel::Tensor x(rondel::DType::f32, {3});
  const std::uint32_t given[] = {0x0da24260, 0x7fc00000, 0x7f800000};
  std::memcpy(x.data_as<float>(), given, sizeof given);
  for (const auto& [name, value] : session.run({{"x", x}})) {
    std::cout << name;
    const rondel::Tensor y = value.tensor();
    for (std::int64_t i = 0; i < y.size(); ++i) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, y.data_as<float>() + i, sizeof bits);
      std::cout << ' ' << std::hex << bits;
    }
    std::cout << std::endl;
  }
}
"""
MODEL = """<ir_version: 10, opset_import: ["" : 21]>
g (float[3] x) => (float[3] nan, float[3] sub, float[3] zero) <float small = {1e-10}, float one = {1}> {
  sub = Mul (x, small)
  is = IsNaN (x)
  nan = Cast <to = 1> (is)
  more = Add (x, one)
  zero = Sub (more, one)
}"""


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}{done.stderr}"
    return done.stdout


def test_a_project_that_compiles_rondel(tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(PROJECT)
    (tmp_path / "exact.cpp").write_text(EXACT)
    # In one place, so that the compiler cache knows it the next time.
    build = ROOT / "build" / "packages-subdirectory"
    run("cmake", "-S", tmp_path, "-B", build, "--fresh", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS=-ffast-math")
    run("cmake", "--build", build, "--target", "app", "exact")
    text = '<ir_version: 10, opset_import: ["" : 21]> g (float[2] x) => (float[2] y) { y = Neg (x) }'
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    assert run(build / "app", tmp_path / "m.onnx") == "y: f32[2]\n"
    onnx.save(onnx.parser.parse_model(MODEL), tmp_path / "exact.onnx")
    found = dict(line.split(" ", 1) for line in run(build / "exact", tmp_path / "exact.onnx").splitlines())
    assert found == {"nan": "0 3f800000 0", "sub": "116c2 7fc00000 7f800000", "zero": "0 7fc00000 7f800000"}
