"""The snippets of the documentation run and print the output that the page shows.

The fence of a snippet says how it is tested, in the source of the page:

    ```python run                  runs, all of a page in one process and one folder, in order
    ```text output                 the output of the Python snippet above it
    ```console run                 `$ ` lines run in that folder; the other lines are their output
    ```cpp examples/cpp/x.cpp      must occur word for word in that file; so must C, CMake, and Python with a path

In expected output, `...` alone on a line matches any number of lines; within a line it matches any text.
Snippets with any other fence are not tested. Snippets of docs/ can read the files that the Python of README.md wrote; those of a tutorial the models beside it, too.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[3]
README = ROOT / "README.md"
TUTORIALS = ROOT / "docs" / "tutorials"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md")), *sorted(TUTORIALS.glob("*.md"))]
FENCE = re.compile(r"^```(\S+) ([^\n]+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = "-- end of snippet --"


class Snippet(NamedTuple):
    line: int
    language: str
    purpose: str
    text: str


def snippets(page):
    text = page.read_text()
    return [Snippet(text.count("\n", 0, m.start()) + 1, *m.groups()) for m in FENCE.finditer(text)]


def pattern(expected):
    """A regular expression that matches the expected output."""
    lines = []
    for line in expected.rstrip("\n").split("\n"):
        if line == "...":
            lines.append(r"(?:.*\n)*")
        else:
            lines.append(".*".join(re.escape(part.rstrip()) for part in line.split("...")) + r"[ \t]*\n")
    return "".join(lines)


def check(page, line, expected, got):
    if expected.strip():
        found = "\n".join(part.rstrip() for part in got.rstrip("\n").split("\n")) + "\n"
        assert re.fullmatch(pattern(expected), found), (
            f"{page.relative_to(ROOT)}:{line} shows\n{expected}\nbut what came is\n{found}"
        )


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """A user's environment: the package, and the command `rondel`."""
    commands = tmp_path_factory.mktemp("bin")
    rondel = commands / "rondel"
    rondel.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m rondel_cli.main "$@"\n')
    rondel.chmod(0o755)
    python = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(ROOT / "cli")]))
    path = os.pathsep.join([str(commands), os.environ.get("PATH", "")])
    return {**os.environ, "PYTHONPATH": python, "PATH": path, "NO_COLOR": "1", "RONDEL_EXAMPLES": str(ROOT / "examples")}


def run_python(page, folder, environment):
    """Runs all Python of a page in one process, and checks the output of each snippet."""
    found = snippets(page)
    codes = [s for s in found if (s.language, s.purpose) == ("python", "run")]
    script = folder / "page.py"
    script.write_text("\n".join(f"{s.text}\nprint({MARK!r}, flush=True)" for s in codes))
    run = subprocess.run([sys.executable, script], cwd=folder, env=environment, capture_output=True, text=True)
    printed = run.stdout.split(MARK + "\n")
    failing = codes[min(len(printed), len(codes)) - 1].line if codes else 0
    assert run.returncode == 0, f"{page.relative_to(ROOT)}:{failing}:\n{run.stderr}"
    for s, got in zip(codes, printed):
        after = found[found.index(s) + 1 :][:1]
        if after and (after[0].language, after[0].purpose) == ("text", "output"):
            check(page, after[0].line, after[0].text, got)


def run_commands(page, snippet, folder, environment):
    for part in re.split(r"^\$ ", snippet.text, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        run = subprocess.run(
            ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True
        )
        check(page, snippet.line, expected, run.stdout + run.stderr)
        if not expected.strip():
            assert run.returncode == 0, f"{command}: {run.stderr}"


@pytest.fixture(scope="module")
def first_page(tmp_path_factory, environment):
    """The folder in which the Python of README.md has run."""
    folder = tmp_path_factory.mktemp("first_page")
    run_python(README, folder, environment)
    return folder


@pytest.mark.parametrize(
    "page", [p for p in PAGES if snippets(p)], ids=lambda page: str(page.relative_to(ROOT))
)
def test_snippets_of(page, first_page, tmp_path, environment):
    shutil.copytree(first_page, tmp_path, dirs_exist_ok=True)
    if page.parent == TUTORIALS:
        for model in TUTORIALS.glob("*.onnx"):
            shutil.copy(model, tmp_path)
    if page != README:
        run_python(page, tmp_path, environment)
    for snippet in snippets(page):
        if (snippet.language, snippet.purpose) == ("console", "run"):
            run_commands(page, snippet, tmp_path, environment)
        elif snippet.language in ("cpp", "cmake") or (ROOT / snippet.purpose).is_file():
            shown = without_indent((ROOT / snippet.purpose).read_text())
            assert without_indent(snippet.text) in shown, f"{page.name}:{snippet.line} is not in {snippet.purpose}"


def without_indent(text):
    return "\n".join(line.strip() for line in text.strip().split("\n"))


def test_the_first_page_has_every_face():
    kinds = {(s.language, s.purpose) for s in snippets(README)}
    assert {("python", "run"), ("console", "run"), ("cpp", "examples/cpp/first_run.cpp")} <= kinds


def test_the_first_page_says_how_many_ops_there_are():
    ops = (ROOT / "docs" / "ops.md").read_text()
    own = re.findall(r"^\| [^|]+ \| ([^|]+) \|$", ops.split("## com.microsoft")[1].split("In ONNX's own domain")[0], re.MULTILINE)[1:]
    assert "No op of ONNX is missing." in ops, "the first page says that all are here"
    assert f" and {sum(len(names.split(', ')) for names in own)} of ONNX Runtime's own" in README.read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_of(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        assert "://" in target or (page.parent / target).exists(), f"{page.name}: there is no {target}"


@pytest.mark.parametrize("page", sorted(TUTORIALS.glob("*.md")), ids=lambda page: page.name)
def test_a_tutorial_is_a_page_and_a_half(page):
    lines = page.read_text().splitlines()
    assert sum(1 + len(line) // 110 for line in lines) <= 140, f"{page.name} is longer than a page and a half of a screen"


def test_every_tutorial_is_listed_and_runs():
    listed = (TUTORIALS / "README.md").read_text()
    for page in TUTORIALS.glob("*.md"):
        assert page.name == "README.md" or (f"({page.name})" in listed and ("python", "run") in {s[1:3] for s in snippets(page)}), page


@pytest.mark.parametrize(
    "expected, got, same",
    [
        ("a\n...\nb", "a\n1\n2\nb\n", True),
        ("a\n...\nb", "a\nb\n", True),
        ("took ... ms", "took 1.5 ms\n", True),
        ("a b", "a  b\n", False),
        ("a", "a\nb\n", False),
        ("[1.0]", "1\n", False),
    ],
)
def test_expected_text(expected, got, same):
    assert bool(re.fullmatch(pattern(expected), got)) == same
