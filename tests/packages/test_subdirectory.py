"""The library as part of another CMake project, compiled and run."""

import subprocess
from pathlib import Path

import onnx

ROOT = Path(__file__).resolve().parents[2]
PROJECT = f"""
cmake_minimum_required(VERSION 3.16)
project(parent LANGUAGES CXX)
set(RONDEL_UNITY ON CACHE BOOL "")
add_subdirectory({ROOT} rondel)
add_executable(app {ROOT}/examples/cpp/first_run.cpp)
target_link_libraries(app PRIVATE rondel::rondel)
"""


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}{done.stderr}"
    return done.stdout


def test_a_project_that_compiles_rondel(tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(PROJECT)
    # In one place, so that the compiler cache knows it the next time.
    build = ROOT / "build" / "packages-subdirectory"
    run("cmake", "-S", tmp_path, "-B", build, "--fresh", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release")
    run("cmake", "--build", build, "--target", "app")
    text = '<ir_version: 10, opset_import: ["" : 21]> g (float[2] x) => (float[2] y) { y = Neg (x) }'
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    assert run(build / "app", tmp_path / "m.onnx") == "y: f32[2]\n"
