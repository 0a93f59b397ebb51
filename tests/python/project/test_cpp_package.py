"""What a C++ user gets: the installed library in a project of its own, the public headers, the list of exports."""

import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import onnx
import pytest

ROOT = Path(__file__).resolve().parents[3]
BUILD = ROOT / "build" / os.environ.get("PRESET", "release")
LIBRARY = BUILD / "src" / "librondel.so"
COMPILERS = ["g++", "clang++-14"]
HEADERS = sorted(p.relative_to(ROOT / "include").as_posix() for p in (ROOT / "include").rglob("*.h"))
sys.path.insert(0, str(ROOT / "tools"))

import exports  # noqa: E402

pytestmark = pytest.mark.skipif(not LIBRARY.exists(), reason="the C++ library is not built")


def run(*command, **options):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """An installed Rondel."""
    folder = tmp_path_factory.mktemp("prefix")
    run("cmake", "--install", BUILD, "--prefix", folder)
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """y = sum of x * x."""
    path = tmp_path_factory.mktemp("model") / "squares.onnx"
    text = """
    <ir_version: 10, opset_import: ["" : 21]>
    squares (float[3] x) => (float y) { xx = Mul (x, x)  y = ReduceSum <keepdims = 0> (xx) }"""
    onnx.save(onnx.parser.parse_model(text), path)
    return path


def test_a_plain_install_has_what_a_cpp_user_needs_and_no_more(prefix):
    installed = {p.relative_to(prefix).as_posix() for p in prefix.rglob("*") if not p.is_dir()}
    assert {f"include/{header}" for header in HEADERS} <= installed
    libraries = {f"lib/{p.name}" for p in (prefix / "lib").glob("librondel.so*")}
    assert len(libraries) == 2
    assert installed - libraries - {f"include/{header}" for header in HEADERS} == {
        "lib/cmake/rondel/rondel-config.cmake",
        f"lib/cmake/rondel/rondel-config-{BUILD.name}.cmake",
        "lib/cmake/rondel/rondel-config-version.cmake",
        "lib/pkgconfig/rondel.pc",
        "lib/rondel_linked.o",  # what rondel::compile_model links into a compiled model
        "share/doc/rondel/LICENSE",
    }


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_project_of_its_own(compiler, prefix, model, tmp_path):
    project = shutil.copytree(ROOT / "examples" / "cpp", tmp_path / "project")
    run(
        "cmake", "-S", project, "-B", tmp_path / "build", "-G", "Ninja",
        f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_CXX_COMPILER={compiler}", "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror",
    )  # fmt: skip
    run("cmake", "--build", tmp_path / "build")
    assert run(tmp_path / "build" / "first_run", model) == "y: f32[]\n"
    assert run(tmp_path / "build" / "derivative", model) == "d/dx: 2 2 2\n"
    assert run(tmp_path / "build" / "values") == "11 22 13 24 given\n"
    own = tmp_path / "own.onnx"
    text = """
    <ir_version: 10, opset_import: ["" : 21, "my.ops" : 1]>
    own (float[2] x) => (float[2] y, float[2] z) { a = Add (x, x) y = my.ops.Cube (a) z = my.ops.Mish2 (x) }"""
    onnx.save(onnx.parser.parse_model(text), own)
    assert run(tmp_path / "build" / "custom_op", own) == "y: 8 8\nz: 1.7302 1.7302\n"


def test_another_minor_version_is_not_taken(prefix, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(p LANGUAGES CXX)\nfind_package(rondel 0.0 REQUIRED)\n"
    )
    done = subprocess.run(
        ["cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}"],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode != 0 and 'compatible with requested version "0.0"' in " ".join(done.stderr.split())


@pytest.mark.parametrize("compiler", COMPILERS)
def test_pkg_config_without_cmake(compiler, prefix, model, tmp_path):
    moved = tmp_path / "moved"  # paths are relative to the prefix
    shutil.copytree(prefix, moved, symlinks=True)
    environment = {**os.environ, "PKG_CONFIG_PATH": str(moved / "lib" / "pkgconfig")}
    flags = run("pkg-config", "--cflags", "--libs", "rondel", env=environment).split()
    program = tmp_path / "first_run"
    run(compiler, "-std=c++20", ROOT / "examples" / "cpp" / "first_run.cpp", *flags, "-o", program)
    assert run(program, model, env={**os.environ, "LD_LIBRARY_PATH": str(moved / "lib")}) == "y: f32[]\n"


@pytest.mark.parametrize("libraries, headers", [("{}/lib64", "include"), ("lib/x86_64-linux-gnu", "{}/headers")])
def test_pkg_config_of_absolute_and_deep_folders(libraries, headers, tmp_path):
    """The flags lead to where the files are installed."""
    prefix, build = tmp_path / "prefix", tmp_path / "build"
    libraries, headers = libraries.format(tmp_path / "elsewhere"), headers.format(tmp_path / "elsewhere")
    options = [f"-DCMAKE_INSTALL_PREFIX={prefix}", f"-DCMAKE_INSTALL_LIBDIR={libraries}", f"-DCMAKE_INSTALL_INCLUDEDIR={headers}"]
    run("cmake", "-S", ROOT, "-B", build, "-G", "Ninja", *options, "-DRONDEL_TESTS=OFF", "-DRONDEL_EXAMPLES=OFF", "-DRONDEL_PYTHON=OFF")
    for library in [*LIBRARY.parent.glob("librondel.so*"), LIBRARY.parent / "rondel_linked.o"]:  # compiling them again takes minutes
        shutil.copy(library, build / "src", follow_symlinks=False)
    run("cmake", "--install", build)
    lib, include = prefix / libraries, prefix / headers
    environment = {**os.environ, "PKG_CONFIG_PATH": str(lib / "pkgconfig")}
    for variable, expected in (("libdir", lib), ("includedir", include)):
        said = run("pkg-config", f"--variable={variable}", "rondel", env=environment).strip()
        assert os.path.normpath(said) == str(expected)
    assert (include / "rondel" / "session.h").exists() and (lib / "librondel.so").exists()


@pytest.mark.parametrize("compiler", COMPILERS)
def test_public_headers_compile_alone(compiler, tmp_path):
    def errors(header):
        source = tmp_path / f"{header.replace('/', '_')}.cpp"
        source.write_text(f"#include <{header}>\n")
        flags = ["-std=c++20", "-Wall", "-Wextra", "-Wconversion", "-Wpedantic", "-Werror", "-fsyntax-only"]
        command = [compiler, *flags, f"-I{ROOT / 'include'}", str(source)]
        return subprocess.run(command, capture_output=True, text=True).stderr

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = dict(zip(HEADERS, pool.map(errors, HEADERS)))
    assert not {header: text for header, text in found.items() if text}


OPTIONS = """
#include <rondel/ahead_of_time.h>
#include <rondel/custom_op.h>
#include <rondel/deepx.h>
#include <rondel/gradient.h>
#include <rondel/mdf.h>
using namespace rondel;
SessionOptions session{.max_trips = 1};
RunOptions run{.seed = 1};
PortInfo port{.name = "x"};
ExportOptions writing{.external_data = true};
GradientOptions gradient{.checkpoint = "sqrt"};
TangentOptions tangent{.prefix = "t_"};
CompileOptions compile{.cpu = "native"};
CustomOp op{.domain = "my.ops", .name = "Triple"};
deepx::Files files{.load = {}};
deepx::SessionOptions lines{.seed = 1};
deepx::RunSettings text{.keep_going = true};
mdf::Settings simulation{.steps = 200, .dt = 0.01};
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_options_may_be_named_one_by_one(compiler, tmp_path):
    (tmp_path / "options.cpp").write_text(OPTIONS)
    run(compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{ROOT / 'include'}", tmp_path / "options.cpp")


def test_every_error_of_the_public_headers_is_ours():
    """Headers may throw by functions of the library only, which throw rondel::Error."""
    code = {h: re.sub(r"//.*", "", (ROOT / "include" / h).read_text()) for h in HEADERS}
    assert not [h for h, text in code.items() if re.search(r"\bthrow\b|\bstd::get<|\bstd::stoi\b", text)]


PARENT = """
cmake_minimum_required(VERSION 3.16)
project(parent LANGUAGES CXX)
foreach(taken re2 webp first_run network_nest test_ir)  # names that a parent may have, too
  add_library(${{taken}} INTERFACE)
endforeach()
add_subdirectory({rondel} rondel)
add_executable(app {rondel}/examples/cpp/first_run.cpp)
target_link_libraries(app PRIVATE rondel::rondel)
get_property(tests DIRECTORY {rondel} PROPERTY TESTS)
message(STATUS "here: [${{CMAKE_CXX_FLAGS_RELEASE}}] [${{CMAKE_BUILD_TYPE}}] [${{CMAKE_CXX_STANDARD}}] [${{tests}}]")
"""


def test_add_subdirectory_changes_nothing_of_the_project_around(tmp_path):
    """Nor does it build more than the library. (That it builds is a long test: tests/packages.)"""
    (tmp_path / "CMakeLists.txt").write_text(PARENT.format(rondel=ROOT))
    flags = "-DCMAKE_CXX_FLAGS_RELEASE=-O3 -DMINE"
    out = run("cmake", "-S", tmp_path, "-B", tmp_path / "build", "-G", "Ninja", flags, "-DCMAKE_BUILD_TYPE=Release")
    assert "here: [-O3 -DMINE] [Release] [] []" in out
    targets = run("ninja", "-C", tmp_path / "build", "-t", "targets", "all")
    linked = re.findall(r"^(\S+): CXX_(?:EXECUTABLE|SHARED_LIBRARY|SHARED_MODULE|MODULE_LIBRARY)_LINKER", targets, re.MULTILINE)
    assert sorted(linked) == ["app", "rondel/src/librondel.so.0.1"]


@pytest.mark.parametrize("compiler", COMPILERS)
def test_fast_math_of_the_project_around_does_not_reach_our_arithmetic(compiler, tmp_path):
    """Our flags come last. Nor does the linker add the start-up file that flushes subnormal numbers."""
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(parent LANGUAGES CXX)\nadd_compile_options(-ffast-math)\n"
        f"add_subdirectory({ROOT} rondel)\n"
    )
    build = tmp_path / "build"
    run("cmake", "-S", tmp_path, "-B", build, "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={compiler}", "-DCMAKE_CXX_FLAGS=-Ofast -ffast-math")
    commands = [line.split() for line in run("ninja", "-C", build, "-t", "commands", "rondel").splitlines()]
    compiled = [words for words in commands if "-c" in words or "-x" in words]
    assert len(compiled) > 100
    last = lambda words, *flags: max(k for k, word in enumerate(words) if word in flags)  # noqa: E731
    for words in compiled:
        assert last(words, "-fno-fast-math") > last(words, "-ffast-math", "-Ofast"), words
        assert last(words, "-ffp-contract=off", "-ffp-contract=fast") > last(words, "-ffast-math"), words
    (linked,) = (words for words in commands if "-shared" in words)
    if compiler == "g++":
        options = [word for word in linked[linked.index("-fPIC") :] if word.startswith(("-O", "-f"))]
        (tmp_path / "empty.cpp").write_text("")
        dry = subprocess.run([compiler, *options, "-shared", tmp_path / "empty.cpp", "-###"], capture_output=True, text=True).stderr
        assert "crtfastmath" not in dry and "crtend" in dry


def test_missing_libraries_are_named_in_one_line(tmp_path):
    done = subprocess.run(
        ["cmake", "-S", ROOT, "-B", tmp_path / "build", "-G", "Ninja", f"-DRONDEL_DEPS={tmp_path}"],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode != 0
    assert f"Rondel needs protobuf, onnx: run ./dev setup in {ROOT}" in " ".join(done.stderr.split())


def test_exports_are_those_that_are_listed():
    found, expected = exports.listed(LIBRARY), exports.LIST.read_text().splitlines()
    assert found == expected, f"see docs/compatibility.md, then: tools/exports.py {LIBRARY.relative_to(ROOT)} --write"
    assert not exports.foreign(LIBRARY)


def test_a_foreign_export_is_noticed():
    assert [exports.is_ours(n) for n in ("rondel::version()", "vtable for rondel::Error", "std::string rondel::f(int)")] == [True] * 3
    assert [exports.is_ours(n) for n in ("llvm::Value::dump()", "void std::g<rondel::Error>(int)", "main")] == [False] * 3
