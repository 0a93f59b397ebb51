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

import harness
from workloads import load
from workloads.lstm import cell
from workloads.transformer import blocks

SECONDS = 3.0
PAUSE = 0.005  #: seconds between two sessions: idle threads of the one spin for a while
F32 = np.float32


def random(*shape, scale=1.0):
    return (np.random.default_rng(sum(shape)).standard_normal(shape) * scale).astype(F32)


def model(text, weights=None, **feeds):
    """(model, feeds) of ONNX text; weights: initializers."""
    return harness.from_text(text, **(weights or {})), feeds


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


def transformer(*sizes):
    text, weights = blocks(*sizes)
    return model(text, weights, x=random(*sizes[1:3]))


ROWS = {
    "Mandelbrot, f32[256,256], 100 trips": lambda: workload("mandelbrot"),
    "LSTM cell as Scan, B32 H256, 50 trips": lambda: lstm(32, 256, 50),
    "LSTM op, B32 H256, 50 trips": lambda: lstm_op(32, 256, 50),
    "map-like Scan, 2,000 rows of 256": lambda: model(
        """rows (float[2000, 256] xs) => (float[2000, 256] ys) {
          ys = Scan <num_scan_inputs = 1, body = row (float[256] x) => (float[256] y) { e = Exp (x)  s = ReduceSum <keepdims = 1> (e)  y = Div (e, s) }> (xs) }""",
        xs=random(2000, 256),
    ),
    "MatMul 512^3": lambda: workload("matmul_op"),
    "Conv 3x3, 64 maps, 56x56": lambda: workload("conv_op"),
    "two transformer blocks, S128 d256": lambda: workload("transformer_blocks"),
    "two transformer blocks, S128 d768": lambda: transformer(2, 128, 768, 12),
    "Softmax [512,512]": lambda: workload("softmax_op"),
    "LayerNormalization [512,1024]": lambda: workload("layer_norm_op"),
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
