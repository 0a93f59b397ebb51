"""Builds Rondel's wheels into dist/: ./dev wheel [PYTHON ...]

    ./dev wheel                 for all Pythons from 3.10 on: of 3.10, 3.11 and a newer one, those that are on the path or in pyenv's folder
    ./dev wheel python3.12      for this one; one that is made with 3.12 or newer is for all of these

A wheel has everything inside but the C and C++ libraries, the loader and zlib, which every system of its
manylinux tag has: LLVM, onnx and protobuf are linked into librondel.so, auditwheel adds the other libraries
under names of their own. The licences of all of them are in the wheel's dist-info/licenses/.
"""

import argparse
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

from auditwheel.wheeltools import InWheel

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
LOGS = ROOT / "build" / "log"
PORTABLE = ROOT / "build" / "release" / "src" / "portable" / "librondel.so"  # with LLVM inside
BUILD_PACKAGES = ("scikit-build-core", "nanobind", "packaging", "pathspec", "typing_extensions")
BEFORE_3_11 = ("tomli==2.5.0", "exceptiongroup==1.3.2")  # what scikit-build-core needs of them in Python 3.10
MOST_BYTES = 40 << 20
STABLE_SINCE = 12  # nanobind needs the stable ABI that Python has since 3.12: one wheel is for all from there on

# What is linked into librondel.so or _rondel.so: the Debian or Python package that has its licence.
LINKED = {"llvm": "llvm-19-dev", "protobuf": "protobuf-compiler", "nlohmann-json": "nlohmann-json3-dev"}
LINKED_FROM_PYTHON = ("onnx", "nanobind")


class Failure(Exception):
    """What went wrong, in one line."""


def run(what, *command):
    """Runs a command with its output in a log."""
    print(f"-- {what:<57}", end=" ", flush=True)
    start = time.monotonic()
    log = LOGS / f"{re.sub(r'[^a-z0-9.]+', '-', what.lower())}.log"
    LOGS.mkdir(parents=True, exist_ok=True)
    with log.open("w") as out:
        done = subprocess.run([str(c) for c in command], stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    print(f"{time.monotonic() - start:4.0f} s" if done.returncode == 0 else "failed")
    if done.returncode != 0:
        print(*log.read_text().splitlines()[-30:], sep="\n")
        raise Failure(f"'{what}' failed; all of its output is in {log.relative_to(ROOT)}")


def version_of(python):
    """The version of an interpreter, "3.12"; None if it does not run."""
    code = "import sys; print('{}.{}'.format(*sys.version_info))"
    try:
        done = subprocess.run([python, "-c", code], capture_output=True, text=True)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def checked_version(python):
    version = version_of(python)
    if version is None:
        raise Failure(f"{python} is no Python that runs")
    if tuple(map(int, version.split("."))) < (3, 10):
        raise Failure(f"{python} is Python {version}; Rondel needs 3.10 or newer")
    return version


def found_pythons():
    """An interpreter of each version from 3.10 on: the one on the path, else the newest of pyenv."""
    found = {minor: python_of(f"3.{minor}") for minor in range(10, 30)}
    return {minor: python for minor, python in found.items() if python is not None}


def pythons():
    """Those that make a wheel each: of the Pythons that share one, the oldest."""
    found = found_pythons()
    stable = [python for minor, python in found.items() if minor >= STABLE_SINCE]
    return [python for minor, python in found.items() if minor < STABLE_SINCE] + stable[:1]


def python_of(version):
    """An interpreter of a version, "3.12"; None if there is none. (pyenv's shims on the path may not run.)"""
    name = f"python{version}"
    installed = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    folders = [p for p in installed.glob(f"{version}.*") if re.fullmatch(r"[\d.]+", p.name)]
    newest_first = sorted(folders, key=lambda p: int(p.name.split(".")[2]), reverse=True)
    candidates = [name, *(str(folder / "bin" / name) for folder in newest_first)]
    return next((python for python in candidates if version_of(python) == version), None)


def environment_of(python, version, folder):
    """An interpreter that has the packages of BUILD_PACKAGES at our versions."""
    mine = folder / "venv" / "bin" / "python"
    run(f"environment of Python {version}", python, "-m", "venv", "--clear", folder / "venv")
    pins = [f"{name}=={importlib.metadata.version(name)}" for name in BUILD_PACKAGES]
    pins += BEFORE_3_11 if version == "3.10" else ()
    run(f"build packages of Python {version}", mine, "-m", "pip", "install", "--no-deps", *pins)
    return mine


def built_library():
    """The library that the build linked last: its link names it; others may lie beside it."""
    if not PORTABLE.exists():
        raise Failure(f"there is no {PORTABLE.relative_to(ROOT)}: ./dev wheel builds it")
    return PORTABLE.resolve()


def is_for_later_ones(version):
    return int(version.split(".")[1]) >= STABLE_SINCE


def build(python, folder, version, to):
    """Compiles the bindings alone: the library is the same for each Python."""
    stable = ("--config-settings", f"wheel.py-api=cp3{STABLE_SINCE}") if is_for_later_ones(version) else ()
    run(
        f"wheel of Python {version}" + (f" (for all from 3.{STABLE_SINCE} on)" if stable else ""),
        python, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", to, ROOT,
        *("--config-settings", f"build-dir={folder / 'tree'}"),
        *("--config-settings", "cmake.source-dir=python"),
        *("--config-settings", f"cmake.define.RONDEL_LIBRARY={built_library()}"),
        *stable,
    )  # fmt: skip
    return next(to.glob("*.whl"))


def debian_licence(package):
    path = Path("/usr/share/doc") / package / "copyright"
    if not path.exists():
        raise Failure(f"the licence of {package} is missing: there is no {path}")
    return path


def common_licences(text):
    """The files of Debian's that a text refers to."""
    return [Path(path) for path in sorted(set(re.findall(r"/usr/share/common-licenses/[A-Za-z0-9.+-]*[A-Za-z0-9]", text)))]


def write_debian_licence(package, path):
    """The licence of a package, with what it only refers to, which other systems do not have."""
    text = debian_licence(package).read_text()
    for file in common_licences(text):
        text += f"\n{'-' * 78}\n{file}\n\n{file.read_text()}"
    path.write_text(text)


def original(library):
    """The name that a library had before auditwheel took it: libfmt.so.9.1.0 for libfmt-1a2b3c4d.so.9.1.0."""
    return re.sub(r"-[0-9a-f]{8}(?=\.so)", "", library)


def package_of(name):
    """The Debian package of a library."""
    found = subprocess.run(["dpkg-query", "--search", f"*/{name}"], capture_output=True, text=True).stdout
    if not found:
        raise Failure(f"no Debian package has {name}, which is in the wheel")
    return found.split(":")[0]


def add_licences(wheel, to):
    """Copies a wheel and adds the licences of all that is inside."""
    with InWheel(wheel, to / wheel.name) as inside:
        licences = next(inside.glob("*.dist-info")) / "licenses"
        for name, package in LINKED.items():
            write_debian_licence(package, licences / f"{name}.txt")
        for name in LINKED_FROM_PYTHON:
            files = importlib.metadata.files(name) or []
            shutil.copyfile(next(f.locate() for f in files if f.name == "LICENSE"), licences / f"{name}.txt")
        for library in (inside / "rondel.libs").iterdir():
            name = original(library.name)
            write_debian_licence(package_of(name), licences / f"{name.split('.so')[0]}.txt")
    return to / wheel.name


def make(python):
    version = checked_version(python)
    folder = ROOT / "build" / f"wheel-{version}"
    interpreter = environment_of(python, version, folder)
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as work:
        built, repaired = Path(work) / "built", Path(work) / "repaired"
        built.mkdir()
        repaired.mkdir()
        wheel = build(interpreter, folder, version, built)
        run(
            f"manylinux wheel of Python {version}",
            sys.executable, "-m", "auditwheel", "repair", "--strip", "--wheel-dir", repaired, wheel,
        )  # fmt: skip
        finished = add_licences(next(repaired.glob("*.whl")), Path(work))
        size = finished.stat().st_size
        if size > MOST_BYTES:
            raise Failure(f"{finished.name} has {size / 2**20:.1f} MiB; {MOST_BYTES >> 20} are allowed")
        DIST.mkdir(exist_ok=True)
        return Path(shutil.move(finished, DIST / finished.name))


def contents(wheel):
    """One line: the size, and the libraries that auditwheel added."""
    with zipfile.ZipFile(wheel) as z:
        names = sorted(original(Path(n).name).split(".so")[0] for n in z.namelist() if n.startswith("rondel.libs/lib"))
    return f"dist/{wheel.name}: {wheel.stat().st_size / 2**20:.1f} MiB, with {', '.join(names)}"


def main():
    parser = argparse.ArgumentParser(
        prog="./dev wheel", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pythons", nargs="*", metavar="PYTHON", help="an interpreter; default: those that are needed, on the path or of pyenv")
    try:
        for python in parser.parse_args().pythons or pythons():
            print(contents(make(python)))
    except Failure as failure:
        sys.exit(f"rondel: {failure}")


if __name__ == "__main__":
    main()
