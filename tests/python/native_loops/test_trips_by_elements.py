"""Loops whose states are computed element by element: all trips run for a few elements, then for the next ones. Random bodies beside an oracle,
in all ways."""

import os
import random

import machine
import numpy as np
import pytest
from models import in_all_ways, model

COUNT = int(os.environ.get("RONDEL_ELEMENTS", "12"))
UNARY = ["Neg", "Abs", "Sqrt", "Floor"]  # rounded as IEEE says: rounding errors would grow from trip to trip
BINARY = ["Add", "Sub", "Mul", "Max", "Min", "Div"]


class Body:
    """A random body of element-wise nodes on values of one shape, and on values that are broadcast to it."""

    def __init__(self, rng):
        self.rng, self.lines, self.names, self.conditions = rng, [], [], []

    def node(self, text):
        name = f"v{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return name

    def pick(self):
        return self.rng.choice(self.names)

    def full(self, states):
        """A value of the whole shape: one operand is a state or follows from one."""
        whole = self.rng.choice(states + [v for v in self.names if v.startswith("w")])
        kind = self.rng.random()
        if kind < 0.2:
            text = f"{self.rng.choice(UNARY)} ({whole})"
        elif kind < 0.3:
            less = self.rng.choice(self.conditions) if self.conditions and self.rng.random() < 0.5 else self.node(f"Less ({whole}, {self.pick()})")
            text = f"Where ({less}, {whole}, {self.pick()})"
        else:
            operands = [whole, self.pick()]
            self.rng.shuffle(operands)
            text = f"{self.rng.choice(BINARY)} ({', '.join(operands)})"
        name = f"w{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        self.names.append(name)
        return name


def random_loop(rng, kind):
    """(ONNX text, the shape of the states)"""
    shape = rng.choice([(5,), (2, 3), (1, 4), (33,), (4, 17), (0,), (3, 1)])
    extents = ",".join("ABC"[k] if rng.random() < 0.5 else str(e) for k, e in enumerate(shape))
    last = extents.split(",")[-1]
    body = Body(rng)
    states = [f"s{k}" for k in range(rng.randrange(1, 4))]
    body.names = [*states, "bias", "row", "x"] if kind == "Scan" else [*states, "bias", "row"]
    if kind != "Scan":
        body.lines.append("f = Cast <to = 1> (i)")
        body.names.append("f")
        body.conditions.append("go")
    made = [body.full(states) for _ in range(rng.randrange(2, 9))]
    nexts = [rng.choice([*made, *states]) for _ in states]
    nexts[0] = made[-1]
    item = rng.choice(made)
    typed = lambda names: ", ".join(f"float[{extents}] {n}" for n in names)  # noqa: E731
    outs = [f"o{k}" for k in range(len(states))]
    named = "  ".join(f"n{k} = Identity ({n})" for k, n in enumerate(nexts)) + f"  item = Identity ({item})"
    results = f"{typed(f'n{k}' for k in range(len(states)))}, float[{extents}] item"
    text = "  ".join(body.lines) + "  " + named
    if kind == "Scan":
        loop = f"""{", ".join(outs)}, ys = Scan <num_scan_inputs = 1, scan_output_directions = [{rng.randrange(2)}],
          body = b ({typed(states)}, float[{rng.choice([extents, last, "1"])}] x) => ({results}) {{ {text} }}> ({", ".join("z" + s for s in states)}, xs)"""
    else:
        loop = f"""{", ".join(outs)}, ys = Loop (n, "", {", ".join("z" + s for s in states)}) <body = b (int64 i, bool go, {typed(states)}) => (bool on, {results}) {{
          {text}  on = {rng.choice(["Identity (go)", "Not (go)", "Less (f, bias)"])} }}>"""
    inputs = f"int64 n, float[T,X] xs, float bias, float[{last}] row, {typed('z' + s for s in states)}"
    if kind == "Scan":
        inputs = inputs.replace("float[T,X] xs", f"float[T,{'1' if 'float[1] x)' in loop else last if f'float[{last}] x)' in loop else extents}] xs")
    if kind != "nested":
        return f"main ({inputs}) => ({typed(outs)}, float[T,{extents}] ys) {{ {loop} }}", shape
    outer = ", ".join(f"r{k}" for k in range(len(states)))
    carried = [f"z{s}" for s in states]
    return f"""main ({inputs}) => ({typed(outer.split(", "))}, float[U,T,{extents}] all) <int64 twice = {{2}}> {{
      {outer}, all = Loop (twice, "", {", ".join("z" + s for s in states)}) <body = a (int64 j, bool more, {typed("q" + s for s in carried)}) => (bool still, {typed(outs)}, float[T,{extents}] ys) {{
        still = Identity (more)  {loop.replace(", ".join(carried), ", ".join("q" + s for s in carried))} }}>
    }}""", shape


def feeds_of(made, rng, shape, trips):
    draw = np.random.default_rng(rng.randrange(2**32))
    feeds = {}
    for given in made.graph.input:
        dims = given.type.tensor_type.shape.dim
        extents = [d.dim_value if d.HasField("dim_value") else dict(zip("ABC", shape, strict=False)).get(d.dim_param, trips) for d in dims]
        feeds[given.name] = draw.integers(-3, 4, extents).astype(np.float32) if given.name != "n" else np.array(trips)
    return feeds


ONE_ELEMENT = {
    "of a scan": """main (float[2,3] z, float[T,1] xs) => (float[2,3] o) {
      o = Scan <num_scan_inputs = 1, body = b (float[2,3] s, float[1] x) => (float[2,3] n) { d = Exp (x)  n = Mul (s, d) }> (z, xs) }""",
    "of the trip": """main (int64 n, float[1] c, float[2,3] z) => (float[2,3] o) {
      o = Loop (n, "", z) <body = b (int64 i, bool go, float[2,3] s) => (bool on, float[2,3] m) {
        on = Identity (go)  f = Cast <to = 1> (i)  g = Mul (f, c)  m = Mul (s, g) }> }""",
    "of more axes": """main (int64 n, float[1,1] c, float[3] z) => (float[3] o) {
      o = Loop (n, "", z) <body = b (int64 i, bool go, float[3] s) => (bool on, float[3] m) {
        on = Identity (go)  f = Cast <to = 1> (i)  g = Mul (f, c)  one = Constant <value_ints = [0]> ()  h = Squeeze (g, one)  m = Mul (s, h) }> }""",
}  # fmt: skip


@pytest.mark.parametrize("name", ONE_ELEMENT)
def test_a_value_of_one_element_and_another_rank(name, monkeypatch):
    made, draw = model(ONE_ELEMENT[name]), np.random.default_rng(3)
    feeds = {"z": draw.standard_normal([3] if name == "of more axes" else [2, 3]).astype(np.float32)}
    if name == "of a scan":
        feeds["xs"] = draw.standard_normal((4, 1)).astype(np.float32)
    else:
        feeds |= {"n": np.array(3), "c": np.full([1, 1] if name == "of more axes" else [1], 0.5, np.float32)}
    want = machine.run_model(made, feeds)[0]
    for run in in_all_ways(made, monkeypatch).values():
        np.testing.assert_allclose(run.run(None, feeds)[0], want, rtol=1e-5)


@pytest.mark.filterwarnings("ignore:.*cond is left out")
def test_trips_read_the_condition_of_the_trip_before(monkeypatch):
    made = model("""main (float[N] x, float other, int64 n) => (float[N] y) <int64 one = {1}, int64 two = {2}> {
      y = Loop (n, "", x) <body = b (int64 i, bool go, float[N] s) => (bool on, float[N] t) {
        t = Where (go, s, other)
        on = Equal (one, two) }> }""")
    for run in in_all_ways(made, monkeypatch).values():
        for trips, want in [(0, [0, 3]), (1, [0, 3]), (2, [-2, -2]), (5, [-2, -2])]:
            np.testing.assert_array_equal(run.run(None, {"x": np.float32([0, 3]), "other": np.float32(-2), "n": np.int64(trips)})[0], want)


@pytest.mark.filterwarnings("ignore:.*cond is left out")
@pytest.mark.parametrize("kind", ["Loop", "Scan", "nested"])
def test_random_loops(kind, monkeypatch):
    begin = random.randrange(2**32)
    for seed in range(begin, begin + COUNT):
        rng = random.Random(seed)
        text, shape = random_loop(rng, kind)
        print(f"seed {seed}\n{text}")
        made = model(text)
        sessions = in_all_ways(made, monkeypatch, strict=True)  # without fma
        for trips in (3, 0, 1, 5):
            feeds = feeds_of(made, rng, shape, trips)
            with np.errstate(all="ignore"):
                want = machine.run_model(made, feeds)
            results = {way: run.run(None, feeds) for way, run in sessions.items()}
            for way, got in results.items():
                for x, y in zip(got, want, strict=True):
                    assert x.shape == y.shape, way
                    np.testing.assert_array_equal(x, y, err_msg=str(way))


@pytest.mark.parametrize("dtype", ["float", "double"])
@pytest.mark.parametrize("extent", [7, 16, 64, 75, 300])
def test_lanes_that_take_unlike_branches(dtype, extent, monkeypatch):
    """Sin, Cos and Tan reduce large numbers in another way than small ones: in a vector some lanes do the one, some the other. Bits are the
    interpreter's, for vectors of one kind, of both, and for the last, shorter vector."""
    text = f"""g ({dtype}[{extent}] x, int64 n) => ({dtype}[{extent}] y, {dtype}[?,{extent}] rows) {{
      y, rows = Loop (n, "", x) <body = b (int64 i, bool c, {dtype}[{extent}] v) => (bool go, {dtype}[{extent}] w, {dtype}[{extent}] r) {{
        go = Identity (c)  s = Sin (v)  k = Cos (v)  t = Tan (v)  a = Add (s, k)  r = Mul (a, t)  w = Mul (v, x) }}>
    }}"""
    made = in_all_ways(model(text), monkeypatch)
    rng = np.random.default_rng(extent)
    signs = rng.choice([-1, 1], extent)
    small, mixed = signs * rng.uniform(0, 3, extent), signs * 10.0 ** rng.uniform(-3, 12, extent)
    mixed[:: max(extent // 6, 1)] = [np.inf, -np.inf, np.nan, 0, -0.0, 1e30, 3, 1e5][: len(mixed[:: max(extent // 6, 1)])]
    one = np.where(np.arange(extent) == extent - 1, 1e9, small)
    for x in (small, mixed, one, 1e9 * (1 + small)):
        x = x.astype(np.float32 if dtype == "float" else np.float64)
        feeds = {"x": x, "n": np.array(3)}
        told = {tuple(np.where(np.isnan(y), np.nan, y).tobytes() for y in run.run(None, feeds)) for run in made.values()}
        assert len(told) == 1
        rows = next(iter(made.values())).run(None, feeds)[1]
        finite = np.abs(x) < 1e4
        with np.errstate(all="ignore"):
            exact = x.astype(np.float64)
            want = (np.sin(exact) + np.cos(exact)) * np.tan(exact)
        np.testing.assert_allclose(rows[0][finite], want[finite], rtol=1e-5, atol=1e-6)
