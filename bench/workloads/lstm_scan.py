"""An LSTM cell written out in a `Scan`, H=256, B=1: how users write custom cells."""

import numpy as np
from onnx import numpy_helper, parser

from harness import Workload

TRIPS, SIZE = 256, 256


def cell(batch, size):
    """The body of a Scan with states h and c, in ONNX text. It reads w[size, 4*size], r[size, 4*size] and bias[4*size]."""
    row = f"float[{batch}, {size}]"
    return f"""cell ({row} h_in, {row} c_in, {row} x) => ({row} h_out, {row} c_out, {row} item) {{
    from_x = MatMul (x, w)
    from_h = MatMul (h_in, r)
    both = Add (from_x, from_h)
    gates = Add (both, bias)
    i, o, f, g = Split <axis = 1, num_outputs = 4> (gates)
    si = Sigmoid (i)
    so = Sigmoid (o)
    sf = Sigmoid (f)
    tg = Tanh (g)
    kept = Mul (sf, c_in)
    new = Mul (si, tg)
    c_out = Add (kept, new)
    tc = Tanh (c_out)
    h_out = Mul (so, tc)
    item = Identity (h_out)
  }}"""


def cell_in_jax(w, r, bias):
    """The same cell as a function for jax.lax.scan."""
    import jax
    import jax.numpy as jnp

    def cell(state, x):
        h, c = state
        i, o, f, g = jnp.split(x @ w + h @ r + bias, 4, axis=1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    return cell


MODEL = f"""
<ir_version: 10, opset_import: ["" : 21]>
lstm_scan (float[{TRIPS}, 1, {SIZE}] xs, float[1, {SIZE}] h0, float[1, {SIZE}] c0)
    => (float[1, {SIZE}] h, float[1, {SIZE}] c, float[{TRIPS}, 1, {SIZE}] hs) {{
  h, c, hs = Scan <num_scan_inputs = 1, body = {cell(1, SIZE)}> (h0, c0, xs)
}}
"""
def weights():
    """w[SIZE, 4*SIZE], r[SIZE, 4*SIZE], bias[4*SIZE]; gates i, o, f, g (ONNX: i, o, f, c)."""
    random = np.random.default_rng(0)
    scale = 1 / np.sqrt(SIZE)
    return (
        random.uniform(-scale, scale, (SIZE, 4 * SIZE)).astype(np.float32),
        random.uniform(-scale, scale, (SIZE, 4 * SIZE)).astype(np.float32),
        random.uniform(-scale, scale, 4 * SIZE).astype(np.float32),
    )


def inputs():
    random = np.random.default_rng(1)
    return {
        "xs": random.normal(size=(TRIPS, 1, SIZE)).astype(np.float32),
        "h0": np.zeros((1, SIZE), np.float32),
        "c0": np.zeros((1, SIZE), np.float32),
    }


def workload():
    model = parser.parse_model(MODEL)
    for name, value in zip(("w", "r", "bias"), weights()):
        model.graph.initializer.append(numpy_helper.from_array(value, name))
    return Workload(
        name="lstm_scan",
        doc="Scan, an LSTM cell written out, H=256 B=1 T=256",
        model=model.SerializeToString(),
        feeds=inputs(),
        trips=TRIPS,
        jax=in_jax,
    )


def in_jax():
    import jax
    import jax.numpy as jnp

    w, r, bias = map(jnp.asarray, weights())
    values = {name: jnp.asarray(value) for name, value in inputs().items()}

    @jax.jit
    def scan(xs, h0, c0):
        (h, c), hs = jax.lax.scan(cell_in_jax(w, r, bias), (h0, c0), xs)
        return h, c, hs

    return lambda: jax.block_until_ready(scan(**values))
