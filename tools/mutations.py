#!/usr/bin/env python3
"""Mutation testing: puts deliberate faults into the code, one at a time, and checks that a test fails.

tests/mutations.toml lists the faults. Each is applied to a copy of the working tree (build/mutations/tree, never the tree itself).
The test executable that the fault names is built and run there, and must fail; with the target `_rondel`, a file of Python tests.
Prints a table; exit code 1 if no test detects a fault, or if a fault does not compile or no longer matches the code.

With --programs, the faults with `programs = true` are run instead, and random programs (tests/fuzz) must detect each within a minute:
the generator, check mode and the verifier of storage plans alone, without the tests that know the fault.
"""

import argparse
import os
import re
import shlex
import subprocess
import sys
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCRATCH = ROOT / "build" / "mutations"
TREE, BUILD = SCRATCH / "tree", SCRATCH / "tree" / "build"
PACKAGE = SCRATCH / "package"  # the Python package of the copy
LONGEST = 300  # seconds; a test that takes longer counts as failed: the fault is detected
WITHIN = 60  # seconds in which random programs must detect a fault

#: Goes before the package that is installed in the environment, also in the processes that a test starts.
SITE_CUSTOMIZE = """import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if "ScikitBuild" not in type(finder).__name__]
"""


def chosen(words, by_programs):
    faults = tomllib.loads((ROOT / "tests" / "mutations.toml").read_text())["fault"]
    faults = [f for f in faults if not words or any(w in f["file"] or w in f["what"] for w in words)]
    return [{**f, "target": "_rondel", "tests": None} for f in faults if f.get("programs")] if by_programs else faults


def copy_tree():
    """Copies the files of the working tree that git tracks or would track; unchanged files keep their modification times."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True
    )
    wanted = {name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()}
    for path in [p for p in TREE.rglob("*") if p.is_file() and BUILD not in p.parents]:
        if path.relative_to(TREE).as_posix() not in wanted:
            path.unlink()
    for name in wanted:
        source, target = ROOT / name, TREE / name
        content = source.read_bytes()
        if not target.is_file() or target.read_bytes() != content:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)


def run(*command, timeout=None, **environment):
    """(whether the command succeeded, its output)."""
    try:
        done = subprocess.run(
            command, cwd=TREE, timeout=timeout, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            env={**os.environ, **environment},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return False, f"ran longer than {timeout} s"
    return done.returncode == 0, done.stdout


def build(*targets):
    if not (BUILD / "build.ninja").exists():
        made, log = run(
            "cmake", "-S", str(TREE), "-B", str(BUILD), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DRONDEL_UNITY=ON",
            f"-DRONDEL_DEPS={ROOT / '.deps'}", f"-DPython_EXECUTABLE={sys.executable}",
        )  # fmt: skip
        if not made:
            sys.exit(log)
    made, log = run("cmake", "--build", str(BUILD), "--target", *targets)
    if made and "_rondel" in targets:
        made, log = install_package()
    return made, log


def install_package():
    made, log = run("cmake", "--install", str(BUILD), "--component", "python", "--prefix", str(PACKAGE))
    (PACKAGE / "sitecustomize.py").write_text(SITE_CUSTOMIZE)
    for source in (TREE / "python" / "rondel").iterdir():
        link = PACKAGE / "rondel" / source.name
        if not link.is_symlink():
            link.symlink_to(source)
    return made, log


def test(fault):
    if fault["target"] == "_rondel":
        paths = [PACKAGE, TREE / "tests", TREE / "tests" / "python" / "helpers"]
        command = ["-m", "pytest", "-q", "-x", *shlex.split(fault["tests"])] if fault["tests"] else PROGRAMS
        return run(sys.executable, *command, timeout=LONGEST, PYTHONPATH=os.pathsep.join(map(str, paths)))
    arguments = [f"--gtest_filter={fault['tests']}"] if "tests" in fault else []
    return run(str(BUILD / "tests" / fault["target"]), "--gtest_brief=1", *arguments, timeout=LONGEST)


PROGRAMS = ["-m", "fuzz", "programs", str(WITHIN), "--ways", "interpreted,quick,checked", "--first-fault"]


def shows_a_program(log):
    return re.search(r"^seed \d+: ", log, re.MULTILINE) is not None


def first_failure(log):
    """The name of the test that failed, or the seed of the program that shows the fault and how."""
    patterns = [r"^\[  FAILED  \] ([\w./]+)", r"^FAILED (\S+)", r"^(seed \d+: .{0,60})"]
    failed = [found[1] for pattern in patterns if (found := re.search(pattern, log, re.MULTILINE))]
    return failed[0] if failed else (log.strip().splitlines() or ["it ended without a word"])[-1][:60]


def attempt(fault):
    """(whether the fault was detected, the test that detected it or the reason why not)."""
    path = TREE / fault["file"]
    sound = path.read_text()
    if sound.count(fault["find"]) != 1:
        return False, f"its text is there {sound.count(fault['find'])} times: bring it up to date"
    try:
        path.write_text(sound.replace(fault["find"], fault["replace"]))
        built, log = build(fault["target"])
        if not built:
            return False, "does not compile: " + next((line for line in log.splitlines() if "error" in line), "")[:80]
        passed, log = test(fault)
        noticed = not passed and (fault.get("tests", "") is not None or shows_a_program(log))
        return (True, first_failure(log)) if noticed else (False, "NO TEST NOTICED IT")
    finally:
        path.write_text(sound)


def main():
    made = argparse.ArgumentParser(prog="./dev test --mutations", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("words", nargs="*", metavar="WORD", help="only faults whose file or description contains one of the words")
    made.add_argument("--programs", action="store_true", help="random programs must detect the faults")
    options = made.parse_args()
    faults = chosen(options.words, options.programs)
    if not faults:
        also = " and `programs = true`" if options.programs else ""
        sys.exit(f"no fault of tests/mutations.toml has {' or '.join(options.words)} in its file or description{also}")
    SCRATCH.mkdir(parents=True, exist_ok=True)
    copy_tree()
    targets = sorted({f["target"] for f in faults})
    built, log = build(*targets)
    if not built:
        sys.exit(log)
    for fault in faults[:1] if options.programs else faults:  # the tests must pass without the fault
        passed, log = test(fault)
        if not passed:
            sys.exit(f"{fault['target']} {fault.get('tests', '')} fails without any fault\n{log}")
    unnoticed = 0
    for fault in faults:
        start = time.monotonic()
        noticed, by = attempt(fault)
        unnoticed += not noticed
        took = f"{time.monotonic() - start:4.0f} s"
        print(f"{'noticed' if noticed else 'FAULT  '}  {took}  {Path(fault['file']).name:24}  {fault['what']:60}  {by}", flush=True)
    print(f"{len(faults) - unnoticed} of {len(faults)} faults were noticed")
    return 1 if unnoticed else 0


if __name__ == "__main__":
    sys.exit(main())
