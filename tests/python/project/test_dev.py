"""./dev: what it says, and that a question or a wrong argument does nothing. It runs in a folder of its own, where nothing is set up."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
COMMANDS = ("setup", "build", "demo", "test", "wheel", "bench", "fuzz", "docs", "format", "tidy", "clean")


@pytest.fixture
def dev(tmp_path):
    """Runs ./dev; returns (exit code, stdout, stderr). The folder must stay as it is."""
    shutil.copy(ROOT / "dev", tmp_path)
    (tmp_path / "build").mkdir()
    # If a command began its set-up, it would end here with exit code 2.
    unknown = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    unknown.pop("RONDEL_SYSTEM_READY", None)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "uname").write_text("#!/bin/sh\necho a-processor-of-tests\n")
    (tmp_path / "bin" / "uname").chmod(0o755)

    def act(*arguments):
        done = subprocess.run([tmp_path / "dev", *arguments], capture_output=True, text=True, env=unknown)
        return done.returncode, done.stdout, done.stderr

    yield act
    assert {path.name for path in tmp_path.iterdir()} == {"dev", "build", "bin"} and not list((tmp_path / "build").iterdir())


@pytest.mark.parametrize("arguments", [[], ["help"], ["--help"], ["-h"]])
def test_help(dev, arguments):
    code, out, err = dev(*arguments)
    assert code == 0 and err == "" and "BENCHMARKS" not in out
    for command in COMMANDS:
        assert f"\n  {command} " in out, command


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_of_a_command(dev, command, option):
    code, out, err = dev(command, option)
    assert code == 0 and err == ""
    lines = out.splitlines()
    assert lines[0].startswith(f"  {command} ") and not any(line.startswith("./dev") for line in lines)
    assert lines[-1].startswith(f"  {command} ") or lines[-1] == "After ./dev setup, this says what the ARGS are."


def test_help_after_other_arguments(dev):
    code, out, _ = dev("test", "--mutations", "--help")
    assert code == 0 and "deliberate faults" in out
    code, out, _ = dev("bench", "grad", "--help")
    assert code == 0 and "After ./dev setup" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["biuld"], "there is no command 'biuld'"),
        (["biuld", "--help"], "there is no command 'biuld'"),
        (["clean", "debug"], "./dev clean takes no argument 'debug'"),
        (["setup", "now"], "./dev setup takes no argument 'now'"),
        (["format", "x.cpp"], "./dev format [--check] takes no argument 'x.cpp'"),
        (["format", "--check", "x.cpp"], "./dev format [--check] takes no argument 'x.cpp'"),
        (["tidy", "x.cpp"], "there is no file x.cpp"),
        (["bench", "modles"], "there is no benchmark 'modles', but models grad kernels "),
        (["bench", "scalar_loop"], "one workload: ./dev bench --only scalar_loop"),
        (["bench", "modles", "--help"], "there is no benchmark 'modles'"),
    ],
)
def test_a_wrong_argument(dev, arguments, said):
    code, _, err = dev(*arguments)
    assert code == 1 and said in err


def test_a_system_that_is_not_known(dev):
    code, _, err = dev("bench", "--quick")
    assert code == 2 and "on a-processor-of-tests; set-up knows Debian 12 on x86_64" in err and "./dev bench" in err


def test_clean(dev, tmp_path):
    (tmp_path / "build" / "file").touch()
    assert dev("clean")[0] == 0 and not (tmp_path / "build").exists()
    (tmp_path / "build").mkdir()
