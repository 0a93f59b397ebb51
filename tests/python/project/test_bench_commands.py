"""The commands of bench/: options, the choice of rows, what fails. No test depends on how long something takes."""

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]
BENCH = ROOT / "bench"
pytest.importorskip("onnxruntime")
pytestmark = pytest.mark.skipif("RONDEL_SANITIZED" in os.environ, reason="what benchmarks run, other tests run, too")

#: The commands, each with what measures the least.
COMMANDS = {
    "ahead": ["--only", "short_loop", "--rounds", "1"],
    "cold": ["--only", "short_loop", "--rounds", "1"],
    "deepx": ["--only", "exp@", "--only", "into one", "--rounds", "1"],
    "functions": ["--only", "add", "--rounds", "1"],
    "grad": ["--only", "ode", "--rounds", "1"],
    "kernels": ["--only", "conv 1x31", "--rounds", "1"],
    "loads": ["--only", "constants", "--rounds", "1"],
    "mdf": ["--only", "IAFs, by evaluate()", "--quick"],
    "models": None,  # tests/python/project/test_bench_models.py
    "serving": None,  # tests/packages/test_serving.py
    "steps": ["--only", "an if, with", "--rounds", "1"],
    "stops": ["--only", "a loop of scalars", "--rounds", "1"],
    "threads": ["--only", "small: Add", "--rounds", "1"],
}


def bench(name, *arguments):
    return subprocess.run([sys.executable, BENCH / f"{name}.py", *arguments], capture_output=True, text=True)


@pytest.fixture
def module(monkeypatch):
    """Imports a module of bench/ by name."""
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module


def test_every_command_is_listed():
    commands = {path.stem for path in BENCH.glob("*.py") if re.search(r'Parser\("\w+", __doc__', path.read_text())}
    assert commands == set(COMMANDS)
    in_dev = re.search(r"^benchmarks=\((.*)\)", (ROOT / "dev").read_text(), re.MULTILINE)[1]
    assert set(in_dev.split()) == commands
    assert {name for name in re.findall(r"^    \./dev bench (\w+)", (BENCH / "README.md").read_text(), re.MULTILINE)} == commands


@pytest.mark.parametrize("name", ["run", *COMMANDS])
def test_a_name_that_no_row_has_is_refused(name):
    done = bench(name, "--only", "no such row")
    assert done.returncode == 2 and done.stdout == "", done.stdout
    usage = "./dev bench" if name == "run" else f"./dev bench {name}"
    assert f"usage: {usage} [-h] [--only TEXT]" in done.stderr
    assert f"{usage}: error: --only: no row is named 'no such row' or has that in its name; rows: " in done.stderr


@pytest.mark.parametrize("name", [name for name, arguments in COMMANDS.items() if arguments])
def test_a_command_measures_the_rows_that_are_chosen(name):
    done = bench(name, *COMMANDS[name])
    assert done.returncode == 0, done.stdout + done.stderr
    assert COMMANDS[name][1] in done.stdout
    assert re.search(r", \d+ cores, \d{4}-\d\d-\d\d \d\d:\d\d\.$", done.stdout.rstrip()), done.stdout


def test_a_workload_in_every_spelling():
    done = bench("run", "--quick", "--only", "short_loop", "--spellings")
    assert done.returncode == 0, done.stdout + done.stderr
    first = next(line.split() for line in done.stdout.splitlines() if line.startswith("short_loop"))
    assert first[1] == "rondel" and "yes" in first
    for spelling in ("exporter", "network"):
        assert re.search(rf"^ +{spelling} ", done.stdout, re.MULTILINE), done.stdout


def test_help_names_the_rows():
    done = bench("grad", "--help")
    assert done.returncode == 0 and "rows: lstm B=32; lstm B=32, sqrt; " in done.stdout


def test_what_is_chosen(module):
    parser = module("commands").Parser("x", "", ["ode", "decoder", "lstm"], rounds=9)
    options = parser.parse_args([])
    assert options.rows == ["ode", "decoder", "lstm"] and options.rounds == 9
    assert parser.parse_args(["--only", "ode"]).rows == ["ode"]
    assert parser.parse_args(["--only", "lst", "--only", "od"]).rows == ["ode", "decoder", "lstm"]
    for wrong in (["--rounds", "0"], ["--rounds", "x"], ["--only", "other"], ["ode"]):
        with pytest.raises(SystemExit):
            parser.parse_args(wrong)


def test_many_rows_are_not_all_listed(module, capsys):
    parser = module("commands").Parser("x", "", [f"row {k}" for k in range(300)])
    with pytest.raises(SystemExit):
        parser.parse_args(["--only", "other"])
    said = capsys.readouterr().err
    assert "row 0; row 15; " in said and "300 in all" in said and len(said) < 600


def test_a_table_that_grows(module, capsys):
    table = module("commands").Table("op", ["a long name"], "us", "ratio of times")
    table.add("a", "1.0", "")
    assert capsys.readouterr().out.splitlines() == [
        "op                 us  ratio of times",
        "-----------  --------  --------------",
        "a                 1.0",
    ]
    with pytest.raises(ValueError):
        table.add("a", "1.0")


def test_a_module_that_is_missing(module, capsys):
    require = module("commands").require
    require("numpy")
    with pytest.raises(SystemExit) as ended:
        require("numpy", "no_such_engine")
    assert ended.value.code == 2 and "no_such_engine: not installed; ./dev setup" in capsys.readouterr().err


def test_a_process_that_fails_says_why(module, tmp_path):
    commands = module("commands")
    script = tmp_path / "script.py"
    script.write_text("""if True:
        import json, os, pickle, sys
        n = pickle.load(sys.stdin.buffer)
        print("a line before")
        print(json.dumps([6 / n, os.environ["RONDEL_CACHE_DIR"]]))
    """)
    assert commands.in_new_process(script, given=3) == [2.0, "off"]
    with pytest.raises(RuntimeError, match="script.py word failed:(.|\n)*ZeroDivisionError"):
        commands.in_new_process(script, "word", given=0)


@pytest.mark.parametrize("name", ["kernels", "functions", "threads", "deepx"])
def test_results_that_differ_fail(module, monkeypatch, capsys, name):
    command = module(name)
    monkeypatch.setattr(command, "disagreement", lambda *outputs: 0.5)
    monkeypatch.setattr(command, "warm_up", lambda call, seconds=0: call())
    assert command.main(COMMANDS[name]) == 1
    assert "5.0e-01" in capsys.readouterr().err


def test_outputs_are_those_of_the_code_that_is_timed(module, monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "")  # which the bench sets
    harness = module("harness")
    monkeypatch.setattr(harness, "warm_up", lambda call: call())
    calls = []

    def output():
        calls.append(len(calls))
        return [np.array(calls[-1])]

    given = harness.from_text("m (float x) => (float y) { y = Neg (x) }")
    workload = harness.Workload("w", "", given, {}, 1, jax=lambda: output, unspelled=(*module("spellings").REWRITES, "network"))
    found = harness.measure(workload, ["jax"], 3)
    assert set(found) == {"jax"} and found["jax"].outputs[0] == calls[-1] > 5


def test_gradients_that_differ_are_not_equal(module):
    equal = module("grad").equal
    ours = [np.ones(3), np.array([0.0, 2.0])]
    assert equal(ours, [np.ones(3), np.array([1e-5, 2.0])])
    assert not equal(ours, [np.ones(3), np.array([1e-3, 2.0])])
    assert not equal(ours, [np.ones((3, 1)), ours[1]])


def test_every_workload_is_listed_and_described(module):
    workloads = module("workloads")
    files = {path.stem for path in (BENCH / "workloads").glob("*.py") if re.search(r"^def workload\(\):", path.read_text(), re.MULTILINE)}
    assert set(workloads.NAMES) == files and len(workloads.NAMES) == len(files)
    described = (BENCH / "README.md").read_text()
    assert [name for name in workloads.NAMES if f"`{name}`" not in described] == []
    limits = ("limit_ns", "limit_by_hand", "limit_ratio")
    for name in workloads.NAMES:
        workload = workloads.load(name)
        assert workload.name == name and bool(workload.call) == (name in workloads.OF_MANY_RUNS)
        assert sum(getattr(workload, limit) is not None for limit in limits) <= 1
        assert workload.limit_by_hand is None or workload.by_hand is not None


def test_the_limits_are_those_of_the_table(module):
    workloads = module("workloads")
    rows = {}
    for line in (BENCH / "README.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if len(cells) == 4:
            rows |= dict.fromkeys(re.findall(r"`(\w+)`", cells[0]), cells[3])
    for name in workloads.NAMES:
        workload, said = workloads.load(name), rows[name]
        if workload.limit_by_hand:
            assert f"{workload.limit_by_hand:g}" in re.findall(r"[\d.]+", said) and said.endswith(" times by hand"), name
        elif workload.limit_ratio:
            part = {1: "", 0.5: "half of "}.get(workload.limit_ratio, f"a {1 / workload.limit_ratio:.0f}th of ")
            assert said == f"{part}ONNX Runtime's time", name
        else:
            assert said == (f"{workload.limit_ns:g} ns per trip" if workload.limit_ns else ""), name


#: Workloads whose `first` feeds make a short run; together they have an If, nests, scalars, kernels and items of an extent from data.
SHORT = ["scalar_loop", "elementwise_loop", "nested_loops", "collatz", "beam_search", "power_iteration", "conv_loop", "top_k_loop", "range_items",
         "runge_kutta"]  # fmt: skip


@pytest.mark.parametrize("name", SHORT)
def test_spellings_compute_the_same(module, name):
    harness, workloads = module("harness"), module("workloads")
    workload = workloads.load(name)
    wanted = workload.run(harness.session("rondel", workload.model), **workload.first)
    spelled = module("spellings").spell(workload)
    assert {"counter", "exporter", "network"} <= set(spelled)
    for spelling, other in spelled.items():
        got = other.run(harness.session("rondel", other.model), **other.first)
        assert harness.disagreement(got, wanted) <= workload.tolerance, spelling
