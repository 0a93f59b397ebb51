"""The command line in tests: a fixture that runs it in a folder of its own, a process of its own, and models as files."""

import pathlib
import subprocess
import sys

import onnx
import pytest
from models import model
from rondel_cli.main import main


@pytest.fixture
def rondel(capsys, tmp_path, monkeypatch):
    """Runs the command in a folder of its own; returns (exit code, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)

    def act(*arguments):
        try:
            code = main([str(a) for a in arguments])
        except SystemExit as ended:  # raised by argparse
            code = ended.code
        said = capsys.readouterr()
        return code, said.out, said.err

    return act


def command(*arguments, **options):
    """The command in a process of its own; options: those of subprocess.run."""
    return subprocess.run([sys.executable, "-m", "rondel_cli.main", *map(str, arguments)], check=False, timeout=120, **options)


def saved(text, name="model.onnx", **fields):
    """The name of a new file that holds a model. fields: as of `models.model`."""
    onnx.save(model(text, **fields), name)
    return name


def files():
    """The names of all files in the folder, models apart."""
    return sorted(str(p) for p in pathlib.Path().rglob("*") if p.is_file() and p.suffix != ".onnx")
