#!/usr/bin/env python3
"""Mutation testing: puts deliberate faults into the code, one at a time, and checks that a test fails.

tests/mutations.toml lists the faults. Each is applied to a copy of the working tree (build/mutations/tree, never the tree itself).
The test executable that the fault names is built and run there, and must fail. Prints a table; exit code 1 if no test detects a
fault, or if a fault does not compile or no longer matches the code. Arguments: words; only faults whose file or description contains
one of the words are run.
"""

import subprocess
import sys
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCRATCH = ROOT / "build" / "mutations"
TREE, BUILD = SCRATCH / "tree", SCRATCH / "tree" / "build"
LONGEST = 300  # seconds; a test that takes longer counts as failed: the fault is detected


def chosen(words):
    faults = tomllib.loads((ROOT / "tests" / "mutations.toml").read_text())["fault"]
    return [f for f in faults if not words or any(w in f["file"] or w in f["what"] for w in words)]


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


def run(*command, timeout=None, cwd=TREE):
    """(whether the command succeeded, its output)."""
    try:
        done = subprocess.run(
            command, cwd=cwd, timeout=timeout, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        )
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
    return run("cmake", "--build", str(BUILD), "--target", *targets)


def test(fault):
    arguments = [f"--gtest_filter={fault['tests']}"] if "tests" in fault else []
    return run(str(BUILD / "tests" / fault["target"]), "--gtest_brief=1", *arguments, timeout=LONGEST)


def first_failure(log):
    failed = [line.split()[3] for line in log.splitlines() if line.startswith("[  FAILED  ]") and len(line.split()) > 3]
    return failed[0].rstrip(",") if failed else (log.strip().splitlines() or ["it ended without a word"])[-1][:60]


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
        return (False, "NO TEST NOTICED IT") if passed else (True, first_failure(log))
    finally:
        path.write_text(sound)


def main(words):
    faults = chosen(words)
    if not faults:
        sys.exit("no such fault")
    SCRATCH.mkdir(parents=True, exist_ok=True)
    copy_tree()
    targets = sorted({f["target"] for f in faults})
    built, log = build(*targets)
    if not built:
        sys.exit(log)
    for fault in faults:  # the tests must pass without the fault
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
    sys.exit(main(sys.argv[1:]))
