"""The generator of tests/fuzz: a few programs in all ways to run them, and tests of the generator, the reducer and the damaged models.

`./dev fuzz programs` and `./dev fuzz models` try many more. `RONDEL_FUZZ` sets the number of programs here, `RONDEL_SEED` the first seed.
"""

import os
import pathlib
import re
import subprocess
import sys

import machine
import numpy as np
import onnx.checker
import pytest
from models import model

from fuzz import fuzz_models, fuzz_programs, reducing, reporting, ways
from fuzz.__main__ import KINDS
from fuzz.programs import Feeds, Rejected, assembled, program
from fuzz.shrinking import graphs

ROOT = pathlib.Path(__file__).resolve().parents[3]
COUNT = int(os.environ.get("RONDEL_FUZZ", "200"))
FIRST = int(os.environ.get("RONDEL_SEED", "0"))
CHUNK = 10


def text_of(seed):
    made = program(seed)
    return made.model.SerializeToString(deterministic=True), [reporting.feeds_text(case.feeds) for case in made.cases]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_starts_with_the_paths_of_dev(kind):
    paths = re.search(r"^fuzz\(\) .*PYTHONPATH=(\S+)", (ROOT / "dev").read_text(), re.MULTILINE)[1]
    command = [sys.executable, "-m", "fuzz", kind, "--help"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": paths})
    assert done.returncode == 0 and done.stdout.startswith(f"usage: ./dev fuzz {kind} "), done.stderr


@pytest.mark.parametrize("first", range(FIRST, FIRST + COUNT, CHUNK), ids=lambda s: f"seeds {s} to {s + CHUNK - 1}")
def test_programs_in_all_ways(first):
    faults = []
    for seed in range(first, first + CHUNK):
        outcome, *_ = fuzz_programs.attempt(seed, list(ways.WAYS))
        if outcome is not None and outcome != "thrown away":
            faults.append(f"seed {seed}: {outcome[2]}")
    if faults:
        pytest.fail("\n".join(faults) + f"\n\n./dev fuzz programs --seed N --count 1 makes one smaller", pytrace=False)


@pytest.mark.parametrize("first", range(0, 200, 50), ids=lambda s: f"seeds {s} to {s + 49}")
def test_damaged_models_are_refused_cleanly(first):
    faults = [f"seed {seed}: {words}" for seed in range(first, first + 50) if (words := fuzz_models.attempt(seed))]
    assert not faults, "\n".join(faults)


def test_a_seed_is_one_program_in_any_process():
    here = [text_of(seed) for seed in (3, 4)]
    code = "from test_fuzz_programs import text_of; import hashlib; print(hashlib.sha256(repr([text_of(s) for s in (3, 4)]).encode()).hexdigest())"
    environment = {**os.environ, "PYTHONHASHSEED": "77", "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    there = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True, cwd=pathlib.Path(__file__).parent)
    import hashlib

    assert there.stdout.strip() == hashlib.sha256(repr(here).encode()).hexdigest()


def test_most_seeds_give_a_program_that_the_checker_accepts():
    thrown_away = 0
    for seed in range(100):
        try:
            made = program(seed)
        except Rejected:
            thrown_away += 1
            continue
        ports = [*made.model.graph.input, *made.model.graph.output]
        if all(p.type.HasField("sequence_type") or p.type.HasField("optional_type") or p.type.tensor_type.HasField("shape") for p in ports):
            onnx.checker.check_model(made.model)
    assert thrown_away < 20


def inner_ops(model):
    return {node.op_type for graph in graphs(model)[1:] for node in graph.node}


class Planted(ways.Runs):
    """Runs that are wrong if the program has a Concat in a loop: the outputs lose their last axis' elements."""

    def compare(self, way, case, got):
        if way == "quick" and "Concat" in inner_ops(self.program.model):
            got = [x[..., :0] if isinstance(x, np.ndarray) and x.ndim else x for x in got]
        super().compare(way, case, got)


def test_a_planted_fault_is_found_and_made_small(monkeypatch):
    monkeypatch.setattr(ways, "Runs", Planted)
    chosen = ["interpreted", "quick"]
    for seed in range(1000):
        try:
            made = program(seed)
        except Rejected:
            continue
        counts = [x for case in made.cases for x in case.feeds.values() if isinstance(x, np.ndarray) and x.dtype == np.int64]
        if any((x == 0).any() for x in counts):
            continue  # of what makes no trip, nothing is seen, and less can be left out
        fault = ways.check(made, chosen)
        if fault is not None:
            break
    model, feeds, again = reducing.reduced(made, fault, seconds=60)
    assert again
    nodes = [node.op_type for graph in graphs(model) for node in graph.node if node.op_type != "Constant"]
    assert "Concat" in inner_ops(model) and len(nodes) <= 6, onnx.printer.to_text(model)
    text = reporting.report(fault, fault.way, model, feeds, [case.want for case in assembled(seed, model, feeds).cases], seed)
    assert f"def test_seed_{seed}(monkeypatch):" in text
    compile(text[text.index("def test_") :], "pasted", "exec")


def test_the_oracle_ends_a_loop_without_nodes():
    text = """<ir_version: 10, opset_import: ["" : 21]>
    g (float x) => (float y) <int64 most = {1125899906842624}> {
      y = Loop (most, "", x) <body = b (int64 i, bool go, float v) => (bool go, float v) {}>
    }"""
    graph, functions = machine.read_model(onnx.parser.parse_model(text))
    with pytest.raises(machine.TooLong):
        machine.Machine(functions, most=1000).run(graph, {"x": np.float32(1)})


GROWING_CONV = """g (float[?,?,?] x, int64 n) => (float[?,?,?] y) {
   w = Constant <value = float[2,2,2] {4,0,-1,-1,-1,3,1,2}> ()
   b = Constant <value = float[2] {0,-0.5}> ()
   y = Loop (n, "", x) <body = step (int64[] i, bool[] c, float[] s) => (bool[] d, float[] t) {
      z = Conv (s, w, b)
      d = Identity (c)
      t = Add (s, z)
   }>
}"""


def with_trips(text, x, *counts):
    return assembled(0, model(text, opset=16), [Feeds(x=np.array(x, np.float32), n=np.array(n)) for n in counts])


def test_sums_that_round_are_not_compared_between_ways_that_contract_differently():
    made = with_trips(GROWING_CONV, [[[-3, 0], [1, 3]]], 1, 33)
    assert [case.want is not None for case in made.cases] == [True, False]
    assert ways.check(made, ["interpreted", "quick"]) is None


def test_feeds_that_take_too_long_are_left_out():
    text = """g (float[] x, int64 n) => (float[] y) {
       y = Loop (n, "", x) <body = step (int64[] i, bool[] c, float[] s) => (bool[] d, float[] t) { d = Identity (c)  t = Neg (s) }>
    }"""
    assert [int(case.feeds["n"]) for case in with_trips(text, 1, 1, 2**40).cases] == [1]


def test_shapes_that_an_inner_loop_may_tell_are_not_compared():
    """Of a stack without trips whose items an inner loop makes, the oracle knows the declaration alone (1140001497)."""
    text = """g (float[a,b] x, int64 n) => (float[c,d,e] y) <int64 none = {0}, int64[1] first = {0}> {
       y = Loop (n, "") <body = outer (int64 i, bool go) => (bool on, float[0,0] item) {
         stack = Loop (none, "") <body = inner (int64 j, bool go2) => (bool on2, float[q] row) {
           on2 = Identity (go2)
           row = ReduceSum <keepdims = 0> (x, first)
         }>
         on = Identity (go)
         item = Neg (stack)
       }>
    }"""
    made = with_trips(text, [[1, 2, 3]], 0)
    assert not made.cases[0].sure
    assert ways.check(made, ["interpreted", "quick"]) is None


def test_shapes_that_a_growing_state_may_tell_are_not_compared():
    """Trips would keep the rows of the state: what is declared is that of the first trip around alone (1160011025)."""
    text = """g (float[?,?] x, int64 n) => (float[?,?,?,?] y) {
       "", y = Loop (n, "", x) <body = outer (int64 i, bool go, float[] s) => (bool on, float[] t, float[] item) {
          t = Constant <value = float[4,1] {-1,-3,1,3}> ()
          never = Constant <value = bool {0}> ()
          "", stack = Loop ("", never, s) <body = inner (int64 j, bool go2, float[] r) => (bool on2, float[] wider, float[2,2] kept) {
             wider = Concat <axis = 1> (r, r)
             on2 = Identity (go2)
             kept = Identity (wider)
          }>
          on = Constant <value = bool {1}> ()
          item = Identity (stack)
       }>
    }"""
    made = with_trips(text, np.zeros((2, 1)), 1, 5)
    assert [case.sure for case in made.cases] == [True, False]
    assert ways.check(made, ["interpreted", "quick"]) is None
