"""LSTM cells written out in a `Scan`, and `LSTM` nodes, of any size; the workloads `lstm_*` are some sizes."""

import numpy as np

from harness import Workload, by_hand, from_text


def cell(batch, size, layer=""):
    """The body of a Scan with states h and c, in ONNX text. It reads w[size, 4*size], r[size, 4*size] and bias[4*size] of the layer."""
    row = f"float[{batch}, {size}]"
    return f"""cell ({row} h_in, {row} c_in, {row} x) => ({row} h_out, {row} c_out, {row} item) {{
    from_x = MatMul (x, w{layer})
    from_h = MatMul (h_in, r{layer})
    both = Add (from_x, from_h)
    gates = Add (both, bias{layer})
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


def arrays(batch, size, trips, layers=1):
    """xs[trips, batch, size], w[layers, size, 4*size], r[layers, size, 4*size], bias[layers, 4*size]; gates i, o, f, g (ONNX: i, o, f, c)."""
    random = np.random.default_rng(0)
    scale = 1 / np.sqrt(size)
    xs = random.normal(size=(trips, batch, size)).astype(np.float32)
    wide = ((layers, size, 4 * size), (layers, size, 4 * size), (layers, 4 * size))
    return xs, *(random.uniform(-scale, scale, s).astype(np.float32) for s in wide)


def scans(name, batch, size, trips, layers=1, **limits):
    """Scans one above the other; each reads the items of the one below it."""
    xs, w, r, bias = arrays(batch, size, trips, layers)
    row, items = f"float[{batch}, {size}]", f"float[{trips}, {batch}, {size}]"
    read = ["xs", *(f"items_{k}" for k in range(1, layers))]
    made = [*(f"h_{k}, c_{k}, items_{k}" for k in range(1, layers)), "h, c, hs"]
    nodes = [f"{made[k]} = Scan <num_scan_inputs = 1, body = {cell(batch, size, k)}> (h0, c0, {read[k]})" for k in range(layers)]
    text = f"{name} ({items} xs, {row} h0, {row} c0) => ({row} h, {row} c, {items} hs) {{ {' '.join(nodes)} }}"
    weights = {f"{kind}{k}": value[k] for kind, value in (("w", w), ("r", r), ("bias", bias)) for k in range(layers)}
    zeros = np.zeros((batch, size), np.float32)
    outputs = [np.empty((batch, size), np.float32), np.empty((batch, size), np.float32), np.empty((trips, batch, size), np.float32)]
    return Workload(
        name=name,
        doc=f"{layers if layers > 1 else 'a'} Scan of an LSTM cell written out, H={size} B={batch} T={trips}",
        model=from_text(text, **weights),
        feeds={"xs": xs, "h0": zeros, "c0": zeros},
        trips=trips * layers,
        by_hand=lambda: (by_hand("lstm", trips, layers, batch, size, xs, w, r, bias, *outputs), outputs),
        jax=(lambda: _in_jax(xs, w, r, bias, zeros)) if layers == 1 else None,
        **limits,
    )


def op(name, batch, size, trips, **limits):
    """The same as one `LSTM` node."""
    xs, w, r, bias = arrays(batch, size, trips)
    last = f"float[1, {batch}, {size}]"
    text = f"""{name} (float[{trips}, {batch}, {size}] xs) => (float[{trips}, 1, {batch}, {size}] hs, {last} h, {last} c) {{
      hs, h, c = LSTM <hidden_size = {size}> (xs, w, r, b)
    }}"""
    weights = {"w": w.transpose(0, 2, 1).copy(), "r": r.transpose(0, 2, 1).copy(), "b": np.concatenate([bias, np.zeros_like(bias)], 1)}
    hs, h, c = np.empty((trips, 1, batch, size), np.float32), np.empty((1, batch, size), np.float32), np.empty((1, batch, size), np.float32)
    return Workload(
        name=name,
        doc=f"LSTM node, H={size} B={batch} T={trips}",
        model=from_text(text, **weights),
        feeds={"xs": xs},
        trips=trips,
        by_hand=lambda: (by_hand("lstm", trips, 1, batch, size, xs, w, r, bias, h, c, hs), [hs, h, c]),
        **limits,
    )


def cell_in_jax(w, r, bias):
    """The cell as a function for jax.lax.scan."""
    import jax
    import jax.numpy as jnp

    def step(state, x):
        h, c = state
        i, o, f, g = jnp.split(x @ w + h @ r + bias, 4, axis=1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    return step


def _in_jax(xs, w, r, bias, zeros):
    import jax
    import jax.numpy as jnp

    step = cell_in_jax(*(jnp.asarray(a[0]) for a in (w, r, bias)))

    @jax.jit
    def scan(xs, h0, c0):
        (h, c), hs = jax.lax.scan(step, (h0, c0), xs)
        return h, c, hs

    return lambda: jax.block_until_ready(scan(xs, zeros, zeros))
