"""Models with one thread and with several, in Rondel and ONNX Runtime; one table.

    python bench/threads.py [--threads N] [WORDS]

WORDS select the rows whose names contain all of them. The sessions take turns in one process. A time is that of a call through Python:
the fastest of many, since all threads must be at work at once, which other load of the machine prevents. "gain": the time with one
thread divided by that with N (default: the cores). The small models must not lose. Rondel's outputs must be the same bits.
"""

import argparse
import sys
import time

import numpy as np
from onnx import numpy_helper, parser

import harness
from workloads import load
from workloads.lstm import cell

SECONDS = 3.0
PAUSE = 0.005  #: seconds between two sessions: idle threads of the one spin for a while
HEAD = '<ir_version: 10, opset_import: ["" : 21]>'
F32 = np.float32


def random(*shape, scale=1.0):
    return (np.random.default_rng(sum(shape)).standard_normal(shape) * scale).astype(F32)


def model(text, weights=None, **feeds):
    """(model, feeds) of ONNX text; weights: initializers."""
    made = parser.parse_model(f"{HEAD}\n{text}")
    for name, value in (weights or {}).items():
        made.graph.initializer.append(numpy_helper.from_array(value, name))
    return made.SerializeToString(), feeds


def workload(name):
    made = load(name)
    return made.model, made.feeds


def lstm(batch, size, trips):
    row = f"float[{batch}, {size}]"
    weights = {"w": random(size, 4 * size, scale=0.06), "r": random(size, 4 * size, scale=0.06), "bias": random(4 * size)}
    return model(
        f"""lstm (float[{trips}, {batch}, {size}] xs, {row} h0, {row} c0) => ({row} h, {row} c, float[{trips}, {batch}, {size}] hs) {{
          h, c, hs = Scan <num_scan_inputs = 1, body = {cell(batch, size)}> (h0, c0, xs) }}""",
        weights,
        xs=random(trips, batch, size),
        h0=np.zeros((batch, size), F32),
        c0=np.zeros((batch, size), F32),
    )


def lstm_op(batch, size, trips):
    return model(
        f"""lstm (float[{trips}, {batch}, {size}] xs) => (float[{trips}, 1, {batch}, {size}] hs, float[1, {batch}, {size}] h, float[1, {batch}, {size}] c) {{
          hs, h, c = LSTM <hidden_size = {size}> (xs, w, r, bias) }}""",
        {"w": random(1, 4 * size, size, scale=0.06), "r": random(1, 4 * size, size, scale=0.06), "bias": random(1, 8 * size)},
        xs=random(trips, batch, size),
    )


def transformer(blocks, length, width, heads=4):
    """Blocks of attention and a network of two layers, each behind a LayerNormalization."""
    lines, weights, x, part = [], {}, "x", width // heads
    for k in range(blocks):
        for name, shape in {"q": (width, width), "k": (width, width), "v": (width, width), "o": (width, width), "up": (width, 4 * width), "down": (4 * width, width)}.items():
            weights[f"{name}{k}"] = random(*shape, scale=width**-0.5)
        for name in ("g1", "b1", "g2", "b2"):
            weights[f"{name}{k}"] = random(width)
        lines.append(f"n{k} = LayerNormalization ({x}, g1{k}, b1{k})")
        for name, order in (("q", "1, 0, 2"), ("k", "1, 2, 0"), ("v", "1, 0, 2")):
            lines.append(f"m{name}{k} = MatMul (n{k}, {name}{k})")
            lines.append(f"s{name}{k} = Reshape (m{name}{k}, split)")
            lines.append(f"h{name}{k} = Transpose <perm = [{order}]> (s{name}{k})")
        lines.append(f"""scores{k} = MatMul (hq{k}, hk{k})  scaled{k} = Mul (scores{k}, scale)  p{k} = Softmax (scaled{k})
          mixed{k} = MatMul (p{k}, hv{k})  back{k} = Transpose <perm = [1, 0, 2]> (mixed{k})  joined{k} = Reshape (back{k}, join)
          out{k} = MatMul (joined{k}, o{k})  y{k} = Add ({x}, out{k})  z{k} = LayerNormalization (y{k}, g2{k}, b2{k})
          up_{k} = MatMul (z{k}, up{k})  r{k} = Relu (up_{k})  down_{k} = MatMul (r{k}, down{k})  x{k} = Add (y{k}, down_{k})""")
        x = f"x{k}"
    weights |= {"scale": np.array(part**-0.5, F32), "split": np.array([0, heads, -1]), "join": np.array([0, -1])}
    body = "\n".join(lines)
    return model(f"blocks (float[{length}, {width}] x) => (float[{length}, {width}] {x}) {{ {body} }}", weights, x=random(length, width))


ROWS = {
    "Mandelbrot, f32[256,256], 100 trips": lambda: workload("mandelbrot"),
    "LSTM cell as Scan, B32 H256, 50 trips": lambda: lstm(32, 256, 50),
    "LSTM op, B32 H256, 50 trips": lambda: lstm_op(32, 256, 50),
    "map-like Scan, 2,000 rows of 256": lambda: model(
        """rows (float[2000, 256] xs) => (float[2000, 256] ys) {
          ys = Scan <num_scan_inputs = 1, body = row (float[256] x) => (float[256] y) { e = Exp (x)  s = ReduceSum <keepdims = 1> (e)  y = Div (e, s) }> (xs) }""",
        xs=random(2000, 256),
    ),
    "MatMul 512^3": lambda: model("m (float[512, 512] a, float[512, 512] b) => (float[512, 512] c) { c = MatMul (a, b) }", a=random(512, 512), b=random(512, 512)),
    "Conv 3x3, 64 maps, 56x56": lambda: model(
        "m (float[1, 64, 56, 56] x) => (float[1, 64, 56, 56] y) { y = Conv <pads = [1, 1, 1, 1]> (x, w) }",
        {"w": random(64, 64, 3, 3)},
        x=random(1, 64, 56, 56),
    ),
    "two transformer blocks, S128 d256": lambda: transformer(2, 128, 256),
    "two transformer blocks, S128 d768": lambda: transformer(2, 128, 768, heads=12),
    "Softmax [512,512]": lambda: model("m (float[512, 512] x) => (float[512, 512] y) { y = Softmax (x) }", x=random(512, 512)),
    "LayerNormalization [512,1024]": lambda: model(
        "m (float[512, 1024] x) => (float[512, 1024] y) { y = LayerNormalization (x, g, b) }",
        {"g": random(1024), "b": random(1024)},
        x=random(512, 1024),
    ),
    "Gelu [n,m] of [512,1024]": lambda: model("m (float[n, m] x) => (float[n, m] y) { y = Gelu (x) }", x=random(512, 1024)),
    "small: Add of f32[1000]": lambda: model("m (float[n] x) => (float[n] y) { y = Add (x, x) }", x=random(1000)),
    "small: f32[256] state, 8 ops": lambda: workload("elementwise_loop"),
    "small: LSTM cell as Scan, B1 H64": lambda: lstm(1, 64, 100),
    "small: MatMul [n,64] x [64,64]": lambda: model("m (float[n, 64] a) => (float[n, 64] c) { c = MatMul (a, b) }", {"b": random(64, 64)}, a=random(64, 64)),
}


def fastest(calls):
    """The seconds of the fastest of many calls, for each of these functions."""
    for call in calls.values():
        harness.warm_up(call, 1.0)
    best = dict.fromkeys(calls, float("inf"))
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        for name, call in calls.items():
            time.sleep(PAUSE)
            for _ in range(5):
                begin = time.perf_counter()
                call()
                best[name] = min(best[name], time.perf_counter() - begin)
    return best


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--threads", type=int, default=harness.measuring.core_count(), metavar="N")
    options.add_argument("words", nargs="*", metavar="WORDS")
    options = options.parse_args()
    counts = (1, options.threads)
    columns = [f"{engine}, {count}" for engine in ("Rondel", "ORT") for count in counts]
    print(f"{'us a call':<38}" + "".join(f"{c:>11}" for c in [*columns[:2], "gain", *columns[2:], "gain"]))
    wrong = []
    for name, make in ROWS.items():
        if not all(word in name for word in options.words):
            continue
        proto, feeds = make()
        calls = {}
        for engine in ("rondel", "onnxruntime"):
            for count in counts:
                session = harness.measuring.make_session(engine, proto, count, {})
                calls[engine, count] = lambda session=session: session.run(None, feeds)
        best = fastest(calls)
        outputs = [calls["rondel", count]() for count in counts]
        if any(a.tobytes() != b.tobytes() for a, b in zip(*outputs, strict=True)):
            wrong.append(name)
        cells = ""
        for engine in ("rondel", "onnxruntime"):
            one, many = (best[engine, count] for count in counts)
            cells += f"{1e6 * one:>11,.1f}{1e6 * many:>11,.1f}{one / many:>10.2f}x"
        print(f"{name:<38}{cells}", flush=True)
    for name in wrong:
        print(f"{name}: the bits differ with {options.threads} threads")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
