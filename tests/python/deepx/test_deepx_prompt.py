"""The prompt of `rondel deepx`."""

import os
import pty
import re
import subprocess
import sys

import pytest

from rondel import deepx
from rondel_cli.deepx_prompt import Prompt


def entered(*lines):
    """Simulates the input of a prompt: lines to return, and exceptions to raise."""
    left = list(lines)

    def read(shown):
        if not left:
            raise EOFError
        line = left.pop(0)
        if isinstance(line, type):
            raise line
        return line

    return read


def test_lines_run_and_what_fails_is_left_out(capsys):
    session = deepx.Session()
    program = Prompt(session, entered("newtensor@float32 [2]->t", "add t u->t", "constant 2->t", "show t")).run()
    assert session["t"].tolist() == [2, 2]
    assert program == "newtensor@float32 [2]->t\nconstant 2->t\n"
    shown = capsys.readouterr()
    assert "[2. 2.]" in shown.out
    assert shown.err == "rondel: line 1, column 7: there is no 'u'; did you mean 't'?\n"


def test_a_block_is_read_to_its_end_and_ctrl_c_drops_it(capsys):
    session = deepx.Session()
    session.run("newtensor@int32 [1]->n")
    Prompt(session, entered("loop 4 {", KeyboardInterrupt, "loop 3 {", "add_scalar n 1->n", "}", "exit", "constant 9->n")).run()
    assert session["n"].tolist() == [3]


def test_help_and_show(capsys):
    session = deepx.Session()
    Prompt(session, entered("show", "argset@int32 4->a", "show", "help mul", "help", "help nothing", "show nothing")).run()
    shown = capsys.readouterr()
    assert "no names yet" in shown.out
    assert re.search(r"^a +argument +int32 +\[\]$", shown.out, re.MULTILINE)
    assert deepx.help("mul") in shown.out
    assert all(row.usage in shown.out for row in deepx.instructions())
    assert shown.err.count("nothing") == 2


def test_words_of_the_prompt_may_have_remarks_and_several_names(capsys):
    session = deepx.Session()
    program = Prompt(session, entered("argset@int32 4->a // four", "help add sub", "show a a // twice", "help add nothing", "exit // enough", "argset@int32 5->a")).run()
    shown = capsys.readouterr()
    assert session["a"] == 4 and program == "argset@int32 4->a // four\n"
    assert deepx.help("add") + "\n" + deepx.help("sub") in shown.out and "4\n4\n" in shown.out
    assert shown.err.splitlines() == ["rondel: there is no instruction 'nothing'"]
    Prompt(session, entered("exit now", "argset@int32 6->a")).run()
    assert session["a"] == 6 and "'exit' takes no operands" in capsys.readouterr().err


def test_completions():
    session = deepx.Session()
    session.run("argset@int32 4->adder")
    prompt = Prompt(session)
    assert prompt.completions("add") == ["add", "add_scalar", "adder"]
    assert "help" in prompt.completions("") and prompt.completions("zzz") == []


@pytest.mark.parametrize("keys, shown", [(b"help sq\t\n", b"square root"), (b"newtensor@int32 [2]->long_name\nprint long_\t\n", b"[0, 0]")])
def test_on_a_terminal(tmp_path, keys, shown):
    """Tab completes; the history is kept."""
    terminal, end = pty.openpty()
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path), "TERM": "dumb"}
    command = [sys.executable, "-m", "rondel_cli.main", "deepx"]
    with subprocess.Popen(command, stdin=end, stdout=end, stderr=end, env=environment) as process:
        os.close(end)
        seen = b""
        while b"deepx> " not in seen:
            seen += os.read(terminal, 1000)
        os.write(terminal, keys + b"exit\n")
        try:
            while data := os.read(terminal, 1000):
                seen += data
        except OSError:  # the other end has closed the terminal
            pass
        assert process.wait(timeout=60) == 0
    os.close(terminal)
    assert shown in seen
    assert keys.split(b"\n")[0].split(b"\t")[0].decode() in (tmp_path / "rondel" / "deepx_history").read_text()


def test_without_a_terminal_standard_input_is_the_program():
    command = [sys.executable, "-m", "rondel_cli.main", "deepx"]
    done = subprocess.run(command, input="argset@int32 4->a\nprint a\n", capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "a: int32[]\n4\n", "")
