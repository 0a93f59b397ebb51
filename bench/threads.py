"""Models with one thread and with several, in Rondel and ONNX Runtime; one table.

    ./dev bench threads                   every row
    ./dev bench threads --only small      those whose names contain "small" (may be given again)

The sessions take turns in one process. A time is that of a call through Python: the fastest of many, since all threads must be at work at
once, which other load of the machine prevents. gain: the time with one thread divided by that with N (default: the cores). The small models
must not lose. Exit code: 0; 1 if Rondel's outputs are not the same bits with N threads, or differ from ONNX Runtime's by more than 1e-3.
"""

import sys

import numpy as np
from commands import ENGINES, Parser, Table, at_least_one, machine, measuring, require
from harness import TOLERANCE, disagreement, from_text, run_times, session, warm_up
from workloads import load
from workloads.lstm import cell
from workloads.transformer import blocks

F32 = np.float32


def random(*shape, scale=1.0):
    return (np.random.default_rng(sum(shape)).standard_normal(shape) * scale).astype(F32)


def model(text, weights=None, **feeds):
    """(model, feeds) of ONNX text; weights: initializers."""
    return from_text(text, **(weights or {})), feeds


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


def measure(proto, feeds, counts, rounds):
    """(the seconds of the fastest call, by engine and threads; what is wrong with the outputs)."""
    calls = {}
    for engine in ENGINES:
        for count in counts:
            made = session(engine, proto, count)
            calls[engine, count] = lambda made=made: made.run(None, feeds)
    for call in calls.values():
        warm_up(call)
    outputs = {who: call() for who, call in calls.items()}
    best = {who: min(found) for who, found in run_times(calls, rounds).items()}
    one, many = (outputs["rondel", count] for count in counts)
    wrong = []
    if any(a.tobytes() != b.tobytes() for a, b in zip(one, many, strict=True)):
        wrong.append(f"the bits differ with {counts[1]} threads")
    if (difference := disagreement(one, outputs["onnxruntime", 1])) > TOLERANCE:
        wrong.append(f"the outputs differ from ONNX Runtime's by {difference:.1e}")
    return best, wrong


def main(arguments=None):
    parser = Parser("threads", __doc__, ROWS, rounds=30)
    parser.add_argument("--threads", type=at_least_one, default=measuring.core_count(), metavar="N", help="beside one (default: the cores)")
    options = parser.parse_args(arguments)
    require(*ENGINES)
    counts = (1, options.threads)
    columns = [column for engine in ("Rondel", "ORT") for column in (*(f"{engine}, {count}" for count in counts), "gain")]
    table = Table("us a call", ROWS, *columns)
    faults = []
    for name in options.rows:
        best, wrong = measure(*ROWS[name](), counts, options.rounds)
        faults += [f"{name}: {text}" for text in wrong]
        cells = []
        for engine in ENGINES:
            one, many = (best[engine, count] for count in counts)
            cells += [f"{1e6 * one:,.1f}", f"{1e6 * many:,.1f}", f"{one / many:.2f}x"]
        table.add(name, *cells)
    print(machine())
    for text in faults:
        print(text, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
