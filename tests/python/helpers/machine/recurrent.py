"""RNN, GRU and LSTM, step by step."""

from __future__ import annotations

import numpy as np

ACTIVATIONS = {
    "Relu": lambda x: np.maximum(x, 0),
    "Tanh": np.tanh,
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "HardSigmoid": lambda x: np.clip(x * np.asarray(0.2, x.dtype) + np.asarray(0.5, x.dtype), 0, 1),
    "Softsign": lambda x: x / (1 + np.abs(x)),
}
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
DEFAULTS = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}


def recurrent(op):
    def run(a, x, w, r, b=None, lengths=None, h=None, c=None, p=None):
        assert x.ndim == 3, "x has three axes"
        if a.get("layout"):
            x, h, c = (v if v is None else np.swapaxes(v, 0, 1) for v in (x, h, c))
        steps, batch, directions = x.shape[0], x.shape[1], w.shape[0]
        hidden = r.shape[2]
        assert directions == (2 if a.get("direction") == "bidirectional" else 1), "another number of directions"
        assert w.shape == (directions, GATES[op] * hidden, x.shape[2]) and r.shape == (directions, GATES[op] * hidden, hidden), "W or R"
        lengths = np.full(batch, steps) if lengths is None else lengths
        assert lengths.shape == (batch,) and np.all((lengths >= 0) & (lengths <= steps)), "sequence lengths"
        names = a.get("activations", DEFAULTS[op] * directions)
        names = [n if isinstance(n, str) else n.decode() for n in names]
        zeros = np.zeros((directions, batch, hidden), x.dtype)
        h, c = (zeros if v is None else v for v in (h, c))
        assert h.shape == c.shape == zeros.shape, "the initial state"
        made = []
        for d in range(directions):
            back = a.get("direction") == "reverse" or d == 1
            chosen = [ACTIVATIONS[n] for n in names[d * len(DEFAULTS[op]) :][: len(DEFAULTS[op])]]
            bias = np.zeros(2 * GATES[op] * hidden, x.dtype) if b is None else b[d]
            peepholes = np.zeros((3, hidden), x.dtype) if p is None else p[d].reshape(3, hidden)
            made.append(_direction(op, a, x, w[d].T, r[d].T, np.split(bias, 2), peepholes, h[d], c[d], lengths, chosen, back))
        y = np.stack([d[0] for d in made], 1)
        last = [np.stack([d[k] for d in made], 0) for k in (1, 2)]
        if a.get("layout"):
            y, last = y.transpose(2, 0, 1, 3), [np.swapaxes(v, 0, 1) for v in last]
        return [v.astype(x.dtype) for v in (y, *last)][: a["outputs"]]

    return run


def _direction(op, a, x, w, r, bias, peepholes, h, c, lengths, activations, back):
    limit = a.get("clip", np.inf)
    seen = [lambda v, f=f: f(np.clip(v, -limit, limit)) for f in activations]
    y = np.zeros((*x.shape[:2], h.shape[1]), x.dtype)
    for t in range(len(x)):
        # Each batch entry begins at the end of its own sequence when it is read backwards.
        at = np.where(lengths > t, lengths - 1 - t if back else t, 0)
        now = x[at, np.arange(x.shape[1])]
        nexts = STEPS[op](a, now @ w + bias[0], r, bias[1], peepholes, h, c, seen)
        live = (t < lengths)[:, None]
        h, c = (np.where(live, new, old) for new, old in zip(nexts, (h, c), strict=True))
        y[at[live[:, 0]], np.nonzero(live)[0]] = h[live[:, 0]]
    return y, h, c


def _rnn(a, x, r, bias, p, h, c, f):
    return f[0](x + h @ r + bias), c


def _gru(a, x, r, bias, p, h, c, f):
    xz, xr, xh = np.split(x, 3, -1)
    rz, rr, rh = np.split(r, 3, -1)
    bz, br, bh = np.split(bias, 3)
    z, reset = f[0](xz + h @ rz + bz), f[0](xr + h @ rr + br)
    proposed = f[1](xh + reset * (h @ rh + bh)) if a.get("linear_before_reset") else f[1](xh + (reset * h) @ rh + bh)
    return (1 - z) * proposed + z * h, c


def _lstm(a, x, r, bias, p, h, c, f):
    i, o, forget, cell = np.split(x + h @ r + bias, 4, -1)
    i, forget = f[0](i + p[0] * c), f[0](forget + p[2] * c)
    c = forget * c + i * f[1](cell)
    return f[0](o + p[1] * c) * f[2](c), c


STEPS = {"RNN": _rnn, "GRU": _gru, "LSTM": _lstm}
OPS = {op: recurrent(op) for op in STEPS}
