"""The cost of gradients: the time of value and gradients together over that of the value, compared with JAX; one table.

    ./dev bench grad                every case
    ./dev bench grad --only lstm    those whose names contain "lstm" (may be given again)

JAX takes part where it is installed (.venv/bin/pip install jax): `value_and_grad` of `lax.scan`, compiled. One thread each. Times are
medians of rounds in which value and gradient, and the engines, take turns. ratio: of gradient to value; limit: the most that it should be.
peak: the memory that loading and a second of runs of the model with its gradient add, at most, to a fresh process. sqrt: with checkpoints.
equal: the gradients differ from JAX's by at most 1e-4 of their size; exit code: 0; 1 if they do not.
"""

import importlib.util
import math
import os
import sys
from dataclasses import dataclass
from statistics import median
from typing import Callable

import numpy as np
import onnx.parser
from commands import Parser, Table, machine, measuring, require
from harness import ONE_THREAD_XLA, measure_in_turns, session, warm_up
from workloads import lstm as lstm_cell

HEAD = '<ir_version: 10, opset_import: ["" : 21]>\n'


@dataclass
class Case:
    """A model with one scalar output, and the inputs to differentiate with respect to."""

    doc: str
    model: str  #: ONNX text
    feeds: Callable  #: feeds() -> a dict of arrays
    wrt: list
    jax: Callable  #: jax() -> a function of the feeds, by name, that returns the value
    limit: float | None  #: the largest allowed ratio of times, value and gradients over value
    checkpoint: str = "none"


def lstm(batch, limit, checkpoint="none", size=256, trips=100):
    model = f"""
    lstm (float[{trips}, {batch}, {size}] xs, float[{batch}, {size}] h0, float[{size}, {4 * size}] w,
          float[{size}, {4 * size}] r, float[{4 * size}] bias) => (float loss) {{
      h, c, hs = Scan <num_scan_inputs = 1, body = {lstm_cell.cell(batch, size)}> (h0, h0, xs)
      squares = Mul (hs, hs)
      loss = ReduceMean <keepdims = 0> (squares)
    }}"""

    def feeds():
        random, scale = np.random.default_rng(0), size**-0.5
        shapes = {"w": (size, 4 * size), "r": (size, 4 * size), "bias": (4 * size,)}
        values = {name: random.uniform(-scale, scale, shape) for name, shape in shapes.items()}
        values |= {"xs": random.standard_normal((trips, batch, size)), "h0": np.zeros((batch, size))}
        return {name: np.asarray(x, np.float32) for name, x in values.items()}

    def in_jax():
        import jax.numpy as jnp

        def loss(xs, h0, w, r, bias):
            cell = lstm_cell.cell_in_jax(w, r, bias)
            return jnp.mean(scan_in_jax(cell, (h0, h0), xs, trips, checkpoint)[1] ** 2)

        return loss

    doc = f"Scan, an LSTM cell written out, H={size} B={batch} T={trips}"
    return Case(doc, model, feeds, ["w", "r", "bias", "xs"], in_jax, limit, checkpoint)


def ode(limit, checkpoint="none", size=4096, trips=200):
    """`size` pendulums, integrated by the midpoint method."""
    model = f"""
    ode (float[{size}] angle, float[{size}] speed, float[{size}] pull, float step) => (float loss)
    <int64 trips = {{{trips}}}, float two = {{2}}> {{
      half = Div (step, two)
      a, s = Loop (trips, , angle, speed) <body = midpoint (int64 i, bool go, float[{size}] a_in, float[{size}] s_in)
          => (bool on, float[{size}] a_out, float[{size}] s_out) {{
        on = Identity (go)
        sin1 = Sin (a_in)
        force1 = Mul (sin1, pull)
        more1 = Mul (s_in, half)
        less1 = Mul (force1, half)
        a_mid = Add (a_in, more1)
        s_mid = Sub (s_in, less1)
        sin2 = Sin (a_mid)
        force2 = Mul (sin2, pull)
        more2 = Mul (s_mid, step)
        less2 = Mul (force2, step)
        a_out = Add (a_in, more2)
        s_out = Sub (s_in, less2)
      }}>
      squares = Mul (a, a)
      loss = ReduceMean <keepdims = 0> (squares)
    }}"""

    def feeds():
        random = np.random.default_rng(0)
        values = {name: random.uniform(0.5, 1.5, size).astype(np.float32) for name in ("angle", "speed", "pull")}
        return values | {"step": np.float32(2 / trips)}

    def in_jax():
        import jax.numpy as jnp

        def loss(angle, speed, pull, step):
            def midpoint(state, _):
                a, s = state
                a_mid, s_mid = a + s * (step / 2), s - jnp.sin(a) * pull * (step / 2)
                return (a + s_mid * step, s - jnp.sin(a_mid) * pull * step), None

            return jnp.mean(scan_in_jax(midpoint, (angle, speed), None, trips, checkpoint)[0][0] ** 2)

        return loss

    doc = f"Loop, {size} pendulums by the midpoint method, T={trips}"
    return Case(doc, model, feeds, ["angle", "speed", "pull"], in_jax, limit, checkpoint)


def decoder(limit, checkpoint="none", size=64, trips=256):
    """A decoder that feeds itself: its keys and values grow by Concat, and no shape in its body is declared."""
    model = f"""
    decoder (float[1, {size}] start, float[none, {size}] empty, float[{size}, {size}] wq, float[{size}, {size}] wk,
             float[{size}, {size}] wv) => (float loss) <int64 trips = {{{trips}}}, float scale = {{{size**-0.5}}}> {{
      last, keys, values = Loop (trips, , start, empty, empty) <body = token (int64 i, bool go, float[a, b] h, float[c, d] k, float[e, f] v)
          => (bool on, float[g, j] h_next, float[l, m] k_next, float[n, o] v_next) {{
        on = Identity (go)
        key = MatMul (h, wk)
        value = MatMul (h, wv)
        k_next = Concat <axis = 0> (k, key)
        v_next = Concat <axis = 0> (v, value)
        q = MatMul (h, wq)
        kt = Transpose <perm = [1, 0]> (k_next)
        products = MatMul (q, kt)
        scores = Mul (products, scale)
        shares = Softmax <axis = -1> (scores)
        mixed = MatMul (shares, v_next)
        sum = Add (mixed, h)
        h_next = Tanh (sum)
      }}>
      squares = Mul (last, last)
      loss = ReduceMean <keepdims = 0> (squares)
    }}"""

    def feeds():
        random = np.random.default_rng(0)
        values = {name: random.uniform(-1, 1, (size, size)) * size**-0.5 for name in ("wq", "wk", "wv")}
        values |= {"start": random.standard_normal((1, size)), "empty": np.zeros((0, size))}
        return {name: np.asarray(values[name], np.float32) for name in ("start", "empty", "wq", "wk", "wv")}

    def in_jax():
        import jax
        import jax.numpy as jnp

        def loss(start, empty, wq, wk, wv):
            def token(state, i):
                h, k, v = state
                k = jax.lax.dynamic_update_slice(k, h @ wk, (i, 0))
                v = jax.lax.dynamic_update_slice(v, h @ wv, (i, 0))
                scores = jnp.where(jnp.arange(trips) <= i, (h @ wq) @ k.T * size**-0.5, -jnp.inf)
                return (jnp.tanh(jax.nn.softmax(scores) @ v + h), k, v), None

            cache = jnp.zeros((trips, size))
            last = scan_in_jax(token, (start, cache, cache), jnp.arange(trips), trips, checkpoint)[0][0]
            return jnp.mean(last**2)

        return loss

    doc = f"Loop, a decoder with caches that grow, width {size}, T={trips}"
    return Case(doc, model, feeds, ["start", "wq", "wk", "wv"], in_jax, limit, checkpoint)


def scan_in_jax(body, states, xs, trips, checkpoint):
    """`lax.scan`; with checkpoints as users of JAX write them: a scan over segments, each of which is recomputed."""
    import jax

    if checkpoint == "none":
        return jax.lax.scan(body, states, xs, length=trips)
    length = next(n for n in range(math.isqrt(trips - 1) + 1, trips + 1) if trips % n == 0)

    @jax.checkpoint
    def segment(states, part):
        return jax.lax.scan(body, states, part, length=length)

    in_segments = jax.tree.map(lambda x: x.reshape(-1, length, *x.shape[1:]), xs)
    finals, stacks = jax.lax.scan(segment, states, in_segments, length=trips // length)
    return finals, jax.tree.map(lambda y: y.reshape(-1, *y.shape[2:]), stacks)


CASES = {
    "lstm B=32": lstm(32, 3.4),
    "lstm B=32, sqrt": lstm(32, 4.5, "sqrt"),
    "lstm B=1": lstm(1, 2.9),
    "lstm B=1, sqrt": lstm(1, 4.5, "sqrt"),
    "ode": ode(3.0),
    "ode, sqrt": ode(4.5, "sqrt"),
    "ode T=3200": ode(None, trips=3200),
    "ode T=3200, sqrt": ode(4.5, "sqrt", trips=3200),
    "decoder": decoder(3.0),
    "decoder, sqrt": decoder(4.5, "sqrt"),
    "ode T=12800": ode(None, trips=12800),
    "ode T=12800, sqrt": ode(4.5, "sqrt", trips=12800),
}


def models(case):
    """(the model, the model with its gradient), serialized."""
    import rondel

    model = onnx.parser.parse_model(HEAD + case.model)
    gradient = rondel.grad(model, wrt=case.wrt, checkpoint=case.checkpoint)
    return model.SerializeToString(), gradient.SerializeToString()


def calls_of_rondel(case):
    feeds = case.feeds()
    value, gradient = (session("rondel", model) for model in models(case))
    return {"value": lambda: value.run(None, feeds), "gradient": lambda: gradient.run(None, feeds)}


def calls_of_jax(case):
    os.environ.setdefault("XLA_FLAGS", ONE_THREAD_XLA)
    import jax

    loss, feeds = case.jax(), {name: jax.numpy.asarray(x) for name, x in case.feeds().items()}
    names = list(feeds)

    def of_list(*values):
        return loss(**dict(zip(names, values)))

    value = jax.jit(of_list)
    gradient = jax.jit(jax.value_and_grad(of_list, argnums=[names.index(name) for name in case.wrt]))

    def both():
        found, gradients = jax.block_until_ready(gradient(*feeds.values()))
        return [found, *gradients]

    return {"value": lambda: jax.block_until_ready(value(*feeds.values())), "gradient": both}


ENGINES = {"rondel": calls_of_rondel, "jax": calls_of_jax}


def measure(case, engines, rounds):
    """For each engine: (median seconds of value, of value and gradients, outputs of value and gradients)."""
    calls = {(engine, what): call for engine in engines for what, call in ENGINES[engine](case).items()}
    for call in calls.values():
        warm_up(call)
    times = measure_in_turns(calls, rounds)
    return {engine: (median(times[engine, "value"]), median(times[engine, "gradient"]), calls[engine, "gradient"]()) for engine in engines}


def equal(ours, theirs):
    def close(a, b):
        a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
        return a.shape == b.shape and np.abs(a - b).max() <= 1e-4 * np.abs(b).max()

    return all(close(a, b) for a, b in zip(ours, theirs, strict=True))


def peak_text(case):
    _, gradient = models(case)
    peak = measuring.in_own_process("rondel", gradient, case.feeds(), 1, {})["peak_bytes"]
    return "" if peak is None else f"{peak / 2**20:.1f}"


def main(arguments=None):
    options = Parser("grad", __doc__, CASES, rounds=9).parse_args(arguments)
    require("rondel")
    engines = ["rondel", *(["jax"] if importlib.util.find_spec("jax") else [])]
    table = Table("case", CASES, "engine", "value, ms", "gradient, ms", "ratio", "limit", "peak, MiB", "equal")
    differing = []
    for name in options.rows:
        case = CASES[name]
        found = measure(case, engines, options.rounds)
        same = "" if "jax" not in found else "yes" if equal(found["rondel"][2], found["jax"][2]) else "NO"
        if same == "NO":
            differing.append(name)
        for engine, (value, gradient, _) in found.items():
            ours = (f"{case.limit or ''}", peak_text(case), same) if engine == "rondel" else ("", "", "")
            table.add(name if engine == "rondel" else "", engine, f"{1e3 * value:.3f}", f"{1e3 * gradient:.3f}", f"{gradient / value:.2f}", *ours)
    if "jax" not in engines:
        print("JAX is not installed, so that nothing is compared: .venv/bin/pip install jax")
    print(machine())
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
