"""The wheels of dist/: what is inside, what they need, and that they run on systems that have nothing of ours."""

import importlib.util
import json
import math
import os
import re
import shutil
import subprocess
import sys
import urllib.request
import zipfile
from pathlib import Path

import onnx
import pytest
from elftools.elf.elffile import ELFFile

ROOT = Path(__file__).resolve().parents[2]
_found = importlib.util.spec_from_file_location("make_wheel", ROOT / "tools" / "wheel.py")
maker = importlib.util.module_from_spec(_found)
_found.loader.exec_module(maker)

WHEELS = sorted((ROOT / "dist").glob("rondel-*.whl"))
# What every system of a manylinux tag has: the C and C++ libraries, the loader, zlib (PEP 600).
SYSTEM = {"libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2", "libz.so.1", "libpthread.so.0", "libdl.so.2", "librt.so.1"}
WRITES_A_MODEL = """\
import onnx
text = '<ir_version: 10, opset_import: ["" : 21]> g (float[2] x) => (float[2] y) { y = Exp (x) }'
onnx.save(onnx.parser.parse_model(text), "/tmp/m.onnx")
"""
OF_THE_DEMO = (
    "onnxruntime", "flatbuffers", "skl2onnx", "scikit-learn", "scipy", "joblib", "threadpoolctl", "cloudpickle", "narwhals",
    "onnxscript", "onnx-ir", "sympy", "mpmath", "silero-vad",
)  # fmt: skip
CLEAN = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
FIRST_RUN = ROOT / "examples" / "python" / "first_run.py"


def run(*command, **options):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def wheel_for(minor):
    """The wheel that pip would take for Python 3.minor."""
    tag = f"cp3{minor}-cp3{minor}" if minor < maker.STABLE_SINCE else f"cp3{maker.STABLE_SINCE}-abi3"
    return next((w for w in WHEELS if f"-{tag}-" in w.name), None)


@pytest.fixture(params=WHEELS, ids=lambda w: re.search(r"cp\d+", w.name)[0])
def wheel(request):
    return request.param


@pytest.fixture
def unpacked(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path)
    return tmp_path


def libraries(folder):
    return {p.name: p for p in folder.rglob("*.so*")}


def test_there_is_a_wheel_for_this_python():
    assert wheel_for(sys.version_info.minor), "./dev wheel makes them"


def test_pythons_of_pyenv_are_found_and_the_newest_is_taken(tmp_path, monkeypatch):
    def install(version, says):
        path = tmp_path / "versions" / version / "bin" / f"python{says}"
        path.parent.mkdir(parents=True)
        path.write_text(f"#!/bin/sh\necho {says}\n")
        path.chmod(0o755)
        return str(path)

    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    monkeypatch.setenv("PATH", "")
    for version in ("3.9.18", "3.12.9", "3.13.0t", "3.12.dev"):  # too old, older, without the GIL, not released
        install(version, version.rpartition(".")[0])
    newest = [install("3.11.2", "3.11"), install("3.12.10", "3.12"), install("3.14.0", "3.14")]
    assert list(maker.found_pythons().values()) == newest
    assert maker.pythons() == newest[:2]  # the wheel of 3.12 is for 3.14, too


def test_the_library_of_the_build_is_taken_and_no_other_that_lies_there(tmp_path, monkeypatch):
    for name in ("librondel.so.0.0", "librondel.so.0.1", "librondel.so.0.2"):
        (tmp_path / name).write_text("")
    monkeypatch.setattr(maker, "PORTABLE", tmp_path / "librondel.so")
    monkeypatch.setattr(maker, "ROOT", tmp_path)
    with pytest.raises(maker.Failure, match="there is no librondel.so: ./dev wheel builds it"):
        maker.built_library()
    (tmp_path / "librondel.so").symlink_to("librondel.so.0.1")
    assert maker.built_library().name == "librondel.so.0.1"


def test_a_wheel_has_one_library(unpacked):
    assert len([name for name in libraries(unpacked) if name.startswith("librondel")]) == 1


def test_the_name_has_a_manylinux_tag_and_the_size_is_small(wheel, note):
    assert re.fullmatch(r"rondel-[\d.]+-cp3\d+-(cp3\d+|abi3)-manylinux_2_\d+_x86_64\.whl", wheel.name)
    assert wheel.stat().st_size <= 40 << 20
    note(f"{wheel.name}: {wheel.stat().st_size / 2**20:.1f} MiB")


def test_nothing_of_the_system_is_needed_but_the_basic_libraries(unpacked, note):
    inside = libraries(unpacked)
    assert any(name.startswith("librondel") for name in inside)
    needed = set()
    for path in inside.values():
        with path.open("rb") as file:
            dynamic = ELFFile(file).get_section_by_name(".dynamic")
            needed |= {tag.needed for tag in dynamic.iter_tags("DT_NEEDED")}
    assert needed - set(inside) <= SYSTEM
    note(f"the wheel needs {', '.join(sorted(needed - set(inside)))}")


def test_symbols_are_hidden_and_stripped(unpacked):
    sys.path.insert(0, str(ROOT / "tools"))
    import exports

    for name, path in libraries(unpacked).items():
        with path.open("rb") as file:
            assert ELFFile(file).get_section_by_name(".symtab") is None, f"{name} is not stripped"
    (library,) = (path for name, path in libraries(unpacked).items() if name.startswith("librondel"))
    assert exports.listed(library) == exports.LIST.read_text().splitlines() and not exports.foreign(library)


def test_licences_of_all_that_is_inside(unpacked):
    """Whole: what a text names as a file of Debian's stands in it."""
    (folder,) = unpacked.glob("rondel-*.dist-info/licenses")
    texts = {p.stem if p.suffix == ".txt" else p.name: p.read_text() for p in folder.iterdir()}
    added = {re.sub(r"-[0-9a-f]{8}\.so.*", "", p.name) for p in (unpacked / "rondel.libs").iterdir()}
    assert set(texts) == {"LICENSE", "llvm", "onnx", "protobuf", "nlohmann-json", "nanobind"} | added
    assert "libfmt" in added and all(len(text) > 500 for text in texts.values())
    assert "LLVM" in texts["llvm"] and "Apache License" in texts["onnx"] and "Google" in texts["protobuf"]
    assert "TERMS AND CONDITIONS FOR USE, REPRODUCTION, AND DISTRIBUTION" in texts["llvm"]
    for name, text in texts.items():
        for file in maker.common_licences(text):
            assert file.read_text() in text, f"{name} lacks {file}"


def environment(python, folder, package):
    """The programs of a new environment that has this package."""
    run(python, "-m", "venv", folder / "venv")
    mine = folder / "venv" / "bin"
    run(mine / "python", "-m", "pip", "install", package)
    return mine


@pytest.mark.parametrize("minor, python", maker.found_pythons().items())
def test_each_python_runs_its_wheel(minor, python, tmp_path):
    mine = environment(python, tmp_path, f"{wheel_for(minor)}[onnx]")
    assert "[1. 2. 4. 8.]" in run(mine / "python", FIRST_RUN, env=CLEAN, cwd=tmp_path)
    readme = (ROOT / "README.md").read_text()
    code, shown = (re.search(rf"^```{fence}\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)[1] for fence in ("python run", "text output"))
    assert run(mine / "python", "-c", code, env=CLEAN, cwd=tmp_path) == shown
    assert "usage" in run(mine / "rondel", "--help", env=CLEAN, cwd=tmp_path)


@pytest.fixture
def ours():
    """The wheel of the Python that runs the tests."""
    return wheel_for(sys.version_info.minor)


@pytest.fixture
def tanh(tmp_path):
    path = tmp_path / "tanh.onnx"
    onnx.save(onnx.parser.parse_model('<ir_version: 10, opset_import: ["" : 21]> g (float[2] x) => (float[2] y) { y = Tanh (x) }'), path)
    return path


def test_the_package_alone_needs_numpy_alone(ours, tanh, tmp_path):
    mine = environment(sys.executable, tmp_path, ours)
    installed = json.loads(run(mine / "python", "-m", "pip", "list", "--format=json", "--exclude=pip", "--exclude=setuptools"))
    assert {package["name"] for package in installed} == {"numpy", "rondel"}
    code = f"import numpy, rondel; print(rondel.InferenceSession({str(tanh)!r}).run(None, {{'x': numpy.zeros(2, numpy.float32)}})[0])"
    assert run(mine / "python", "-c", code, env=CLEAN, cwd=tmp_path) == "[0. 0.]\n"


def test_the_service_of_the_wheel(ours, tanh, tmp_path):
    mine = environment(sys.executable, tmp_path, f"{ours}[serve]")
    command = [mine / "rondel", "serve", tanh, "--port", "0", "--grpc-port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=CLEAN, cwd=tmp_path) as server:
        try:
            url = next(found[0] for line in server.stdout if (found := re.search(r"http://127\.0\.0\.1:\d+", line)))
            body = {"inputs": [{"name": "x", "datatype": "FP32", "shape": [2], "data": [0, 1]}]}
            with urllib.request.urlopen(f"{url}/v2/models/tanh/infer", json.dumps(body).encode(), timeout=60) as answer:
                assert json.load(answer)["outputs"][0]["data"] == pytest.approx([0, math.tanh(1)])
            server.terminate()
            assert server.wait(60) == 0
        finally:
            server.kill()


def debian(suite, tmp_path_factory, *packages):
    """The root of a Debian of its own, with the suite's Python in /venv and our wheels in /wheels."""
    if os.geteuid() != 0:
        pytest.skip("chroot needs root")
    root = tmp_path_factory.mktemp("debian") / "root"
    # What a mirror has of a suite that changes each day may be older than the suite says.
    late = '--aptopt=Acquire::Check-Valid-Until "false"'
    run("mmdebstrap", "--variant=minbase", late, f"--include={','.join(('python3', 'python3-venv', *packages))}", suite, root)
    (root / "wheels").mkdir()
    for wheel in WHEELS:
        shutil.copy(wheel, root / "wheels")
    run_in(root, "python3 -m venv /venv")
    return root


def run_in(root, command):
    environment = {"PATH": "/venv/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/root", "NO_COLOR": "1"}
    return run("chroot", root, "bash", "-c", command, env=environment)


def test_the_newest_python_of_debian_runs_the_wheel(tmp_path_factory, note):
    root = debian("sid", tmp_path_factory)
    version = run_in(root, "python -c 'import sys; print(*sys.version_info[:2], sep=\".\")'").strip()
    run(sys.executable, "-m", "pip", "download", "--python-version", version, "--only-binary=:all:", "--dest", root / "wheels", "numpy", "onnx")
    run_in(root, "pip install --no-index --find-links /wheels 'rondel[onnx]'")
    shutil.copy(FIRST_RUN, root)
    assert "[1. 2. 4. 8.]" in run_in(root, f"python /{FIRST_RUN.name}")
    note(f"Python {version} runs {wheel_for(int(version.split('.')[1])).name}")


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """A Debian of its own, with Python and nothing of Rondel's: a function that runs a shell command in it."""
    root = debian("bookworm", tmp_path_factory, "espeak-ng")  # for the demo
    wheels = root / "wheels"
    pins = {}
    for line in (ROOT / "tools" / "requirements.txt").read_text().splitlines():
        name, _, version = line.partition("==")
        pins[name] = version
    wanted = ("numpy", "onnx", "ml_dtypes", "protobuf", "typing_extensions", "pytest", "iniconfig", "packaging", "pluggy", "Pygments")
    run(sys.executable, "-m", "pip", "download", "--no-deps", "--dest", wheels, *(f"{n}=={pins[n]}" for n in (*wanted, *OF_THE_DEMO)))
    shutil.copytree(ROOT / "docs", root / "rondel" / "docs")
    shutil.copytree(ROOT / "examples", root / "rondel" / "examples")
    shutil.copy(ROOT / "README.md", root / "rondel")
    (root / "rondel" / "tests" / "python" / "project").mkdir(parents=True)
    shutil.copy(ROOT / "tests" / "python" / "project" / "test_docs.py", root / "rondel" / "tests" / "python" / "project")

    def shell(command):
        return run_in(root, f"cd /rondel && {command}")

    shell(f"pip install --no-index --find-links /wheels rondel {' '.join(wanted)}")
    shell(f"pip install --no-index --no-deps --find-links /wheels {' '.join(OF_THE_DEMO)}")  # silero-vad asks for torch, which its model does not need
    return shell


def test_a_bare_system_has_none_of_our_libraries(bare):
    found = bare("find / -xdev -path /venv -prune -o -name '*.so*' -print")
    assert "libc.so.6" in found
    assert not re.findall(r"libLLVM|libfmt|libre2|libturbojpeg|libspng|libwebp|libyaml|libgomp|librondel", found)


def test_the_first_page_on_a_bare_system(bare):
    assert " passed" in bare("python -m pytest -q -p no:cacheprovider tests/python/project/test_docs.py -k 'snippets_of and README'")


def test_an_inference_and_the_command_on_a_bare_system(bare):
    assert "[1. 2. 4. 8.]" in bare("python examples/python/first_run.py")
    bare(f"python - <<'END'\n{WRITES_A_MODEL}\nEND")
    assert "/tmp/m.onnx will run" in bare("rondel check /tmp/m.onnx")
    assert "float32[2]" in bare("rondel run /tmp/m.onnx -i x=random:f32[2]")


def test_the_demo_on_a_bare_system(bare):
    shown = bare("python examples/demo/demo.py --quick")
    assert shown.count("agrees with") == 3 and "could not run" not in shown
