"""The time of deepx lines: single lines on small tensors, and a chain of lines compared with the same chain as an ONNX model.

    ./dev bench deepx                  every line and the chains
    ./dev bench deepx --only matmul    those whose text contains "matmul" (may be given again)

"first" is a line of a form that the session has not run before: it is checked, and a graph and a plan are built. "again" is the same line
once more. Both are CPU time of the calling thread. A chain is ten element-wise ops on 1e6 floats; lines and model take turns. One thread.
Medians. Limits: what "again" and "ratio" should not exceed. Exit code: 0; 1 if the results of a chain and its model differ.
"""

import sys
import time
from statistics import median

import numpy as np
import onnx.parser
from commands import Parser, Table, machine, require
from harness import disagreement, run_times, session, warm_up

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
CHAINS = {"ten lines into one tensor": False, "ten lines, each into a tensor of its own": True}  #: name to `every` of `chain_times`


def small_session():
    from rondel import deepx

    made = deepx.Session(threads=1)
    for name in ("t1", "t2", "t3", "t1_grad", "t2_grad", "t3_grad"):
        made[name] = np.ones((4, 4), np.float32)
    made["row"] = np.zeros(4, np.float32)
    made.run("argset@float32 0.5->a1")
    return made


def line_times(line, rounds):
    """Microseconds of a line: (the first time, again), through Python."""
    firsts = []
    for _ in range(rounds):
        made = small_session()
        begin = time.thread_time()
        made.run(line)
        firsts.append(time.thread_time() - begin)
    warm_up(lambda: made.run(line))
    again = []
    for _ in range(rounds):
        begin = time.thread_time()
        for _ in range(100):
            made.run(line)
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


def chain_times(every, rounds):
    """(milliseconds of the chain as lines, as a model, the difference of the results). every: each line writes another tensor, and all are
    outputs of the model."""
    from rondel import deepx

    x = np.random.default_rng(0).uniform(0.1, 0.5, 1_000_000).astype(np.float32)
    names = [f"t{k}" for k in range(11)] if every else ["t0"] + ["t10"] * 10
    made = deepx.Session(threads=1)
    for name in set(names):
        made[name] = x
    program, model = chain_program(names), session("rondel", chain_model(names[1:] if every else names[-1:]))
    runs = {"lines": lambda: made.run(program), "model": lambda: model.run(None, {"t0": x})}
    for run in runs.values():
        warm_up(run)
    times = run_times(runs, rounds)
    return *(1e3 * median(times[name]) for name in runs), disagreement([made["t10"]], model.run(["t10"], {"t0": x}))


def main(arguments=None):
    options = Parser("deepx", __doc__, [*LINES, *CHAINS], rounds=20).parse_args(arguments)
    require("rondel")
    wrong = []
    if lines := [name for name in options.rows if name in LINES]:
        table = Table("line, on float32[4, 4]", LINES, "first, us", "again, us", "limit")
        for line in lines:
            first, again = line_times(line, options.rounds)
            table.add(line, f"{first:.0f}", f"{again:.1f}", f"{LIMIT_US}")
        print()
    if chains := [name for name in options.rows if name in CHAINS]:
        table = Table("on 1e6 floats", CHAINS, "lines, ms", "model, ms", "ratio", "limit")
        for name in chains:
            as_lines, as_model, difference = chain_times(CHAINS[name], options.rounds)
            table.add(name, f"{as_lines:.2f}", f"{as_model:.2f}", f"{as_lines / as_model:.2f}", f"{LIMIT_RATIO}")
            if difference > 1e-6:
                wrong.append(f"{name}: the results differ by {difference:.1e}")
    print(machine())
    for text in wrong:
        print(text, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
