"""The time of deepx lines: single lines on small tensors, and a chain of lines compared with the same chain as an ONNX model.

    python bench/deepx.py

"The first time" is a line of a form that the session has not run before: it is checked, and a graph and a plan are built. "Again"
is the same line with other numbers. Both are CPU time of the calling thread. The chain is ten element-wise ops on 1e6 floats, one
thread; the engines take turns. Medians.
"""

import time
from statistics import median

import numpy as np
import onnx
import onnx.parser

import rondel
from rondel import deepx

ROUNDS = 40
LIMIT_US = 20
LIMIT_RATIO = 1.2
LINES = [
    "add@float32 t1 t2->t3",
    "add_scalar@float32 t1 a1->t3",
    "exp@float32 t1->t3",
    "sum@float32 t1 [1]->row",
    "matmul@float32 t1 t2->t3",
    "mul@float32 t1(t1_grad) t2(t2_grad)<-t3(t3_grad)",
    "max_scalar@float32 t1(t1_grad) a1<-t3(t3_grad)",
    "matmul@float32 t1(t1_grad) t2(t2_grad)<-t3(t3_grad)",
    "arange@float32 a1 0.5->t3",
    "uniform@float32 0 1->t3",
    "argset@float32 0.75->a1",
]
#: Instruction, ONNX op, number: a chain that neither overflows nor underflows.
CHAIN = [
    ("add_scalar", "Add", 0.5), ("mul_scalar", "Mul", 1.01), ("exp", "Exp", None), ("sqrt", "Sqrt", None),
    ("sub_scalar", "Sub", 0.25), ("max_scalar", "Max", 0.1), ("log", "Log", None), ("mul_scalar", "Mul", 0.5),
    ("add_scalar", "Add", 2.0), ("div_scalar", "Div", 3.0),
]  # fmt: skip


def small_session():
    session = deepx.Session(threads=1)
    for name in ("t1", "t2", "t3", "t1_grad", "t2_grad", "t3_grad"):
        session[name] = np.ones((4, 4), np.float32)
    session["row"] = np.zeros(4, np.float32)
    session.run("argset@float32 0.5->a1")
    return session


def line_times(line):
    """Microseconds of a line: (the first time, again), through Python."""
    firsts = []
    for _ in range(10):
        session = small_session()
        begin = time.thread_time()
        session.run(line)
        firsts.append(time.thread_time() - begin)
    for _ in range(2000):
        session.run(line)
    time.sleep(0.3)  # hot programs are compiled in the background
    again = []
    for _ in range(ROUNDS):
        begin = time.thread_time()
        for _ in range(100):
            session.run(line)
        again.append((time.thread_time() - begin) / 100)
    return 1e6 * median(firsts), 1e6 * median(again)


def chain_program(names):
    return "\n".join(
        f"{op}@float32 {a}{'' if number is None else f' {number}'}->{b}" for (op, _, number), a, b in zip(CHAIN, names, names[1:])
    )


def chain_model(outputs):
    constants = [f"float c{k} = {{{number}}}" for k, (_, _, number) in enumerate(CHAIN) if number is not None]
    body = [f"t{k + 1} = {op}(t{k}{'' if number is None else f', c{k}'})" for k, (_, op, number) in enumerate(CHAIN)]
    ports = ", ".join(f"float[1000000] {name}" for name in outputs)
    return onnx.parser.parse_model(
        f'<ir_version: 10, opset_import: ["" : 21]> chain (float[1000000] t0) => ({ports}) <{", ".join(constants)}> {{{" ".join(body)}}}'
    ).SerializeToString()


def chain_times(every):
    """Milliseconds of the chain: (as lines, as a model). every: each line writes another tensor, and all are outputs of the model."""
    x = np.random.default_rng(0).uniform(0.1, 0.5, 1_000_000).astype(np.float32)
    names = [f"t{k}" for k in range(11)] if every else ["t0"] + ["t10"] * 10
    session = deepx.Session(threads=1)
    for name in set(names):
        session[name] = x
    program = chain_program(names)
    options = rondel.SessionOptions()
    options.intra_op_num_threads = 1
    model = rondel.InferenceSession(chain_model(names[1:] if every else names[-1:]), options)
    runs = {"lines": lambda: session.run(program), "model": lambda: model.run(None, {"t0": x})}
    times = {name: [] for name in runs}
    for round_ in range(2 * ROUNDS):
        for name, run in runs.items():
            begin = time.perf_counter()
            run()
            if round_ >= ROUNDS:
                times[name].append(time.perf_counter() - begin)
    np.testing.assert_allclose(session["t10"], model.run(["t10"], {"t0": x})[0], 1e-6)
    return [1e3 * median(times[name]) for name in runs]


def main():
    print(f"{'line, on float32[4, 4]':<54} {'first, us':>10} {'again, us':>10}   (limit {LIMIT_US})")
    for line in LINES:
        first, again = line_times(line)
        print(f"{line:<54} {first:>10.0f} {again:>10.1f}", flush=True)
    print(f"\n{'ten lines on 1e6 floats':<54} {'lines, ms':>10} {'model, ms':>10} {'ratio':>6}   (limit {LIMIT_RATIO})")
    for every, text in ((False, "into one tensor"), (True, "each into a tensor of its own")):
        lines, model = chain_times(every)
        print(f"{text:<54} {lines:>10.2f} {model:>10.2f} {lines / model:>6.2f}", flush=True)


if __name__ == "__main__":
    main()
