"""Models and single ops beside ONNX Runtime, with one thread and two; one table.

    ./dev bench models                   all of them, which takes half an hour
    ./dev bench models --only sklearn    those whose names contain "sklearn" (may be given again)
    ./dev bench models --write           also writes docs/performance.md

Models: those of tests/exported, and those that installed Python packages bring along. Ops: one case for each op of
tests/python/ops/op_cases.py, and some ops at the sizes that they have in models (layers.py). The engines take turns in one process, 20 ms each, each round in another order. A time is that of the median
run, a ratio Rondel's time divided by ONNX Runtime's; "fastest" is the ratio of the fastest runs, which depends less on what else the
machine does. The peak memory of a model is measured in a process of its own for each engine.

The rows are kept in build/bench/models.json: --only measures some of them anew. Exit code: 0; 1 if outputs differ by more than 1e-3 (but for ops where docs/ops.md says so).
"""

import contextlib
import functools
import importlib.util
import json
import os
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import numpy as np
import onnx
from commands import ENGINES, RESULTS, ROOT, Parser, measuring, require
from harness import TOLERANCE, disagreement, run_times, session, warm_up
from layers import LAYERS, title
from model_tables import THREADS, page, summary, table
from onnx import helper, numpy_helper

PAGE = ROOT / "docs" / "performance.md"
SIZE, ROWS = 40, 1000  #: of the programs in tests/exported: their length; rows for models of scikit-learn
SEED = 7
DIFFERENT = {"StringSplit"}  #: ops whose results differ on purpose: docs/ops.md says why
WARM_UP = 0.3  #: seconds; the code is compiled before the first run

sys.path += [str(ROOT / "tests"), str(ROOT / "tests" / "python" / "ops")]


@dataclass
class Case:
    """What is measured. make() gives the model, as bytes, and its feeds."""

    kind: str  #: "model" or "op"
    name: str
    make: Callable
    options: dict = field(default_factory=dict)  #: of Rondel's session

    @property
    def title(self):
        return f"{self.kind} {self.name}"


# ---- models --------------------------------------------------------------------------------------------------


def exported_models():
    """The models of tests/exported."""
    from exported.feeds import feeds_of

    for path in sorted((ROOT / "tests/exported").glob("*/*.onnx")):
        name = f"{path.parent.name}/{path.stem}"
        size = ROWS if path.parent.name == "sklearn" else SIZE
        # `for ... break`, which onnxscript writes without an initial condition
        options = {"loop_cond": "honour"} if name == "onnxscript/greedy_gru" else {}
        yield Case("model", name, functools.partial(lambda p, n: (p.read_bytes(), feeds_of(p, n, SEED)), path, size), options)


#: Packages with models, and extents of inputs that the models leave open, by the input's name, or by the file's and the input's.
PACKAGES = {
    "silero_vad": {"input": [1, 576], "state": [2, 1, 128]},
    "magika": {"bytes": [1, 2048]},
    "rapidocr_onnxruntime": {
        "ch_PP-OCRv4_det_infer.x": [1, 3, 480, 640],
        "ch_PP-OCRv4_rec_infer.x": [1, 3, 48, 320],
        "ch_ppocr_mobile_v2.0_cls_infer.x": [1, 3, 48, 192],
    },
    "ddddocr": {"input1": [1, 1, 64, 200]},
}


def packaged_models(packages=PACKAGES):
    """The models of those of the packages that are installed; the packages are not imported."""
    for package in packages:
        found = importlib.util.find_spec(package)
        for path in sorted(Path(found.submodule_search_locations[0]).rglob("*.onnx")) if found else ():
            yield Case("model", f"{package}/{path.stem}", functools.partial(packaged, path, PACKAGES[package]))


def packaged(path, shapes):
    model = onnx.load(path)
    given = {tensor.name for tensor in model.graph.initializer}
    random = np.random.default_rng(SEED)
    feeds = {}
    for port in model.graph.input:
        if port.name in given:
            continue
        tensor = port.type.tensor_type
        shape = [e.dim_value or 1 for e in tensor.shape.dim]
        shape = shapes.get(f"{path.stem}.{port.name}", shapes.get(port.name, shape))
        dtype = helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        values = random.integers(0, 100, shape) if dtype.kind in "iu" else random.uniform(0, 1, shape)
        feeds[port.name] = np.asarray(16_000 if port.name == "sr" else values).astype(dtype)
    return model.SerializeToString(), feeds


# ---- ops -----------------------------------------------------------------------------------------------------

OPSET = 25
#: Inputs that are weights, which models hold; so do they those that are scalars or lists of integers.
WEIGHTS = {
    **dict.fromkeys(("BatchNormalization", "Conv", "ConvTranspose", "ConvInteger", "Gemm", "LSTM", "MatMulInteger", "QLinearConv", "QLinearMatMul"), range(1, 16)),
    "DeformConv": (1, 3),
}


def ops():
    """One case for each op: that with the most elements, in f32 if the op takes it; element-wise ops are given 65,536 elements."""
    import op_cases

    for op, (dtypes, cases, _) in op_cases.OPS.items():
        yield Case("op", op, functools.partial(op_case, op, "float32" if "float32" in dtypes else dtypes[0], cases))


def layers():
    """The cases of layers.py."""
    for op, cases in LAYERS.items():
        for inputs, attributes in cases:
            yield Case("op", title(op, inputs, attributes), functools.partial(op_model, op, inputs, attributes, 1))


@contextlib.contextmanager
def large_operands():
    """Element-wise ops of op_cases.py are given large inputs."""
    import op_inputs

    before = op_inputs.SHAPES, op_inputs.PAIRS
    op_inputs.SHAPES, op_inputs.PAIRS = [(256, 256)], [((256, 256), (256, 256))]
    try:
        yield
    finally:
        op_inputs.SHAPES, op_inputs.PAIRS = before


def op_case(op, dtype, cases):
    def size(case):
        return sum(x.size for x in case[0] if x is not None)

    with large_operands():
        inputs, attributes, outputs = max(cases(np.random.default_rng(zlib.crc32(op.encode())), dtype, OPSET), key=size)
    return op_model(op, inputs, attributes, outputs)


def op_model(op, inputs, attributes, outputs):
    """A model of one node, as bytes, and its feeds."""
    names = [f"x{k}" if x is not None else "" for k, x in enumerate(inputs)]
    node = helper.make_node(op, names, [f"y{k}" for k in range(outputs)], **attributes)
    ports, constants, feeds = [], [], {}
    for k, (name, x) in enumerate(zip(names, inputs, strict=True)):
        if x is None:
            continue
        if k in WEIGHTS.get(op, ()) or (k > 0 and (x.ndim == 0 or (x.ndim == 1 and x.dtype == np.int64))):
            constants.append(numpy_helper.from_array(x, name))
        else:
            kind = onnx.TensorProto.STRING if x.dtype == object else helper.np_dtype_to_tensor_dtype(x.dtype)
            ports.append(helper.make_tensor_value_info(name, kind, x.shape))
            feeds[name] = x
    results = [onnx.ValueInfoProto(name=name) for name in node.output]
    graph = helper.make_graph([node], "op", ports, results, constants)
    model = onnx.shape_inference.infer_shapes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=11))
    for port in model.graph.output:
        if not port.HasField("type"):
            port.type.tensor_type.elem_type = ports[0].type.tensor_type.elem_type
    return model.SerializeToString(), feeds


# ---- measuring -----------------------------------------------------------------------------------------------


def measure(case, rounds, memory):
    """The row of a case, which JSON can hold: kind, name; seconds, fastest: of a run, by threads and engine; peak_bytes, by engine;
    difference; load: the machine's load average; or error, what ONNX Runtime says where it does not run the case."""
    model, feeds = case.make()
    row = {"kind": case.kind, "name": case.name, "load": os.getloadavg()[0], "seconds": {}, "fastest": {}, "difference": 0.0}
    for threads in THREADS:
        calls, outputs = {}, {}
        for engine in ENGINES:
            try:
                calls[engine] = functools.partial(session(engine, model, threads, **case.options).run, None, feeds)
                warm_up(calls[engine], WARM_UP)
                outputs[engine] = calls[engine]()
            except Exception as error:
                if engine == "rondel":
                    raise
                return row | {"error": str(error).splitlines()[0]}
        times = run_times(calls, rounds)
        row["seconds"][str(threads)] = {engine: median(found) for engine, found in times.items()}
        row["fastest"][str(threads)] = {engine: min(found) for engine, found in times.items()}
        row["difference"] = max(row["difference"], disagreement(outputs["rondel"], outputs["onnxruntime"]))
    if memory and case.kind == "model":
        alone = {engine: measuring.in_own_process(engine, model, feeds, 1, case.options) for engine in ENGINES}
        row["peak_bytes"] = {engine: found["peak_bytes"] for engine, found in alone.items()}
    return row


def main(arguments=None):
    require(*ENGINES)
    from rondel.progress import Progress

    cases = {case.title: case for made in (exported_models, packaged_models, ops, layers) for case in made()}
    parser = Parser("models", __doc__, cases, rounds=7)
    parser.add_argument("--quick", action="store_true", help="three rounds, memory not measured")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)} from all rows that were measured")
    parser.add_argument("--results", type=Path, default=RESULTS / "models.json", metavar="FILE", help="where the rows are kept (build/bench/models.json)")
    options = parser.parse_args(arguments)
    os.environ["RONDEL_JIT"] = "2"  # code that is compiled before the first run, as it is after a while otherwise
    rows, progress = [], Progress(True, "measuring", len(options.rows))
    for done, title in enumerate(options.rows):
        progress.update(done, title)
        rows.append(measure(cases[title], 3 if options.quick else options.rounds, not options.quick))
    progress.clear()
    found = merged(options.results, rows, bool(options.only))
    print(table(rows))
    for line in summary(rows):
        print(line)
    left_out = [package for package in PACKAGES if importlib.util.find_spec(package) is None]
    if left_out and not options.only:
        print(f"not installed, so that their models are left out: {', '.join(left_out)}")
    if options.write:
        PAGE.write_text(page(found, SIZE, ROWS))
        print(f"wrote {PAGE.relative_to(ROOT)}")
    differing = [row for row in rows if row["difference"] > TOLERANCE and row["name"] not in DIFFERENT]
    for row in differing:
        print(f"{row['name']}: the outputs differ by {row['difference']:.1e}", file=sys.stderr)
    return 1 if differing else 0


def merged(path, rows, keep):
    """All rows that were measured, with the machine and the versions; written to `path`. keep: earlier rows of other names stay."""
    import onnxruntime

    import rondel

    new = {(row["kind"], row["name"]) for row in rows}
    earlier = json.loads(path.read_text())["rows"] if keep and path.exists() else []
    versions = {"rondel": rondel.__version__, "onnxruntime": onnxruntime.__version__}
    rows = [row for row in earlier if (row["kind"], row["name"]) not in new] + rows
    order = {name: k for k, name in enumerate(("model", "op"))}
    found = {"machine": measuring.describe_machine(), "versions": versions, "rows": sorted(rows, key=lambda row: (order[row["kind"]], row["name"].lower()))}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found, indent=1) + "\n")
    return found


if __name__ == "__main__":
    sys.exit(main())
