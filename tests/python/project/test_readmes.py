"""The READMEs of the folders: their tables have all files."""

import re
import subprocess
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
TABLE = re.compile(r"^\| (file|header|folder|path|page) \|", re.MULTILINE)  #: the head of a folder's table of its files
OF_EACH_FOLDER = {"README.md", "CMakeLists.txt", "__init__.py", "__main__.py", "conftest.py"}  #: files whose purpose is their name's


def readmes():
    """READMEs with a table of their folder's files -> these files, without those of folders that have a README of their own."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    files = [ROOT / name for name in listed if (ROOT / name).exists()]
    found = {file: [] for file in files if file.name == "README.md"}
    for file in files:
        nearest = next(folder / "README.md" for folder in file.parents if folder / "README.md" in found)
        if file.name not in OF_EACH_FOLDER:
            found[nearest].append(file)
    return {readme: files for readme, files in found.items() if TABLE.search(readme.read_text())}


@pytest.mark.parametrize("readme, files", readmes().items(), ids=lambda value: str(value.relative_to(ROOT)) if isinstance(value, Path) else "")
def test_a_folders_table_has_all_of_its_files(readme, files):
    """By name, with or without the ending, or by the folder that they are in; `x*` stands for all that begin with x."""
    paths = {text.rstrip("/") for texts in re.findall(r"`([^`\n]+)`|\[([^]`\n]+)\]\(", readme.read_text()) for text in texts}
    names = {path.split("/")[-1] for path in paths}
    stems = {name.split(".")[0] for name in names}

    def is_named(file):
        folders = {str(folder) for folder in file.relative_to(readme.parent).parents}
        return file.name in names or file.stem in stems or not folders.isdisjoint(paths) or any(fnmatch(file.name, name) for name in names if "*" in name)

    assert [str(file.relative_to(ROOT)) for file in files if not is_named(file)] == []


def test_variables_of_random_tests_are_listed():
    tests = ROOT / "tests" / "python"
    read = {name for file in tests.rglob("test_*.py") for name in re.findall(r'int\(os\.environ\.get\("(RONDEL_\w+)"', file.read_text())}
    assert read and read - set(re.findall(r"RONDEL_\w+", (tests / "README.md").read_text())) == set()
