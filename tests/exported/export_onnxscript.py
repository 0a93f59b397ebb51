"""Writes models with loops that are written in onnxscript: Python functions whose loops become Loop, one for one.

    pip install onnx==1.23.2 onnxscript==0.7.2
    python export_onnxscript.py
"""

import sys
import traceback
from pathlib import Path

import numpy as np
import onnx
from onnxscript import FLOAT, INT64, graph, script
from onnxscript import opset21 as op

FOLDER = Path(__file__).parent / "onnxscript"
HIDDEN, TOKENS = 16, 24

random = np.random.default_rng(7)


def weight(name, *shape):
    return onnx.numpy_helper.from_array(random.normal(0, 1, shape).astype(np.float32), name)


EMBEDDING, OUT = weight("embedding", TOKENS, HIDDEN), weight("out", HIDDEN, TOKENS)
GATES_X, GATES_H = weight("gates_x", HIDDEN, 3 * HIDDEN), weight("gates_h", HIDDEN, 3 * HIDDEN)
QUERY, KEY, VALUE = (weight(name, HIDDEN, HIDDEN) for name in ("query", "key", "value"))
CELL_X, CELL_H = weight("cell_x", HIDDEN, 4 * HIDDEN), weight("cell_h", HIDDEN, 4 * HIDDEN)
PEEPHOLES = weight("peepholes", 3, HIDDEN)


@script()
def newton(a: FLOAT["n"]) -> FLOAT["n"]:
    x = op.Max(a, op.Constant(value_float=1.0))
    going = op.Constant(value_int=1) > 0
    while going:
        step = (x * x - a) / (x + x)
        x = x - step
        going = op.ReduceMax(op.Abs(step), keepdims=0) > 0.00001
    return x


@script()
def bisection(a: FLOAT["n"]):
    low = a * 0.0
    high = op.Max(a, op.Constant(value_float=1.0))
    trips = op.Constant(value_int=0)
    going = op.Constant(value_int=1) > 0
    while going:
        middle = (low + high) / 2.0
        above = middle * middle > a
        low = op.Where(above, low, middle)
        high = op.Where(above, middle, high)
        trips = trips + 1
        going = op.And(op.ReduceMax(high - low, keepdims=0) > 0.0001, trips < 60)
    return low, trips


@script()
def gru(x, h):
    xr, xz, xn = op.Split(op.MatMul(x, op.Constant(value=GATES_X)), num_outputs=3, axis=-1)
    hr, hz, hn = op.Split(op.MatMul(h, op.Constant(value=GATES_H)), num_outputs=3, axis=-1)
    r = op.Sigmoid(xr + hr)
    z = op.Sigmoid(xz + hz)
    return z * h + (1.0 - z) * op.Tanh(xn + r * hn)


@script()
def greedy_gru(h0: FLOAT[16], most: INT64):
    """A sequence of tokens; ends by `break`."""
    h = op.Unsqueeze(h0, [0])
    token = op.Constant(value_ints=[1])
    tokens = op.SequenceEmpty(dtype=7)
    for i in range(most):
        x = op.Gather(op.Constant(value=EMBEDDING), token)
        h = gru(x, h)
        token = op.ArgMax(op.MatMul(h, op.Constant(value=OUT)), axis=-1, keepdims=0)
        tokens = op.SequenceInsert(tokens, token)
        ended = op.Squeeze(token) == 0
        if ended:
            break
    return op.ConcatFromSequence(tokens, axis=0), h


@script()
def greedy_cache(prompt: INT64["n"], most: INT64):
    tokens = op.Identity(prompt)
    x = op.Gather(op.Constant(value=EMBEDDING), prompt)
    keys = op.MatMul(x, op.Constant(value=KEY))
    values = op.MatMul(x, op.Constant(value=VALUE))
    i = op.Constant(value_int=0)
    going = i < most
    while going:
        last = op.Gather(op.Constant(value=EMBEDDING), op.Slice(tokens, [-1], [9223372036854775807]))
        query = op.MatMul(last, op.Constant(value=QUERY))
        weights = op.Softmax(op.MatMul(query, op.Transpose(keys)) / 4.0)
        out = last + op.MatMul(weights, values)
        token = op.ArgMax(op.MatMul(out, op.Constant(value=OUT)), axis=-1, keepdims=0)
        fresh = op.Gather(op.Constant(value=EMBEDDING), token)
        tokens = op.Concat(tokens, token, axis=0)
        keys = op.Concat(keys, op.MatMul(fresh, op.Constant(value=KEY)), axis=0)
        values = op.Concat(values, op.MatMul(fresh, op.Constant(value=VALUE)), axis=0)
        i = i + 1
        going = op.And(i < most, op.Not(op.Squeeze(token) == 0))
    return tokens


@script()
def beam_search(h0: FLOAT[16], most: INT64):
    h = op.Expand(op.Unsqueeze(h0, [0]), [4, 16])
    scores = op.Constant(value_floats=[0.0, -1e9, -1e9, -1e9])
    last = op.Constant(value_ints=[1, 1, 1, 1])
    tokens = op.Reshape(op.Constant(value_ints=[1, 1, 1, 1]), [4, 1])
    for i in range(most):
        h = gru(op.Gather(op.Constant(value=EMBEDDING), last), h)
        chances = op.LogSoftmax(op.MatMul(h, op.Constant(value=OUT)), axis=-1)
        total = op.Reshape(op.Unsqueeze(scores, [1]) + chances, [-1])
        scores, flat = op.TopK(total, [4])
        parent = flat / 24
        last = op.Mod(flat, 24)
        h = op.Gather(h, parent)
        tokens = op.Concat(op.Gather(tokens, parent), op.Unsqueeze(last, [1]), axis=1)
    return tokens, scores


@script()
def ctc_greedy(logits: FLOAT["n", 24]):
    best = op.ArgMax(logits, axis=-1, keepdims=0)
    out = op.Slice(best, [0], [0])
    last = op.Constant(value_int=0)
    for t in range(op.Squeeze(op.Shape(best))):
        token = op.Gather(best, t)
        keep = op.And(op.Not(token == last), op.Not(token == 0))
        if keep:
            out = op.Concat(out, op.Unsqueeze(token, [0]), axis=0)
        else:
            out = op.Identity(out)
        last = op.Identity(token)
    return out


@script()
def ctc_forward(logits: FLOAT["n", 24], labels: INT64["m"]):
    chances = op.LogSoftmax(logits, axis=-1)
    pairs = op.Concat(op.Unsqueeze(labels * 0, [1]), op.Unsqueeze(labels, [1]), axis=1)
    extended = op.Concat(op.Reshape(pairs, [-1]), [0], axis=0)
    before = op.Concat([-1, -1], op.Slice(extended, [0], [-2]), axis=0)
    skips = op.And(op.Not(extended == 0), op.Not(extended == before))
    size = op.Squeeze(op.Shape(extended))
    first = op.Gather(op.Gather(chances, 0), extended)
    alpha = op.Where(op.Range(0, size, 1) < 2, first, -1e9)
    for k in range(op.Squeeze(op.Shape(logits, start=0, end=1)) - 1):
        one = op.Concat([-1e9], op.Slice(alpha, [0], [-1]), axis=0)
        two = op.Where(skips, op.Concat([-1e9, -1e9], op.Slice(alpha, [0], [-2]), axis=0), -1e9)
        ways = op.Concat(op.Unsqueeze(alpha, [0]), op.Unsqueeze(one, [0]), op.Unsqueeze(two, [0]), axis=0)
        now = op.Gather(op.Gather(chances, k + 1), extended)
        alpha = op.ReduceLogSumExp(ways, [0], keepdims=0) + now
    return op.ReduceLogSumExp(op.Slice(alpha, [-2], [9223372036854775807]), keepdims=0)


@script()
def viterbi(emissions: FLOAT["n", "s"], transitions: FLOAT["s", "s"]):
    """Rows of back pointers grow by Concat, and are read backwards."""
    frames = op.Squeeze(op.Shape(emissions, start=0, end=1))
    score = op.Gather(emissions, 0)
    back = op.Unsqueeze(op.ArgMax(op.Unsqueeze(score, [0]) * op.Unsqueeze(score * 0.0, [1]), axis=0, keepdims=0), [0])
    for k in range(frames - 1):
        candidates = op.Unsqueeze(score, [1]) + transitions
        origin = op.ArgMax(candidates, axis=0, keepdims=0)
        back = op.Concat(back, op.Unsqueeze(origin, [0]), axis=0)
        score = op.ReduceMax(candidates, [0], keepdims=0) + op.Gather(emissions, k + 1)
    state = op.ArgMax(score, axis=0, keepdims=0)
    path = op.Unsqueeze(state, [0])
    for k in range(frames - 1):
        row = op.Gather(back, frames - 1 - k)
        state = op.Gather(row, state)
        path = op.Concat(op.Unsqueeze(state, [0]), path, axis=0)
    return path, op.ReduceMax(score, keepdims=0)


@script()
def nms(boxes: FLOAT["n", 4], scores: FLOAT["n"]):
    left, top, right, bottom = op.Split(boxes, num_outputs=4, axis=1)
    area = (right - left) * (bottom - top)
    n = op.Squeeze(op.Shape(scores))
    places = op.Range(0, n, 1)
    rest = op.Identity(scores)
    kept = op.Slice(places, [0], [0])
    going = op.ReduceMax(op.Concat(rest, [0.0], axis=0), keepdims=0) > 0.1
    while going:
        best = op.ArgMax(rest, axis=0, keepdims=0)
        w = op.Min(op.Gather(right, best), right) - op.Max(op.Gather(left, best), left)
        h = op.Min(op.Gather(bottom, best), bottom) - op.Max(op.Gather(top, best), top)
        inner = op.Max(w, 0.0) * op.Max(h, 0.0)
        overlap = inner / (op.Gather(area, best) + area - inner + 1e-9)
        gone = op.Or(op.Squeeze(overlap, [1]) > 0.5, places == best)
        rest = op.Where(gone, -1.0, rest)
        kept = op.Concat(kept, op.Unsqueeze(best, [0]), axis=0)
        going = op.ReduceMax(rest, keepdims=0) > 0.1
    return kept


@script()
def edit_distance(a: INT64["n"], b: INT64["m"]):
    """A row that grows in the inner loop, and starts anew in the outer one."""
    m = op.Squeeze(op.Shape(b))
    row = op.Range(0, m + 1, 1)
    for i in range(op.Squeeze(op.Shape(a))):
        fresh = op.Reshape(i + 1, [1])
        x = op.Gather(a, i)
        for j in range(m):
            cost = op.Cast(op.Not(x == op.Gather(b, j)), to=7)
            left = op.Slice(fresh, [-1], [9223372036854775807])
            least = op.Min(op.Gather(row, j + 1) + 1, left + 1, op.Gather(row, j) + cost)
            fresh = op.Concat(fresh, least, axis=0)
        row = op.Identity(fresh)
    return op.Gather(row, m)


@script()
def edit_distance_scatter(a: INT64["n"], b: INT64["m"]):
    """A row that is written by ScatterElements."""
    m = op.Squeeze(op.Shape(b))
    row = op.Range(0, m + 1, 1)
    for i in range(op.Squeeze(op.Shape(a))):
        x = op.Gather(a, i)
        corner = op.Gather(row, 0)
        row = op.ScatterElements(row, [0], op.Reshape(i + 1, [1]))
        for j in range(m):
            cost = op.Cast(op.Not(x == op.Gather(b, j)), to=7)
            up = op.Gather(row, j + 1)
            least = op.Min(up + 1, op.Gather(row, j) + 1, corner + cost)
            row = op.ScatterElements(row, op.Reshape(j + 1, [1]), op.Reshape(least, [1]))
            corner = op.Identity(up)
    return op.Gather(row, m)


@script()
def masked_gru(x: FLOAT["b", "n", 16], lengths: INT64["b"]):
    h = op.Gather(x, 0, axis=1) * 0.0
    outputs = op.SequenceEmpty(dtype=1)
    for t in range(op.Squeeze(op.Shape(x, start=1, end=2))):
        inside = op.Unsqueeze(t < lengths, [1])
        h = op.Where(inside, gru(op.Gather(x, t, axis=1), h), h)
        outputs = op.SequenceInsert(outputs, h)
    return op.ConcatFromSequence(outputs, axis=1, new_axis=1), h


@script()
def peephole_lstm(x: FLOAT["n", "b", 16]):
    """A Scan whose body is a function of Python."""
    zeros = op.Gather(x, 0) * 0.0
    cell_x = op.Constant(value=CELL_X)
    cell_h = op.Constant(value=CELL_H)
    peep_i, peep_f, peep_o = op.Split(op.Constant(value=PEEPHOLES), num_outputs=3, axis=0)

    @graph()
    def step(h, c, now):
        gates = op.MatMul(now, cell_x) + op.MatMul(h, cell_h)
        i, f, g, o = op.Split(gates, num_outputs=4, axis=-1)
        kept = op.Sigmoid(f + c * peep_f) * c
        cell = kept + op.Sigmoid(i + c * peep_i) * op.Tanh(g)
        out = op.Sigmoid(o + cell * peep_o) * op.Tanh(cell)
        item = op.Identity(out)
        return out, cell, item

    _, last, outputs = op.Scan(zeros, zeros, x, body=step, num_scan_inputs=1)
    return outputs, last


@script()
def ragged(values: FLOAT["n"], lengths: INT64["k"]):
    out = op.SequenceEmpty(dtype=1)
    start = op.Constant(value_ints=[0])
    for k in range(op.Squeeze(op.Shape(lengths))):
        end = start + op.Unsqueeze(op.Gather(lengths, k), [0])
        out = op.SequenceInsert(out, op.Softmax(op.Slice(values, start, end), axis=0))
        start = op.Identity(end)
    return op.ConcatFromSequence(out, axis=0)


PROGRAMS = [
    newton,
    bisection,
    greedy_gru,
    greedy_cache,
    beam_search,
    ctc_greedy,
    ctc_forward,
    viterbi,
    nms,
    edit_distance,
    edit_distance_scatter,
    masked_gru,
    peephole_lstm,
    ragged,
]

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for program in PROGRAMS:
        name = program.name.replace("_scatter", "-scatter")
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        try:
            onnx.save(program.to_model_proto(), FOLDER / f"{name}.onnx")
            print("wrote", name)
        except Exception:
            print("cannot export", name)
            traceback.print_exc(limit=-1)
