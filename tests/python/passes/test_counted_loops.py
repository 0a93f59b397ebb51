"""Loops that a comparison of a counter ends, and states that are known without carrying them: random spellings, beside a loop in Python."""

import os
import random

import numpy as np
import onnx
import pytest
import rondel
from models import model, run_as
from onnx import numpy_helper
from rondel.inspection import trace_passes

COUNT = 80
FIRST = int(os.environ.get("RONDEL_SEED", "0"))
COUNTERS = {"int8": np.int8, "uint8": np.uint8, "int32": np.int32, "int64": np.int64}
TESTS = {
    "Less": lambda a, b: a < b,
    "LessOrEqual": lambda a, b: a <= b,
    "Greater": lambda a, b: a > b,
    "GreaterOrEqual": lambda a, b: a >= b,
    "Differs": lambda a, b: a != b,
}
MIRRORED = {"Less": "Greater", "LessOrEqual": "GreaterOrEqual", "Greater": "Less", "GreaterOrEqual": "LessOrEqual", "Differs": "Differs"}
NEGATED = {"Less": "GreaterOrEqual", "LessOrEqual": "Greater", "Greater": "LessOrEqual", "GreaterOrEqual": "Less"}
MOST = 300  #: trips; enough for a counter of eight bits to come around


class Case:
    """One model, and what its loop does for each of its feeds."""

    def __init__(self, seed):
        rng = self.rng = random.Random(seed)
        self.kind = rng.choice(list(COUNTERS))
        self.dtype = COUNTERS[self.kind]
        self.limits = np.iinfo(self.dtype)
        self.compared = "int64" if rng.random() < 0.3 else self.kind
        self.test = rng.choice(list(TESTS))
        up = self.test in ("Less", "LessOrEqual") or (self.test == "Differs" and rng.random() < 0.5)
        if rng.random() < 0.1:
            up = not up
        self.step = rng.choice([1, 1, 1, 2, 3, 50]) * (1 if up else -1)
        self.after = rng.random() < 0.7  # the counter is compared after its step
        self.first_test = rng.choice(["same", "same", "true", "given"])
        self.fixed_start, self.fixed_bound = rng.random() < 0.4, rng.random() < 0.4
        self.start, self.bound = self.pair()
        self.most = rng.choice([MOST, MOST, 7, 0])
        self.data = rng.random() < 0.3  # another part of the condition comes from data
        self.indexed = rng.random() < 0.2 and self.kind == "int64" and self.first_test != "same"  # the counter is the trip index
        if self.indexed:
            self.start, self.step, self.fixed_start = 0, 1, True
        self.one = rng.choice(["", "[1]"]) if not self.indexed else ""

    def near(self):
        low, high = int(self.limits.min), int(self.limits.max)
        return self.rng.choice([low + self.rng.randrange(4), high - self.rng.randrange(4), self.rng.randrange(-6, 7) if low else self.rng.randrange(7)])

    def pair(self):
        start = self.near()
        bound = self.near() if self.rng.random() < 0.5 else start + self.rng.randrange(-9, 30)
        return start, min(max(bound, int(self.limits.min)), int(self.limits.max))

    def feeds(self):
        rng = self.rng
        start, bound = self.pair()
        start = self.start if self.fixed_start else start
        bound = self.bound if self.fixed_bound else bound
        return {
            "start": self.array(start, self.dtype),
            "bound": self.array(bound, COUNTERS[self.compared]),
            "first": np.array(rng.random() < 0.8),
            "stop": np.array(rng.choice([1, 3, 1000]), np.float32),
        }

    def array(self, v, dtype):
        return np.array([v] if self.one else v, dtype)

    def wrap(self, v):
        return int(np.array(v).astype(self.dtype)) if abs(v) < 2**63 else int(np.array(v % 2**64, np.uint64).astype(self.dtype))

    def want(self, feeds):
        """The last counter, the trips, and the sums of all trips."""
        counter, bound = int(feeds["start"].item()), int(feeds["bound"].item())
        go = {"same": TESTS[self.test](counter, bound), "true": True, "given": bool(feeds["first"])}[self.first_test]
        trips, items = 0, []
        while go and trips < self.most:
            now, counter = counter, self.wrap(counter + self.step)
            trips += 1
            items.append(trips * 2.0)
            go = TESTS[self.test](counter if self.after else now, bound)
            if self.data:
                go = go and trips < feeds["stop"]
        return counter, trips, items

    def compare(self, at, value, into):
        """The lines that make `into` the test of a counter."""
        test, sides = self.test, [value, "bound"]
        lines = []
        if self.compared != self.kind:
            lines.append(f"{at}wide = Cast <to = {onnx.TensorProto.INT64}> ({value})")
            sides[0] = f"{at}wide"
        if self.rng.random() < 0.3:
            test, sides = MIRRORED[test], sides[::-1]
        if test == "Differs" or self.rng.random() < 0.3:
            lines.append(f"{at}not = {NEGATED.get(test, 'Equal')} ({', '.join(sides)})")
            lines.append(f"{into} = Not ({at}not)")
        else:
            lines.append(f"{into} = {test} ({', '.join(sides)})")
        return lines

    def text(self):
        counter = f"{self.kind}{self.one}"
        head, outer, body = [], [], []
        for name, kind, is_fixed in [("start", self.kind, self.fixed_start), ("bound", self.compared, self.fixed_bound)]:
            if not is_fixed:
                head.append(f"{kind}{self.one} {name}")
        constants = [f"int64 most = {{{self.most}}}", "bool yes = {1}", "float zero = {0}", "float two = {2}", "float one = {1}"]
        constants.append(f"{counter} step = {{{abs(self.step)}}}")
        for name, kind, is_fixed in [("start", self.kind, self.fixed_start), ("bound", self.compared, self.fixed_bound)]:
            if is_fixed:
                constants.append(f"{kind}{self.one} {name} = {{{getattr(self, name)}}}")
        begin = {"same": "begin", "true": "yes", "given": "first"}[self.first_test]
        if self.first_test == "same":
            outer += self.compare("o", "start", "begin")
        stepped = f"next = {'Add' if self.step > 0 else 'Sub'} (c, step)"
        body.append(stepped)
        body += self.compare("b", "next" if self.after else "c", "test")
        go = "test"
        if self.data:
            body.append("data = Less (u, stop)")
            body.append(self.rng.choice(["on = And (test, data)", "on = And (data, test)"]))
            go = "on"
        body.append(f"end = Identity ({go})")
        return f"""main ({', '.join([*head, 'bool first', 'float stop'])}) => ({counter} last, float trips, float[?] all) <{', '.join(constants)}> {{
            {'  '.join(outer)}
            last, trips, all = Loop (most, {begin}, start, zero) <body = b (int64 i, bool go, {counter} c, float t) => (bool end, {counter} next, float u, float y) {{
              {'  '.join(body[:1])}  u = Add (t, one)  {'  '.join(body[1:])}  y = Mul (u, two) }}>
        }}"""


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_trips_are_those_of_the_loop(seed, monkeypatch):
    case = Case(seed)
    made = model(case.text()).SerializeToString()
    feeds = [case.feeds() for _ in range(12)]
    for way in ("0", "quick"):
        run_as(monkeypatch, way)
        session = rondel.InferenceSession(made)
        names = {port.name for port in session.get_inputs()}
        for given in feeds:
            last, trips, items = case.want(given)
            got = session.run(None, {k: v for k, v in given.items() if k in names})
            assert (int(got[0].item()), int(got[1])) == (last, trips), given
            assert got[0].dtype == case.dtype
            np.testing.assert_array_equal(got[2], np.array(items, np.float32))


# How exporters write `while i < n`: the main graph's nodes up to the loop, and the loop.
SPELLINGS = {
    "TorchScript": """
        begin = Less (zero, n)
        i, y = Loop (most, begin, zero, x) <body = b (int64 t, bool go, int64 i, float[2] s) => (bool on, int64 j, float[2] r) {
          j = Add (i, one)  r = Add (s, s)  on = Less (j, n) }>""",
    "TensorFlow": """
        n32 = Cast <to = 6> (n)  a = Less (zero32, n32)  b = Less (zero32, large)  begin = And (b, a)
        c1, i1, y, n1, m1 = Loop ("", begin, zero32, zero32, x, n32, large) <
          body = b (int64 t, bool go, int32 c, int32 i, float[2] s, int32 m, int32 l) => (bool on, int32 c2, int32 j, float[2] r, int32 m2, int32 l2) {
            c2 = Add (c, one32)  j = Add (i, one32)  r = Add (s, s)  m2 = Identity (m)  l2 = Identity (l)
            p = Less (j, m)  q = Less (c2, l)  on = And (q, p) }>""",
    "onnxscript": """
        begin = Less (zero, n)
        y = Loop ("", begin, x) <body = b (int64 t, bool go, float[2] s) => (bool on, float[2] r) {
          r = Add (s, s)  j = Add (t, one)  stop = GreaterOrEqual (j, n)  on = Not (stop) }>""",
    "torch while_loop": """
        n1 = Unsqueeze (n, axis)  i0 = Unsqueeze (zero, axis)  less = Less (i0, n1)  begin = Squeeze (less, axis)
        i, y = Loop ("", begin, i0, x) <body = b (int64 t, bool go, int64[1] i, float[2] s) => (bool on, int64[1] j, float[2] r) {
          j = Add (i, one)  r = Add (s, s)  less2 = Less (j, n1)  on = Squeeze (less2, axis) }>""",
}


@pytest.mark.parametrize("exporter", SPELLINGS)
def test_spellings_of_exporters(exporter, monkeypatch):
    source = model(f"""main (int64 n, float[2] x) => (float[2] y) <
        int64 zero = {{0}}, int64 one = {{1}}, int64 most = {{9223372036854775807}}, int32 zero32 = {{0}}, int32 one32 = {{1}}, int32 large = {{1000}},
        int64[1] axis = {{0}}> {{ {SPELLINGS[exporter]} }}""")
    compiled = onnx.load_from_string(rondel.export(source, compiled=True))
    (loop,) = [node for node in compiled.graph.node if node.op_type == "Loop"]
    constants = {t.name: numpy_helper.to_array(t) for t in compiled.graph.initializer}
    assert loop.input[0] and constants[loop.input[1]].all(), "a trip count, and true as the condition"
    assert len(loop.output) == 1, "no counter is carried"
    for way in ("0", "quick"):
        run_as(monkeypatch, way)
        session = rondel.InferenceSession(source)
        for n in (3, 0, 1, -2, 9):
            (y,) = session.run(None, {"n": np.array(n), "x": np.array([1, 2], np.float32)})
            np.testing.assert_array_equal(y, np.array([1, 2], np.float32) * 2 ** max(n, 0))


@pytest.mark.parametrize("limit", [3.0, 2.5, -1.0, 0.0])
def test_a_counter_that_is_compared_as_a_float_counts(limit):
    """As a converter writes `i < n` where n is a float."""
    made = model(f"""main (float x) => (float[T] s) <int64 most = {{{2**62}}}, bool yes = {{1}}, float limit = {{{limit}}}, int64 one = {{1}}> {{
      s = Loop (most, yes) <body = b (int64 i, bool go) => (bool on, float t) {{
        j = Add (i, one)  f = Cast <to = 1> (j)  on = Less (f, limit)  t = Mul (x, f) }}>
    }}""")
    want = [1.0]
    while want[-1] < limit:
        want.append(want[-1] + 1)
    assert rondel.InferenceSession(made).run(None, {"x": np.float32(1)})[0].tolist() == want
    said = [text for run in trace_passes(made) for _, _, text in run.remarks]
    assert any("became the trip count" in text for text in said)
