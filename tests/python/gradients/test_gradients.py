"""Gradients of models: against central differences in float64, and in other runtimes."""

import numpy as np
import onnx
import onnxruntime
import pytest
import rondel
from onnx import helper, numpy_helper, parser
from onnx.reference import ReferenceEvaluator

SMOOTH = 1e-6  #: the largest relative error of a smooth function
STEP = 1e-5  #: relative step of central differences


def model_of(op, inputs, attributes, outputs, opset):
    """A model of one node. `inputs`: arrays; floats become inputs of the graph; None: left out."""
    names = ["" if x is None else f"x{k}" for k, x in enumerate(inputs)]
    made = [f"y{j}" for j in range(outputs)]
    given = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for name, x in zip(names, inputs)
        if x is not None and is_float(x)
    ]
    # Inputs that are not floats (axes, indices, shapes) are constants.
    constants = [numpy_helper.from_array(x, name) for name, x in zip(names, inputs) if x is not None and not is_float(x)]
    results = [helper.make_tensor_value_info(name, onnx.TensorProto.DOUBLE, None) for name in made]
    graph = helper.make_graph([helper.make_node(op, names, made, **attributes)], op, given, results, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def is_float(x):
    return x.dtype in (np.float64, np.float32)


def feeds_of(inputs):
    return {f"x{k}": x for k, x in enumerate(inputs) if x is not None and is_float(x)}


def central_differences(run, feeds, name, seeds):
    """The gradient of sum(output * seed) with respect to one input, element by element."""
    x = feeds[name]
    gradient = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        step = STEP * max(1.0, abs(x[at]))
        ends = []
        for sign in (1, -1):
            moved = x.copy()
            moved[at] += sign * step
            ends.append(sum(float((y * s).sum()) for y, s in zip(run({**feeds, name: moved}), seeds)))
        gradient[at] = (ends[0] - ends[1]) / (2 * step)
    return gradient


def check_gradient(model, feeds, rng, tolerance=SMOOTH, outputs=None):
    """All gradients of a model against central differences, with random seeds; the model with its gradient is valid.

    Feeds that are not floats stay constant.
    """
    by = [name for name, x in feeds.items() if is_float(x)]
    session = rondel.InferenceSession(model)
    names = [o.name for o in session.get_outputs()] if outputs is None else outputs
    run = lambda f: session.run(names, f)  # noqa: E731
    values = run(feeds)
    assert all(np.isfinite(y).all() for y in values), "a case with values that have no gradient"
    seeds = [rng.standard_normal(y.shape) for y in values]
    made = rondel.grad(model, wrt=by, outputs=names, seed=[f"seed_{n}" for n in names])
    onnx.checker.check_model(made, full_check=True)
    fed = {**feeds, **{f"seed_{n}": s for n, s in zip(names, seeds)}}
    got = rondel.InferenceSession(made.SerializeToString()).run([f"grad_{n}" for n in by], fed)
    for name, gradient in zip(by, got):
        want = central_differences(run, feeds, name, seeds)
        assert gradient.shape == want.shape and gradient.dtype == feeds[name].dtype
        scale = 1 + np.abs(want).max(initial=0)
        np.testing.assert_allclose(gradient / scale, want / scale, atol=tolerance, rtol=0, err_msg=name)
    return made, fed, got


def i64(*values):
    return np.array(values, np.int64)


class Case:
    """An op and its inputs: a shape stands for random float64 between `low` and `high`, an array for itself."""

    def __init__(self, op, *inputs, low=-2.0, high=2.0, outputs=1, opset=21, apart=None, **attributes):
        self.op, self.inputs, self.attributes = op, inputs, attributes
        self.low, self.high, self.outputs, self.opset, self.apart = low, high, outputs, opset, apart

    def draw(self, rng):
        drawn = []
        for x in self.inputs:
            if not isinstance(x, tuple):
                drawn.append(x)
                continue
            y = rng.uniform(self.low, self.high, x)
            if self.apart is not None:  # away from the kinks
                for kink in self.apart:
                    y = np.where(np.abs(y - kink) < 0.05, y + 0.1, y)
            drawn.append(y)
        return drawn

    def __repr__(self):
        shapes = ",".join(str(x if isinstance(x, tuple) else "None" if x is None else x.tolist()) for x in self.inputs)
        return f"{self.op}({shapes}){self.attributes or ''}".replace(" ", "")


A, B, V = (2, 3), (3,), (4,)
CASES = [
    *[Case(op, A) for op in "Neg Exp Sigmoid Tanh Erf Sin Cos Sinh Cosh Atan Asinh Softplus Softsign Mish".split()],
    *[Case(op, A, low=0.3, high=2.0) for op in ["Log", "Sqrt", "Reciprocal"]],
    *[Case(op, A, low=-0.9, high=0.9) for op in ["Asin", "Acos", "Atanh", "Tan"]],
    Case("Acosh", A, low=1.2, high=3.0),
    *[
        Case(op, A, apart=[0])
        for op in "Abs Relu LeakyRelu Elu Selu HardSwish Identity".split()
    ],
    *[Case(op, A, apart=[-2, -1, 0, 1, 2, -1.5, -0.5, 0.5, 1.5]) for op in ["Floor", "Ceil", "Round", "Sign"]],
    Case("HardSigmoid", A, apart=[-2.5, 2.5]),
    Case("ThresholdedRelu", A, apart=[1]),
    Case("Shrink", A, apart=[-0.5, 0.5], lambd=0.5, bias=0.2),
    Case("Gelu", A),
    Case("Gelu", A, approximate="tanh"),
    Case("PRelu", A, B, apart=[0]),
    Case("Clip", A, np.array(-1.0), np.array(1.0), apart=[-1, 1]),
    Case("Clip", A, (), apart=[0]),
    *[Case(op, a, b) for op in ["Add", "Sub", "Mul"] for a, b in [(A, A), (A, B), (B, A), ((), A), ((2, 1, 4), (3, 1))]],
    *[Case("Div", a, b, low=0.5) for a, b in [(A, A), (A, B), ((3, 1), (1, 4))]],
    *[Case("Pow", a, b, low=0.5) for a, b in [(A, A), (A, ()), ((), A)]],
    Case("Pow", A, np.array(3, np.int64)),
    Case("Mod", (5,), (), low=0.6, high=1.9, fmod=1),
    *[Case(op, A, B, (1,)) for op in ["Max", "Min", "Sum", "Mean"]],
    Case("Where", np.array([True, False, True]), A, B),
    Case("Reshape", A, i64(3, 2)),
    Case("Flatten", (2, 3, 4), axis=2),
    Case("Squeeze", (2, 1, 3), i64(1)),
    Case("Unsqueeze", A, i64(0, 3)),
    Case("Expand", (3, 1), i64(2, 1, 4)),
    Case("Transpose", (2, 3, 4), perm=[1, 2, 0]),
    Case("Transpose", A),
    Case("Tile", A, i64(2, 3)),
    Case("Concat", A, (2, 4), axis=1),
    Case("Concat", A, (1, 3), A, axis=-2),
    Case("Split", (6, 2), i64(1, 2, 3), outputs=3, axis=0),
    Case("Split", (2, 6), outputs=2, axis=1, num_outputs=2),
    Case("Slice", (5, 6), i64(1, -2), i64(4, -6), i64(0, 1), i64(1, -2)),
    Case("Slice", (5, 6), i64(1), i64(100), i64(1)),
    Case("Pad", A, i64(1, 0, 2, 1)),
    Case("Pad", A, i64(0, -1, 1, 0), ()),
    Case("Trilu", (4, 4), np.array(1, np.int64), upper=0),
    *[
        Case("CumSum", (3, 4), np.array(1, np.int64), exclusive=e, reverse=r)
        for e in (0, 1)
        for r in (0, 1)
    ],
    *[
        Case("CumProd", shape, np.array(axis, np.int64), opset=26, exclusive=e, reverse=r)
        for shape, axis in [((3, 4), 1), ((2, 3, 2), -2), ((4,), 0)]
        for e in (0, 1)
        for r in (0, 1)
    ],
    *[
        Case("CumProd", np.array([[0.5, 0.0, 2, 3], [0, 1, 0, 2], [0, 0, 0, 0]]), np.array(1, np.int64), opset=26, exclusive=e, reverse=r)
        for e in (0, 1)
        for r in (0, 1)
    ],
    Case("Unique", (3, 4), outputs=1),
    Case("Unique", (4, 3), outputs=1, axis=0),
    Case("Unique", (2, 4), outputs=1, axis=-1, sorted=0),
    Case("Gather", (4, 3), i64(0, 2, 2, -1)),
    Case("Gather", (3, 4), np.array([[1, 1], [0, -4]]), axis=1),
    Case("GatherElements", (3, 4), np.array([[0, 1, 1], [2, 2, -1]]), axis=1),
    Case("GatherND", (3, 4), np.array([[0, 1], [2, 3], [0, 1]])),
    Case("GatherND", (2, 3, 4), np.array([[[0], [2], [-1]], [[1], [1], [0]]]), batch_dims=1),
    Case("GatherND", (2, 3, 4), np.array([[[0], [2], [-1]], [[1], [1], [0]]]), batch_dims=2),
    Case("GatherND", (2, 3, 4), np.array([[1, 3], [0, 0]]), batch_dims=1),
    *[
        Case(op, *inputs, opset=18, reduction=how, **more)
        for how in ("mul", "max", "min")
        for op, inputs, more in [
            ("ScatterElements", [(3, 4), np.array([[0, 1], [0, -1]]), (2, 2)], dict(axis=0)),
            ("ScatterElements", [(2, 3), np.array([[1, 1, 1, 0]]), (1, 4)], dict(axis=1)),
            ("ScatterND", [(4, 3), np.array([[0], [2], [0]]), (3, 3)], {}),
            ("ScatterND", [(2, 3), np.array([[[0, 1], [1, 2]], [[0, 1], [0, 1]]]), (2, 2)], {}),
        ]
    ],
    *[
        Case(op, np.array([2.0, 0, 3, 0]), i64(*[0, 1, 1, 2, 2]).reshape(indices), np.array([0.0, 2, 3, 0, 0]), opset=18, reduction="mul")
        for op, indices in [("ScatterElements", (5,)), ("ScatterND", (5, 1))]
    ],
    Case("ScatterElements", (3, 4), np.array([[0, 1], [2, 0]]), (2, 2), axis=0),
    Case("ScatterElements", (3, 4), np.array([[0, 1], [0, 1]]), (2, 2), axis=0, reduction="add"),
    Case("ScatterND", (4, 3), np.array([[0], [2]]), (2, 3)),
    Case("ScatterND", (4, 3), np.array([[0], [0]]), (2, 3), reduction="add"),
    *[
        Case("MatMul", a, b)
        for a, b in [
            ((2, 3), (3, 4)),
            ((3,), (3, 4)),
            ((2, 3), (3,)),
            ((3,), (3,)),
            ((2, 2, 3), (3, 4)),
            ((2, 2, 3), (2, 3, 4)),
            ((2, 1, 2, 3), (3, 3, 2)),
        ]
    ],
    Case("Gemm", (2, 3), (4, 3), (4,), transB=1, alpha=0.5, beta=2.0),
    Case("Gemm", (3, 2), (3, 4), transA=1),
    *[
        Case("Einsum", *shapes, equation=equation)
        for equation, shapes in [
            ("ij,jk->ik", [(2, 3), (3, 4)]),
            ("bij,bjk->bik", [(2, 2, 3), (2, 3, 2)]),
            ("ii->i", [(3, 3)]),
            ("ij->", [(2, 3)]),
            ("i,j->ij", [(2,), (3,)]),
            ("...ij,j", [(2, 2, 3), (3,)]),
        ]
    ],
    *[
        Case(op, (2, 3, 4), axes, keepdims=keep)
        for op in "ReduceSum ReduceMean ReduceSumSquare ReduceL2 ReduceLogSumExp ReduceProd ReduceMax ReduceMin".split()
        for axes in [i64(1), i64(0, -1)]
        for keep in (0, 1)
    ],
    Case("ReduceSum", A, keepdims=0),
    Case("ReduceL1", (2, 3), i64(1), apart=[0]),
    Case("ReduceLogSum", (2, 3), i64(1), low=0.5),
    *[Case(op, (2, 4), axis=axis) for op in ["Softmax", "LogSoftmax"] for axis in (0, 1)],
    Case("LayerNormalization", (2, 3, 4), (4,), (4,), axis=-1),
    Case("RMSNormalization", (2, 4), (4,), axis=-1, opset=23),
    Case("GroupNormalization", (2, 4, 3), (4,), (4,), num_groups=2),
    Case("LpNormalization", (2, 4), axis=1, p=2),
    Case("GlobalAveragePool", (2, 3, 4, 2)),
    Case("GlobalMaxPool", (2, 3, 4, 2)),
    Case("Conv", (2, 3, 5), (4, 3, 2)),
    Case("Conv", (2, 2, 6, 5), (3, 2, 3, 2), (3,), strides=[2, 1], pads=[1, 0, 2, 1]),
    Case("Conv", (1, 4, 7, 6), (6, 2, 2, 3), (6,), group=2, dilations=[2, 1], strides=[1, 2]),
    Case("Conv", (2, 3, 4, 4), (3, 1, 3, 3), group=3, auto_pad="SAME_UPPER", strides=[2, 2]),
    Case("Conv", (1, 2, 5, 4), (2, 2, 2, 1), auto_pad="SAME_LOWER"),
    Case("Conv", (1, 2, 3, 3), (2, 2, 1, 1), pads=[2, 2, 2, 2]),
    Case("Conv", (1, 1, 4, 3, 3), (2, 1, 2, 2, 2), auto_pad="VALID", dilations=[3, 1, 1]),
    Case("MaxPool", (2, 2, 6), kernel_shape=[3], strides=[1]),
    Case("MaxPool", (1, 2, 5, 6), kernel_shape=[2, 3], strides=[2, 2], pads=[1, 1, 0, 1]),
    Case("MaxPool", (1, 2, 5, 5), kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1, dilations=[2, 1]),
    Case("MaxPool", (1, 2, 2, 2), kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1),
    Case("AveragePool", (1, 2, 2, 3), kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1),
    Case("AveragePool", (1, 2, 2, 3), kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1, count_include_pad=1),
    Case("LpPool", (1, 2, 2), opset=22, kernel_shape=[3], strides=[2], ceil_mode=1, p=3),
    Case("AveragePool", (2, 2, 6), kernel_shape=[3], strides=[2]),
    Case("AveragePool", (1, 2, 5, 6), kernel_shape=[2, 3], strides=[2, 2], pads=[1, 1, 0, 1]),
    Case("AveragePool", (1, 2, 5, 6), kernel_shape=[2, 3], pads=[1, 1, 0, 1], count_include_pad=1, dilations=[1, 2]),
    Case("AveragePool", (1, 3, 4, 4), kernel_shape=[3, 3], auto_pad="SAME_UPPER", strides=[2, 2]),
    *[
        Case("AveragePool", (2, 2, 6, 7), ceil_mode=1, count_include_pad=include, kernel_shape=[3, 2], **how)
        for include in (0, 1)
        for how in [
            dict(strides=[2, 2]),
            dict(strides=[2, 3], pads=[1, 0, 1, 1]),
            dict(strides=[3, 3], pads=[0, 1, 0, 0]),
            dict(strides=[2, 2], dilations=[2, 1]),
        ]
    ],
    Case("BatchNormalization", (2, 3, 4), (3,), (3,), (3,), (3,), low=0.3, epsilon=0.01),
    Case("BatchNormalization", (4, 2), (2,), (2,), (2,), (2,), low=0.3),
    Case("BatchNormalization", (2, 3, 4), (3,), (3,), (3,), (3,), low=0.3, outputs=3, epsilon=0.01, momentum=0.8, training_mode=1),
    Case("BatchNormalization", (4, 2), (2,), (2,), (2,), (2,), low=0.3, training_mode=1),
    Case("BatchNormalization", (2, 2, 3, 2), (2,), (2,), (2,), (2,), low=0.3, outputs=3, opset=14, training_mode=1),
    Case("BatchNormalization", (2, 3, 4), (3,), (3,), (3,), (3,), low=0.3, outputs=3, opset=9, momentum=0.8),
    *[Case("Dropout", (5, 4), np.array(0.4), np.array(mode), opset=o, seed=3) for mode in (True, False) for o in (12, 13, 22)],
    Case("Dropout", (5, 4), None, np.array(True)),
    Case("Dropout", (5, 4)),
    Case("InstanceNormalization", (2, 3, 4, 2), (3,), (3,), epsilon=0.01),
    Case("Compress", (3, 4), np.array([True, False, True]), axis=0),
    Case("Compress", (2, 3), np.array([False, True, True, False, True])),
    Case("ReverseSequence", (4, 3), i64(2, 0, 4), batch_axis=1, time_axis=0),
    *[
        Case("TensorScatter", (2, 5, 3), (2, 2, 3), at, opset=24, axis=1, mode=mode)
        for at, mode in [(None, "linear"), (i64(3, 1), "linear"), (i64(4, 1), "circular")]
    ],
    Case("MaxUnpool", (1, 2, 2, 2), np.array([[[[1, 3], [14, 8]], [[16, 22], [28, 31]]]]), kernel_shape=[2, 2], strides=[2, 2]),
    Case("LpPool", (2, 2, 7), opset=22, kernel_shape=[3], p=1),
    Case("LpPool", (1, 2, 5, 6), opset=22, kernel_shape=[2, 3], strides=[2, 2], pads=[1, 0, 0, 1], p=2),
    Case("LpPool", (1, 2, 6), opset=22, kernel_shape=[3], strides=[2], ceil_mode=1, p=3),
    Case("DFT", (2, 6, 1), opset=20),
    Case("DFT", (2, 5, 1), opset=20, onesided=1),
    Case("DFT", (1, 4, 3, 2), np.array(6), np.array(1), opset=20),
    Case("DFT", (2, 5, 2), np.array(4), opset=20, inverse=1),
    Case("DFT", (2, 4, 2), opset=20, inverse=1, onesided=1),
    Case("DFT", (2, 4, 2), np.array(7), opset=20, inverse=1, onesided=1),
    Case("STFT", (2, 12, 1), np.array(3), (6,), opset=17),
    Case("Det", (3, 3)),
    Case("Det", (2, 2, 4, 4), opset=22),
    Case("Det", np.array([[1.0, 2, 3], [2, 4, 6], [0, 1, 5]])),
    Case("LRN", (2, 5, 3), size=3, alpha=0.5, beta=0.6, bias=1.5),
    Case("LRN", (2, 4), size=4, alpha=0.7),
    *[Case("GlobalLpPool", (2, 3, 4, 2), apart=[0], p=p) for p in (1, 2, 3)],
    Case("Col2Im", (2, 8, 4), i64(3, 3), i64(2, 2), opset=18),
    Case("Col2Im", (1, 6, 6), i64(4, 5), i64(3, 2), opset=18, strides=[2, 2], pads=[1, 1, 0, 1], dilations=[1, 2]),
    Case("ConvTranspose", (2, 3, 4), (3, 2, 3)),
    Case("ConvTranspose", (2, 2, 3, 4), (2, 3, 3, 2), (3,), strides=[2, 1], pads=[1, 0, 2, 1]),
    Case("ConvTranspose", (1, 4, 3, 3), (4, 2, 2, 3), (4,), group=2, dilations=[2, 1], strides=[1, 2], output_padding=[0, 1]),
    Case("ConvTranspose", (1, 2, 3, 3), (2, 2, 3, 3), auto_pad="SAME_UPPER", strides=[2, 2]),
    Case("ConvTranspose", (1, 2, 3), (2, 2, 3), strides=[2], output_shape=[6]),
    *[
        Case("Resize", (1, 2, 4, 5), None, None, i64(1, 2, 6, 3), opset=19, mode=mode, **how)
        for mode in ("nearest", "linear", "cubic")
        for how in [{}, dict(coordinate_transformation_mode="align_corners")]
    ],
    Case("Resize", (1, 1, 6, 4), None, None, i64(1, 1, 3, 4), opset=19, mode="linear", antialias=1),
    Case("AffineGrid", (1, 2, 3), i64(1, 1, 3, 2), opset=20),
    Case("AffineGrid", (2, 3, 4), i64(2, 1, 2, 3, 2), opset=20, align_corners=1),
    *[
        Case("GridSample", (2, 2, 4, 5), (2, 3, 2, 2), opset=20, mode=mode, padding_mode=padding, align_corners=aligned)
        for mode in ("linear", "nearest", "cubic")
        for padding, aligned in [("zeros", 0), ("border", 1), ("reflection", 0)]
    ],
    *[Case("Pad", (3, 4), i64(1, 2, 2, 1), mode=mode) for mode in ["reflect", "edge", "wrap"]],
    Case("Pad", (3, 4), i64(2, 0), None, i64(1), mode="reflect"),
]


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_ops_against_central_differences(case):
    rng = np.random.default_rng(len(repr(case)))
    inputs = case.draw(rng)
    model = model_of(case.op, inputs, case.attributes, case.outputs, case.opset)
    made, feeds, got = check_gradient(model.SerializeToString(), feeds_of(inputs), rng)
    # onnx's reference evaluator computes Erf and DFT in float32.
    accurate = not any(node.op_type in ("DFT", "Erf") for node in made.graph.node)
    for g, w in zip(got, elsewhere(made, feeds)[-len(got) :]):
        np.testing.assert_allclose(g, w, rtol=1e-9 if accurate else 1e-6, atol=1e-12)


def test_windows_over_extents_of_the_run():
    """A small network as in a training step: convolution, batch normalization, pooling; the extents are known at run time."""
    model = parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 21]>
        f (double[N,2,H,W] x, double[3,2,3,3] w, double[3] b, double[3] scale, double[3] shift, double[3] mean, double[3] var)
          => (double[N,K] top, double[N,3,P,Q] mean_of_parts) <int64[1] k = {3}> {
          c = Conv <pads = [1, 0, 1, 2], strides = [2, 1]> (x, w, b)
          n = BatchNormalization <epsilon = 0.01> (c, scale, shift, mean, var)
          t = Tanh (n)
          m = MaxPool <kernel_shape = [2, 2]> (t)
          f = Flatten (m)
          top, at = TopK (f, k)
          mean_of_parts = AveragePool <kernel_shape = [2, 1], strides = [2, 1], pads = [0, 0, 1, 0]> (t) }""")
    rng = np.random.default_rng(2)
    for rows, height, width in [(2, 7, 4), (1, 6, 5)]:
        shapes = {"x": (rows, 2, height, width), "w": (3, 2, 3, 3), "b": (3,), "scale": (3,), "shift": (3,), "mean": (3,)}
        feeds = {name: rng.standard_normal(shape) for name, shape in shapes.items()} | {"var": rng.uniform(0.5, 2, 3)}
        check_gradient(model.SerializeToString(), feeds, rng)


@pytest.mark.parametrize("pad", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize("extents", [(6, 7), (5, 4), (1, 9)])
@pytest.mark.parametrize("known", [True, False])
def test_same_padding(pad, extents, known):
    declared = ",".join(map(str, extents)) if known else "H,W"
    model = parser.parse_model(f"""
        <ir_version: 10, opset_import: ["" : 21]>
        f (double[N,2,{declared}] x, double[4,1,3,2] w) => (double[N,4,P,Q] c, double[N,2,R,S] m, double[N,2,T,U] a, double[N,2,V,X] i) {{
          c = Conv <auto_pad = "{pad}", strides = [2, 3], group = 2> (x, w)
          m = MaxPool <auto_pad = "{pad}", kernel_shape = [3, 2], strides = [2, 1]> (x)
          a = AveragePool <auto_pad = "{pad}", kernel_shape = [3, 2], strides = [2, 2]> (x)
          i = AveragePool <auto_pad = "{pad}", kernel_shape = [2, 3], strides = [1, 2], count_include_pad = 1, ceil_mode = 1> (x) }}""")
    rng = np.random.default_rng(extents[0])
    feeds = {"x": rng.standard_normal((2, 2, *extents)), "w": rng.standard_normal((4, 1, 3, 2))}
    check_gradient(model.SerializeToString(), feeds, rng)


@pytest.mark.parametrize("include", [0, 1])
@pytest.mark.parametrize("how", ["strides = [2, 3], pads = [1, 0, 1, 1]", 'strides = [4, 4], auto_pad = "VALID"'])
def test_average_pooling_rounded_up_over_extents_of_the_run(how, include):
    model = parser.parse_model(f"""
        <ir_version: 10, opset_import: ["" : 22]>
        f (double[N,C,H,W] x) => (double[N,C,P,Q] y) {{
          y = AveragePool <kernel_shape = [3, 2], {how}, ceil_mode = 1, count_include_pad = {include}> (x) }}""")
    rng = np.random.default_rng(5)
    for extents in [(6, 7), (5, 4), (4, 5)]:
        check_gradient(model.SerializeToString(), {"x": rng.standard_normal((2, 1, *extents))}, rng)


RUN_TELLS = {
    "the axes of a slice": (
        "f (double[3,4] x, int64[K] starts, int64[K] ends, int64[K] axes, int64[K] steps) => (double[A,B] y) { y = Slice (x, starts, ends, axes, steps) }",
        [dict(x=(3, 4), starts=[1], ends=[9], axes=[1], steps=[2]), dict(x=(3, 4), starts=[-1, 0], ends=[-9, 2], axes=[-2, 1], steps=[-1, 1])],
    ),
    "the rank and the axes of a slice": (
        """f (double[3,4] x, int64[R] shape, int64[1] start, int64[1] end) => (double[] y) {
             r = Reshape (x, shape)  y = Slice (r, start, end) }""",
        [dict(x=(3, 4), shape=[3, 4], start=[1], end=[3]), dict(x=(3, 4), shape=[2, 2, 3], start=[-1], end=[9])],
    ),
    "the axis of products": (
        "f (double[3,4] x, int64 axis) => (double[3,4] y) { y = CumProd <exclusive = 1> (x, axis) }",
        [dict(x=(3, 4), axis=0), dict(x=(3, 4), axis=1), dict(x=(3, 4), axis=-1), dict(x=(3, 4), axis=-2)],
    ),
    "the rank of what products run over": (
        """f (double[3,4] x, int64[R] shape, int64 axis) => (double[] y) {
             r = Reshape (x, shape)  y = CumProd (r, axis) }""",
        [dict(x=(3, 4), shape=[12], axis=0), dict(x=(3, 4), shape=[2, 3, 2], axis=1)],
    ),
    "the batch extents of a gather": (
        "f (double[N,M,4] x, int64[N,M,K,1] at) => (double[N,M,K] y) { y = GatherND <batch_dims = 2> (x, at) }",
        [dict(x=(2, 1, 4), at=[[[[3], [3]]], [[[0], [-1]]]])],
    ),
    **{
        f"the rank of what axis {axis} is gathered of": (
            f"""f (double[12] x, int64[R] shape, int64[A,B] at) => (double[] y) {{
                 r = Reshape (x, shape)  g = Gather <axis = {axis}> (r, at)  y = Sin (g) }}""",
            [dict(x=(12,), shape=shape, at=[[0, 1, -1, 0]]) for shape in ([2, 6], [3, 2, 2], [2, 3, 1, 2], *([[12]] if axis == 0 else []))],
        )
        for axis in (0, 1)
    },
    **{
        f"how much {mode} repeats": (
            f'f (double[3,N] x, int64[P] pads, int64[A] axes) => (double[B,C] y) {{ p = Pad <mode = "{mode}"> (x, pads, , axes)  y = Sin (p) }}',
            [dict(x=(3, 4), pads=[1, 2], axes=[-1]), dict(x=(3, 2), pads=[1, 0, 2, 1], axes=[0, 1])],
        )
        for mode in ["reflect", "edge", "wrap"]
    },
    "the rank of what is repeated": (
        """f (double[12] x, int64[R] shape, int64[R] times) => (double[] y) {
             r = Reshape (x, shape)  t = Tile (r, times)  y = Sin (t) }""",
        [dict(x=(12,), shape=[12], times=[2]), dict(x=(12,), shape=[2, 3, 2], times=[1, 2, 3])],
    ),
    "the rank of what is normalized": (
        """f (double[12] x, int64[R] shape, double[2] scale, double[2] shift, double[2] mean, double[2] var) => (double[] y) {
             r = Reshape (x, shape)  n = BatchNormalization (r, scale, shift, mean, var)  y = InstanceNormalization (n, scale, shift) }""",
        [dict(x=(12,), scale=(2,), shift=(2,), mean=(2,), var=(2,), shape=shape) for shape in ([2, 2, 3], [1, 2, 3, 2])],
    ),
    "the ranks of a product": (
        """f (double[N] x, double[M] w, int64[R] left, int64[S] right) => (double[] y) {
             a = Reshape (x, left)  b = Reshape (w, right)  c = MatMul (a, b)  y = Sin (c) }""",
        [
            dict(x=(int(np.prod(left)),), w=(int(np.prod(right)),), left=left, right=right)
            for left, right in [
                ([12], [12]), ([3, 4], [4, 3]), ([12], [12, 1]), ([1, 12], [12]), ([2, 2, 3], [3, 4]), ([2, 6], [2, 6, 1]),
                ([2, 2, 3], [2, 3, 2]), ([4], [3, 4, 1]), ([3, 1, 4], [4]), ([3, 1, 2, 2], [1, 3, 2, 2]),
            ]
        ],
    ),
    "extents of a batch in training": (
        """f (double[N,C,H] x, double[C] scale, double[C] shift, double[C] mean, double[C] var) => (double[N,C,H] y, double[C] m, double[C] v) {
             y, m, v = BatchNormalization <training_mode = 1> (x, scale, shift, mean, var) }""",
        [dict(x=(2, 3, 4), scale=(3,), shift=(3,), mean=(3,), var=(3,)), dict(x=(3, 1, 2), scale=(1,), shift=(1,), mean=(1,), var=(1,))],
    ),
    "the rank of a batch in training": (
        """f (double[12] x, int64[R] shape, double[2] scale, double[2] shift, double[2] mean, double[2] var) => (double[] y, double[2] m, double[2] v) {
             r = Reshape (x, shape)  y, m, v = BatchNormalization <training_mode = 1> (r, scale, shift, mean, var) }""",
        [dict(x=(12,), scale=(2,), shift=(2,), mean=(2,), var=(2,), shape=shape) for shape in ([6, 2], [2, 2, 3], [1, 2, 3, 2])],
    ),
    "whether to drop out, and how much": (
        "f (double[5,3] x, double ratio, bool training) => (double[5,3] y) { y = Dropout (x, ratio, training) }",
        [dict(x=(5, 3), ratio=np.array(r), training=t) for t in (True, False) for r in (0.0, 0.3, 0.9)],
    ),
}


def dequantizing(x_type, scale_type, zero_type, how="", opset=25, result="float"):
    zero, given = (", zero", f", {zero_type} zero") if zero_type else ("", "")
    return f"""<ir_version: 10, opset_import: ["" : {opset}]>
        f ({x_type} x, {scale_type} scale{given}) => ({result}[] y) {{ y = DequantizeLinear {how} (x, scale{zero}) }}"""


def u8(*values):
    return np.array(values, np.uint8)


#: (model, x, shape of the scale, zero point)
SCALED = {
    "one scale": (dequantizing("int8[3,4]", "float", ""), np.arange(-6, 6, dtype=np.int8).reshape(3, 4), (), None),
    "one scale in a list": (dequantizing("uint8[A,B]", "float[1]", "uint8[1]"), u8(*range(12)).reshape(3, 4), (1,), u8(3)),
    "along the last axis": (dequantizing("uint8[3,4]", "float[4]", "uint8[4]"), u8(*range(12)).reshape(3, 4), (4,), u8(3, 0, 1, 2)),
    "along an axis of the middle": (
        dequantizing("uint8[2,3,B]", "float[3]", "uint8[3]", "<axis = -2>"), u8(*range(24)).reshape(2, 3, 4), (3,), u8(3, 0, 1)
    ),
    "along an axis, by the run": (dequantizing("uint8[2,B]", "float[N]", "uint8[N]"), u8(*range(6)).reshape(2, 3), (3,), u8(2, 0, 1)),
    "one scale, by the run": (dequantizing("uint8[2,B]", "float[N]", "uint8[N]"), u8(*range(6)).reshape(2, 3), (1,), u8(2)),
    "of a list": (dequantizing("int32[5]", "float[5]", "", "<axis = 0>"), np.arange(5, dtype=np.int32), (5,), None),
    "in blocks": (
        dequantizing("uint8[2,7]", "float[2,3]", "uint8[2,3]", "<axis = 1, block_size = 3>"), u8(*range(14)).reshape(2, 7), (2, 3), u8(*range(6)).reshape(2, 3)
    ),
    "in blocks, by the run": (
        dequantizing("uint8[A,B]", "float[C,D]", "uint8[C,D]", "<axis = -2, block_size = 2>"), u8(*range(14)).reshape(7, 2), (4, 2), u8(*range(8)).reshape(4, 2)
    ),
    "narrow results": (
        dequantizing("uint8[3,4]", "float[4]", "", "<output_dtype = 10>", result="float16"), u8(*range(12)).reshape(3, 4), (4,), None
    ),
}


@pytest.mark.parametrize("case", SCALED.values(), ids=SCALED)
def test_a_scale_gets_the_sum_over_what_it_scales(case):
    """The result is linear in the scales: the derivative with respect to one scale is the result with this scale 1 and all others 0."""
    text, x, shape, zero = case
    model = parser.parse_model(text)
    rng = np.random.default_rng(len(text))
    fixed = {"x": x} | ({} if zero is None else {"zero": zero.reshape(shape)})
    forward = rondel.InferenceSession(model.SerializeToString())
    y = forward.run(None, fixed | {"scale": np.ones(shape, np.float32)})[0]
    seed = rng.integers(-8, 9, y.shape).astype(y.dtype)
    made = rondel.grad(model, wrt="scale", outputs="y", seed="dy")
    onnx.checker.check_model(made, full_check=True)
    feeds = fixed | {"scale": rng.uniform(0.5, 2, shape).astype(np.float32), "dy": seed}
    (got,) = rondel.InferenceSession(made.SerializeToString()).run(["grad_scale"], feeds)
    want = np.zeros(shape)
    for at in np.ndindex(shape):
        basis = np.zeros(shape, np.float32)
        basis[at] = 1
        want[at] = (forward.run(None, fixed | {"scale": basis})[0].astype(np.float64) * seed).sum()
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(elsewhere(made, feeds)[-1], want)


@pytest.mark.parametrize("opset", [13, 15])
def test_batch_normalization_in_training_follows_its_definition(opset):
    model = parser.parse_model(f"""
        <ir_version: 8, opset_import: ["" : {opset}]>
        f (double[N,3,H] x, double[3] scale, double[3] shift, double[3] mean, double[3] var) => (double[N,3,H] y, double[3] m, double[3] v) {{
          y, m, v = BatchNormalization <epsilon = 0.01, momentum = 0.75 {", training_mode = 1" if opset > 13 else ""}> (x, scale, shift, mean, var) }}""")
    rng = np.random.default_rng(opset)
    feeds = {"x": rng.standard_normal((4, 3, 5))} | {n: rng.uniform(0.5, 2, 3) for n in ("scale", "shift", "mean", "var")}
    along = lambda v: v[:, None]  # noqa: E731
    mean, var = feeds["x"].mean((0, 2)), feeds["x"].var((0, 2))
    normal = (feeds["x"] - along(mean)) / np.sqrt(along(var) + np.float64(np.float32(0.01)))
    want = [normal * along(feeds["scale"]) + along(feeds["shift"]), 0.75 * feeds["mean"] + 0.25 * mean, 0.75 * feeds["var"] + 0.25 * var]
    written = rondel.export(model.SerializeToString(), compiled=True)
    for got in (
        rondel.InferenceSession(model.SerializeToString()).run(None, feeds),
        rondel.InferenceSession(rondel.export(model.SerializeToString())).run(None, feeds),
        elsewhere(onnx.load_from_string(written), feeds),
    ):
        for g, w in zip(got, want, strict=True):
            np.testing.assert_allclose(g, w, rtol=1e-12)


def test_dropout_keeps_the_mean_and_tells_what_it_keeps():
    model = parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 17]>
        f (float[N] x, float ratio, bool training) => (float[N] y, bool[N] mask) { y, mask = Dropout (x, ratio, training) }""")
    x = np.arange(1, 4001, dtype=np.float32)
    session = rondel.InferenceSession(model.SerializeToString())
    given = lambda ratio, training: {"x": x, "ratio": np.float32(ratio), "training": np.array(training)}  # noqa: E731
    y, mask = session.run(None, given(0.25, True))
    np.testing.assert_allclose(y, np.where(mask, x / 0.75, 0), rtol=1e-6)
    assert 0.7 < mask.mean() < 0.8
    for training, ratio in [(False, 0.25), (True, 0)]:
        y, mask = session.run(None, given(ratio, training))
        np.testing.assert_array_equal(y, x)
        assert mask.all()
    y, mask = session.run(None, given(1, True))
    assert not y.any() and not mask.any()
    other = rondel.RunOptions()
    other.seed = 5
    a, b, c = (session.run(None, given(0.25, True), options)[1] for options in (None, None, other))
    assert (a == b).all() and (a != c).any()


MASKED_LOOP = """
    <ir_version: 10, opset_import: ["" : 21]>
    f (double[3] x) => (double[3] y, bool[k,3] masks) <int64 n = {6}, double ratio = {0.5}, bool yes = {1}> {
      y, masks = Loop (n, , x) <body = b (int64 i, bool c, double[3] s) => (bool d, double[3] t, bool[3] m) {
        d = Identity (c)  p, m = Dropout (s, ratio, yes)  q = Add (p, s)  t = Sin (q) }> }"""


def test_the_mask_of_a_trip_is_that_of_its_gradient():
    """Each trip draws its own mask; the reverse loop uses the masks of the forward loop."""
    model = parser.parse_model(MASKED_LOOP)
    rng = np.random.default_rng(4)
    feeds = {"x": rng.uniform(0.3, 1.2, 3)}
    made, fed, got = check_gradient(model.SerializeToString(), feeds, rng, outputs=["y"])
    masks = rondel.InferenceSession(model.SerializeToString()).run(["masks"], feeds)[0]
    assert len({m.tobytes() for m in masks}) > 1
    adjoint, s = fed["seed_y"], feeds["x"]
    states = []
    for mask in masks:
        states.append(s)
        s = np.sin(s + 2 * mask * s)
    for mask, s in zip(masks[::-1], states[::-1]):
        adjoint = adjoint * np.cos(s + 2 * mask * s) * (1 + 2 * mask)
    np.testing.assert_allclose(got[0], adjoint, rtol=1e-12)
    # With checkpoints, a segment that is recomputed draws the same masks.
    cut = rondel.grad(model.SerializeToString(), wrt="x", outputs=["y"], seed=["seed_y"], checkpoint=2)
    np.testing.assert_allclose(rondel.InferenceSession(cut.SerializeToString()).run(["grad_x"], fed)[0], got[0], rtol=1e-12)
    # With another seed of the run, both loops draw other masks.
    run = rondel.InferenceSession(made.SerializeToString())
    (other,) = run.run(["grad_x"], fed | {"seed": np.array(9, np.uint64)})
    assert (other != got[0]).any()
    np.testing.assert_allclose(elsewhere(made, fed | {"seed": np.array(9, np.uint64)})[-1], other, rtol=1e-12)


def test_nothing_flows_through_draws():
    model = parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 21]>
        f (double[3] x) => (double[3] y, double[3] u) {
          u = RandomUniformLike (x)  n = RandomNormalLike (x)  p = Mul (x, u)  y = Add (p, n) }""")
    x = np.array([0.5, 1, 2])
    made = rondel.grad(model, wrt="x", outputs="y")
    u, gx = rondel.InferenceSession(made.SerializeToString()).run(["u", "grad_x"], {"x": x})
    np.testing.assert_array_equal(gx, u)


@pytest.mark.parametrize("op, at", [("ScatterElements <axis = 0>", "int64[4] {0, 2, -4, 2}"), ("ScatterND", "int64[4,1] {0, 2, -4, 2}")])
def test_of_several_updates_at_a_place_the_last_one_stays(op, at):
    kind, values = at.split(" ", 1)
    model = parser.parse_model(f"""
        <ir_version: 10, opset_import: ["" : 21]>
        f (double[4] x, double[4] u) => (double[4] y) <{kind} at = {values}> {{ y = {op} (x, at, u) }}""")
    rng = np.random.default_rng(6)
    _, fed, got = check_gradient(model.SerializeToString(), {"x": rng.standard_normal(4), "u": rng.standard_normal(4)}, rng)
    dy = fed["seed_y"]
    np.testing.assert_array_equal(got[0], [0, dy[1], 0, dy[3]])
    np.testing.assert_array_equal(got[1], [0, 0, dy[0], dy[2]])


@pytest.mark.parametrize("p", [1, 2])
def test_a_row_of_zeros_that_is_normalized_gets_zeros(p):
    model = parser.parse_model(f"""
        <ir_version: 10, opset_import: ["" : 21]>
        f (double[2,3] x) => (double[2,3] y) {{ y = LpNormalization <axis = 1, p = {p}> (x) }}""")
    made = rondel.grad(model, wrt="x", outputs="y", seed="dy")
    feeds = {"x": np.array([[0.0, 0, 0], [1, 2, 2]]), "dy": np.array([[1.0, 2, 3], [1, 2, 3]])}
    (gx,) = rondel.InferenceSession(made.SerializeToString()).run(["grad_x"], feeds)
    np.testing.assert_array_equal(gx[0], np.zeros(3))
    assert np.isfinite(gx).all() and gx[1].any()


def test_equal_elements_of_unique_give_to_the_first():
    model = parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 21]>
        f (double[5] x) => (double[k] y) { y = Unique (x) }""")
    made = rondel.grad(model, wrt="x", outputs="y", seed="dy")
    feeds = {"x": np.array([3.0, 1, 3, 2, 1]), "dy": np.array([10.0, 20, 30])}
    (gx,) = rondel.InferenceSession(made.SerializeToString()).run(["grad_x"], feeds)
    np.testing.assert_array_equal(gx, [30, 10, 0, 20, 0])


@pytest.mark.parametrize("shapes", [((4,), (2,)), ((2, 4), (3,)), ((2, 3, 4), (2, 2))])
def test_features_that_are_extracted(shapes):
    model = parser.parse_model(f"""
        <ir_version: 10, opset_import: ["" : 21, "ai.onnx.ml" : 3]>
        f (double{list(shapes[0])} x, int64{list(shapes[1])} at) => (double[] y) {{ y = ai.onnx.ml.ArrayFeatureExtractor (x, at) }}""")
    rng = np.random.default_rng(3)
    check_gradient(model.SerializeToString(), {"x": rng.standard_normal(shapes[0]), "at": rng.integers(0, 4, shapes[1])}, rng)


@pytest.mark.parametrize("name", RUN_TELLS)
def test_what_only_the_run_tells(name):
    text, runs = RUN_TELLS[name]
    model = parser.parse_model(f'<ir_version: 10, opset_import: ["" : 26]> {text}')
    dtypes = {i.name: helper.tensor_dtype_to_np_dtype(i.type.tensor_type.elem_type) for i in model.graph.input}
    rng = np.random.default_rng(3)
    for given in runs:
        feeds = {n: rng.uniform(0.3, 2, v) if isinstance(v, tuple) else np.array(v, dtypes[n]) for n, v in given.items()}
        check_gradient(model.SerializeToString(), feeds, rng)


@pytest.mark.parametrize("equation", ["...ij->...ji", "...ij->j...i", "i...->...i", "ji", "kij->jki", "...->..."])
def test_axes_of_a_tensor_without_rank_are_exchanged(equation):
    model = parser.parse_model(f"""
        <ir_version: 10, opset_import: ["" : 21]>
        f (double[] x) => (double[] y) {{ t = Einsum <equation = "{equation}"> (x)  y = Tanh (t) }}""")
    rng = np.random.default_rng(4)
    axes = len(equation.split("->")[0].replace("...", ""))
    for rank in [axes, axes + 2] if "." in equation else [axes]:
        feeds = {"x": rng.standard_normal((2, 3, 4, 2)[:rank])}
        made, fed, (gradient,) = check_gradient(model.SerializeToString(), feeds, rng)
        direction = rng.standard_normal(feeds["x"].shape)
        along = rondel.InferenceSession(rondel.jvp(model, ["x"]).SerializeToString())
        (tangent,) = along.run(["tangent_y"], feeds | {"tangent_x": direction})
        np.testing.assert_allclose((tangent * fed["seed_y"]).sum(), (gradient * direction).sum(), rtol=1e-10)


def test_a_sum_over_a_tensor_without_rank_has_no_gradient():
    model = parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 21]>
        f (double[] x) => (double[] y) { y = Einsum <equation = "...ij->...i"> (x) }""")
    with pytest.raises(rondel.UnsupportedError, match="unknown rank"):
        rondel.grad(model, ["x"], ["y"], ["dy"])


def elsewhere(model, feeds):
    """The outputs in ONNX Runtime, or in onnx's reference evaluator if ONNX Runtime lacks a kernel."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    except Exception as error:  # several exception types
        if "NOT_IMPLEMENTED" not in str(error):
            raise
        return ReferenceEvaluator(model).run(None, feeds)
    return session.run(None, feeds)


def test_celu_is_smooth_at_zero():
    model = parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 21]>
        f (float[5] x) => (float y) { c = Celu <alpha = 0.5> (x)  y = ReduceSum <keepdims = 0> (c) }""")
    x = np.array([-3, -0.5, 0, 0.5, 3], np.float32)
    _, got = rondel.InferenceSession(rondel.grad(model, wrt="x").SerializeToString()).run(None, {"x": x})
    np.testing.assert_allclose(got, np.exp(np.minimum(x, 0) / 0.5), rtol=1e-6)


@pytest.mark.parametrize("shapes", [((2, 3), (2, 3)), ((2, 3), (1, 3)), ((1, 1), (4, 3)), ((0, 3), (1, 3)), ((1, 3), (0, 1))])
def test_which_axes_were_repeated_is_found_in_the_run(shapes):
    model = parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 21]>
        f (double[A,B] a, double[C,D] b) => (double y) { p = Mul (a, b)  q = Exp (p)  y = ReduceSum <keepdims = 0> (q) }""")
    rng = np.random.default_rng(1)
    check_gradient(model.SerializeToString(), {n: rng.standard_normal(s) for n, s in zip("ab", shapes)}, rng)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_floats_get_gradients_of_their_own_dtype(dtype):
    import ml_dtypes

    model = parser.parse_model(f"""
        <ir_version: 10, opset_import: ["" : 21]>
        f ({dtype}[8] x) => ({dtype} y) {{ g = Gelu (x)  y = ReduceSum <keepdims = 0> (g) }}""")
    made = rondel.grad(model, wrt="x")
    assert [o.type.tensor_type.elem_type for o in made.graph.output] == [model.graph.input[0].type.tensor_type.elem_type] * 2
    x = np.linspace(-3, 3, 8)
    _, got = rondel.InferenceSession(made.SerializeToString()).run(
        None, {"x": x.astype(getattr(ml_dtypes, dtype, dtype))}
    )
    _, want = rondel.InferenceSession(
        rondel.grad(model_in_double("Gelu"), wrt="x").SerializeToString()
    ).run(None, {"x": x.astype(got.dtype).astype(np.float64)})
    np.testing.assert_allclose(got.astype(np.float64), want, atol=0.01)


def model_in_double(op):
    return parser.parse_model(f"""
        <ir_version: 10, opset_import: ["" : 21]>
        f (double[8] x) => (double y) {{ g = {op} (x)  y = ReduceSum <keepdims = 0> (g) }}""")


MLP = """
<ir_version: 8, opset_import: ["" : 17]>
mlp (float[N,3] x, float[4] b) => (float loss, float[N,4] h) <float[3,4] W = {0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1.0,1.1,1.2}> {
  xw = MatMul (x, W)
  h = Add (xw, b)
  t = Tanh (h)
  s = Softmax (t)
  st = Mul (s, t)
  loss = ReduceSum <keepdims = 0> (st)
}
"""


def mlp_feeds(rows=2):
    rng = np.random.default_rng(rows)
    return {"x": rng.standard_normal((rows, 3)).astype(np.float32), "b": rng.standard_normal(4).astype(np.float32)}


def test_a_model_keeps_its_names_and_opset_and_gives_the_same_numbers_in_onnxruntime():
    made = rondel.grad(parser.parse_model(MLP), wrt=["W", "x", "b"])
    onnx.checker.check_model(made, full_check=True)
    assert [o.name for o in made.graph.output] == ["loss", "h", "grad_W", "grad_x", "grad_b"]
    assert [i.name for i in made.graph.input] == ["x", "b"]
    assert "W" in [w.name for w in made.graph.initializer]
    assert made.opset_import[0].version == 17 and made.ir_version == 8
    for rows in (1, 2, 5):
        want = onnxruntime.InferenceSession(made.SerializeToString()).run(None, mlp_feeds(rows))
        got = rondel.InferenceSession(made.SerializeToString()).run(None, mlp_feeds(rows))
        for w, g in zip(want, got):
            np.testing.assert_allclose(g, w, rtol=1e-5, atol=1e-6)


def test_a_seed_may_have_the_name_that_random_draws_use():
    model = parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 22]>
        f (float[4] x) => (float[4] y) <bool yes = {1}, float half = {0.5}> { y = Dropout (x, half, yes) }""")
    made = rondel.grad(model, "x", "y", "seed")
    assert {"x", "seed"} < {i.name for i in made.graph.input}
    feeds = {"x": np.ones(4, np.float32), "seed": np.full(4, 3, np.float32)}
    y, gradient = rondel.InferenceSession(made.SerializeToString()).run(["y", "grad_x"], feeds)
    np.testing.assert_array_equal(gradient, 3 * y)


@pytest.mark.parametrize("own, kept", [(3, 7), (7, 7), (8, 8), (10, 10)])
def test_the_ir_version_is_the_models_own_if_that_serves(own, kept):
    model = parser.parse_model(f'<ir_version: {own}, opset_import: ["" : 13]> f (float x) => (float y) {{ y = Exp (x) }}')
    assert rondel.grad(model, wrt="x").ir_version == kept


def test_value_and_grad_is_a_function_of_feeds():
    feeds, model = mlp_feeds(), parser.parse_model(MLP)
    loss, gradients = rondel.value_and_grad(model, wrt=["x", "W"])(feeds)
    want = rondel.InferenceSession(rondel.grad(model, wrt=["x", "W"]).SerializeToString()).run(["loss", "grad_x", "grad_W"], feeds)
    assert list(gradients) == ["x", "W"]
    for got, w in zip([loss, *gradients.values()], want):
        np.testing.assert_array_equal(got, w)
    both = rondel.value_and_grad(model, wrt="b", outputs=["loss", "h"], seed=["one", "zero"])
    values, gradients = both(**feeds, one=np.float32(2), zero=np.zeros((2, 4), np.float32))
    assert list(values) == ["loss", "h"]
    np.testing.assert_array_equal(values["loss"], loss)
    np.testing.assert_allclose(gradients["b"], 2 * rondel.value_and_grad(model, wrt="b")(feeds)[1]["b"], rtol=1e-6)
    with pytest.raises(rondel.CallerError, match="no scalar float output"):
        rondel.value_and_grad(parser.parse_model(MLP.replace("(float loss, ", "(")), wrt="x")


@pytest.mark.parametrize("opset, shape, written", [(7, "2,3", 11), (11, "2,3", 11), (12, "N,3", 14), (13, "2,3", 13)])
def test_the_opset_is_raised_only_where_it_must(opset, shape, written):
    model = parser.parse_model(f"""
        <ir_version: 7, opset_import: ["" : {opset}]>
        f (float[{shape}] x) => (float y) {{
          s = Softmax <axis = 0> (x)  e = Exp (s)  p = Mul (s, e)  l = Log (p)  m = Neg (l)
          f = Flatten <axis = 0> (m)  r = Mul (f, f)  y = ReduceSum <keepdims = 0> (r) }}""")
    made = rondel.grad(model, wrt="x")
    onnx.checker.check_model(made, full_check=True)
    assert made.opset_import[0].version == written
    feeds = {"x": np.random.default_rng(1).standard_normal((2, 3)).astype(np.float32)}
    got = rondel.InferenceSession(made.SerializeToString()).run(None, feeds)
    for g, w in zip(got, elsewhere(made, feeds)):
        np.testing.assert_allclose(g, w, rtol=1e-5, atol=1e-6)


def test_second_derivatives_come_from_the_gradient_of_the_gradient():
    model = parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 21]>
        f (double[3] x) => (double y) { t = Sin (x)  u = Mul (t, x)  v = Exp (u)  y = ReduceSum <keepdims = 0> (v) }""")
    first = rondel.grad(model, wrt="x")
    feeds = {"x": np.array([0.3, -1.1, 0.8])}
    second = rondel.grad(first, wrt="x", outputs="grad_x", prefix="second_")
    got = rondel.InferenceSession(second.SerializeToString()).run(["second_x"], feeds)[0]
    run = rondel.InferenceSession(first.SerializeToString())
    want = central_differences(lambda f: run.run(["grad_x"], f), feeds, "x", [np.ones(3)])
    np.testing.assert_allclose(got, want, rtol=1e-6)


SMOOTH_OPS = "Neg Exp Sigmoid Tanh Erf Sin Cos Sinh Cosh Atan Asinh Softplus Softsign Mish Log Sqrt Reciprocal Add Mul Div MatMul Gemm Softmax ReduceMean ReduceProd LayerNormalization Conv Gather Concat"  # fmt: skip
SECOND = list({case.op: case for case in CASES if case.op in SMOOTH_OPS.split()}.values())


@pytest.mark.parametrize("case", SECOND, ids=repr)
def test_second_derivatives_of_ops(case):
    """The gradient of a weighted sum of the gradient's elements, with random weights."""
    rng = np.random.default_rng(13)
    inputs = case.draw(rng)
    model, feeds = model_of(case.op, inputs, case.attributes, case.outputs, case.opset), feeds_of(inputs)
    outputs = [o.name for o in model.graph.output]
    seeds = [f"seed_{n}" for n in outputs]
    values = rondel.InferenceSession(model.SerializeToString()).run(outputs, feeds)
    once = rondel.grad(model, list(feeds), outputs, seeds, prefix="first_")
    fed = feeds | {s: rng.standard_normal(y.shape) for s, y in zip(seeds, values)}
    check_gradient(once.SerializeToString(), fed, rng, outputs=[f"first_{n}" for n in feeds])


@pytest.mark.parametrize("op", ["Elu", "Selu"])
def test_second_derivatives_do_not_overflow(op):
    model = parser.parse_model(f"""
        <ir_version: 10, opset_import: ["" : 21]>
        f (float[3] x) => (float y) {{ e = {op} (x)  s = Mul (e, e)  y = ReduceSum <keepdims = 0> (s) }}""")
    second = rondel.grad(rondel.grad(model, wrt="x"), wrt="x", outputs="grad_x", prefix="second_")
    x = np.array([100, -1, 3], np.float32)
    got = rondel.InferenceSession(second.SerializeToString()).run(["second_x"], {"x": x})[0]
    assert np.isfinite(got).all() and got[0] == pytest.approx(2 if op == "Elu" else 2 * 1.0507009873554805**2, rel=1e-6)


def test_powers_of_zero_have_second_derivatives():
    model = parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 21]>
        f (double[3] x, double[3] p) => (double y) { z = Pow (x, p)  y = ReduceSum <keepdims = 0> (z) }""")
    first = rondel.grad(model, wrt="x")
    second = rondel.grad(first, wrt=["x", "p"], outputs="grad_x", prefix="second_")
    feeds = {"x": np.zeros(3), "p": np.array([2.0, 1, 0])}
    got = rondel.InferenceSession(second.SerializeToString()).run(["second_x", "second_p"], feeds)
    np.testing.assert_array_equal(got[0], [2, 0, 0])
    np.testing.assert_array_equal(got[1][:1], [0])


def test_operands_of_two_dtypes_and_many_operands():
    model = parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 21]>
        f (float[2] x, double[2] p) => (float y) { z = Pow (x, p)  y = ReduceSum <keepdims = 0> (z) }""")
    feeds = {"x": np.array([2, 3], np.float32), "p": np.array([3.0, 2.0])}
    _, gx, gp = rondel.InferenceSession(rondel.grad(model, wrt=["x", "p"]).SerializeToString()).run(None, feeds)
    np.testing.assert_allclose(gx, [12, 6], rtol=1e-6)
    np.testing.assert_allclose(gp, [8 * np.log(2), 9 * np.log(3)], rtol=1e-6)
    assert gx.dtype == np.float32 and gp.dtype == np.float64
    names = [f"x{k}" for k in range(1000)]
    given = [helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, []) for n in names]
    graph = helper.make_graph(
        [helper.make_node("Mean", names, ["y"])], "many", given, [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [])]
    )
    made = rondel.grad(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), wrt=names)
    got = rondel.InferenceSession(made.SerializeToString()).run(None, {n: np.float32(1).reshape(()) for n in names})
    np.testing.assert_allclose(got[1:], np.full(1000, 1e-3), rtol=1e-6)


def test_declared_types_of_outputs_stay():
    model = parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 21]>
        f (double[N] x, int64[K] s) => (double[A,4] h) { t = Exp (x)  h = Reshape (t, s) }""")
    made = rondel.grad(model, wrt="x", outputs="h", seed="dh")
    onnx.checker.check_model(made, full_check=True)
    types = {v.name: v.type.tensor_type for v in [*made.graph.input, *made.graph.output]}
    assert [d.dim_value for d in types["h"].shape.dim][1:] == [4] == [d.dim_value for d in types["dh"].shape.dim][1:]


def test_ties_share_and_kinks_give_zero():
    model = parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 21]>
        f (double[4] x, double[4] z) => (double y) {
          m = Max (x, z)  r = Relu (x)  a = Abs (x)  top = ReduceMax <keepdims = 0> (x)
          s = Sum (m, r, a)  t = ReduceSum <keepdims = 0> (s)  y = Add (t, top) }""")
    made = rondel.grad(model, wrt=["x", "z"])
    x, z = np.array([1.0, 0.0, 1.0, -2.0]), np.array([1.0, 0.0, -1.0, 5.0])
    _, gx, gz = rondel.InferenceSession(made.SerializeToString()).run(None, {"x": x, "z": z})
    np.testing.assert_array_equal(gx, [0.5 + 1 + 1 + 0.5, 0.5, 1 + 1 + 1 + 0.5, -1])
    np.testing.assert_array_equal(gz, [0.5, 0.5, 0, 1])


@pytest.mark.parametrize("op, above", [("Elu", 1), ("Celu", 1), ("Selu", 1.0507010221481323), ("LeakyRelu", 1)])
def test_at_0_the_derivative_is_that_from_above(op, above):
    model = parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> f (float[3] x) => (float[3] y) {{ y = {op} (x) }}')
    _, gradients = rondel.value_and_grad(model, ["x"], ["y"])({"x": np.array([-1e-9, 0, 1e-9], np.float32)})
    assert gradients["x"][1] == gradients["x"][2] == np.float32(above)
    assert op in ("Elu", "Celu") or gradients["x"][0] != gradients["x"][1]


@pytest.mark.parametrize("p", [1, 2, 3, 4])
@pytest.mark.parametrize("op", ["GlobalLpPool <p = {}>", "LpPool <p = {}, kernel_shape = [3]>"])
def test_norms_of_zeros_have_gradients_of_zeros(op, p):
    model = parser.parse_model(f"""
        <ir_version: 10, opset_import: ["" : 21]>
        f (double[1,2,3] x) => (double[1,2,1] y) {{ y = {op.format(p)} (x) }}""")
    x = np.array([[[0, 0, 0], [1.0, 2, 3]]])
    y, gradients = rondel.value_and_grad(model, ["x"], ["y"])({"x": x})
    want = np.stack([np.zeros(3), (x[0, 1] / y[0, 1]) ** (p - 1)])
    np.testing.assert_allclose(gradients["x"][0], want, rtol=1e-12)
    tangents = rondel.InferenceSession(rondel.jvp(model, ["x"])).run(["tangent_y"], {"x": x, "tangent_x": x})
    np.testing.assert_allclose(tangents[0], y, rtol=1e-12)


#: Masks of the scores of queries that are masked as a whole, in bits for each key.
MASKED_ROWS = [[[0, 0, 0], [1, 1, 0]], [[0, 0, 0], [0, 0, 0]], [[1, 0, 1], [0, 0, 0]]]


@pytest.mark.parametrize("mask", MASKED_ROWS, ids=str)
@pytest.mark.parametrize("how", ["", "<softcap = 2.0>", "<is_causal = 1>"])
def test_a_query_without_keys_has_the_gradient_0(mask, how):
    model = parser.parse_model(f"""
        <ir_version: 10, opset_import: ["" : 23]>
        f (double[1,2,2,2] q, double[1,2,3,2] k, double[1,2,3,2] v, bool[2,3] m) => (double[1,2,2,2] y) {{
          y = Attention {how} (q, k, v, m) }}""").SerializeToString()
    rng = np.random.default_rng(1)
    shapes = {"q": (1, 2, 2, 2), "k": (1, 2, 3, 2), "v": (1, 2, 3, 2)}
    feeds = {n: rng.standard_normal(s) for n, s in shapes.items()} | {"m": np.array(mask, bool)}
    made, fed, got = check_gradient(model, feeds, rng)
    np.testing.assert_array_equal(got[0][:, :, ~feeds["m"].any(1)], 0)
    for here, there in zip(got, elsewhere(made, fed)[-3:]):
        np.testing.assert_allclose(here, there, atol=1e-12)


def test_the_scores_of_a_softmax_stay_where_some_of_its_row_is_taken():
    model = parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 21]>
        f (double[2,3] x, bool[2,3] e, bool[2,1] r) => (double[2,3] y, double[2,3] z, double[2,3] u, double[2,3] w) {
          s = Softmax (x)  y = Where (e, x, s)  z = Where (r, x, s)  c = Softmax <axis = 0> (x)  u = Where (r, c, x)  w = Where (r, s, x) }""")
    rng = np.random.default_rng(2)
    feeds = {"x": rng.standard_normal((2, 3)), "e": np.array([[1, 0, 0], [0, 1, 1]], bool), "r": np.array([[1], [0]], bool)}
    check_gradient(model.SerializeToString(), feeds, rng)


@pytest.mark.parametrize("value, dtype", [(1e5, "float"), (1e7, "float"), (300.0, "bfloat16"), (300.0, "float16"), (-1e7, "float"), (-np.inf, "float")])
def test_the_weights_of_a_logarithm_of_a_sum_add_up_to_1(value, dtype):
    model = parser.parse_model(f"""
        <ir_version: 10, opset_import: ["" : 21]>
        f ({dtype}[2] x) => ({dtype} y) {{ y = ReduceLogSumExp <keepdims = 0> (x) }}""")
    x = np.full(2, value, helper.tensor_dtype_to_np_dtype({"float": 1, "bfloat16": 16, "float16": 10}[dtype]))
    _, gradients = rondel.value_and_grad(model, "x")({"x": x})
    np.testing.assert_array_equal(gradients["x"].astype(np.float64), np.zeros(2) if np.isinf(value) else [0.5, 0.5])


@pytest.mark.parametrize("how, want", [
    ("kernel_shape = [1], pads = [1, 1]", [1, 1]),
    ("kernel_shape = [1], pads = [1, 0], strides = [2]", [0, 1]),
    ("kernel_shape = [2], dilations = [3], pads = [1, 1]", [0, 0]),
])  # fmt: skip
def test_windows_of_padding_alone_have_no_gradient(how, want):
    model = parser.parse_model(f"""
        <ir_version: 10, opset_import: ["" : 21]>
        f (double[2,1,2] x) => (double[2,1,n] y) {{ y = MaxPool <{how}> (x) }}""")
    _, gradients = rondel.value_and_grad(model, ["x"], ["y"])({"x": np.array([[[1.0, 2]], [[3, 4]]])})
    np.testing.assert_array_equal(gradients["x"], [[want], [want]])


def test_rows_that_are_nan_and_replaced_hide_nothing_of_the_others():
    """What exporters write for attention with a mask of bools: zeros for queries without keys."""
    model = parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 21]>
        f (double[2,2] q, double[3,2] k, double[3,2] v, bool[2,3] m) => (double[2,2] y) <double zero = {0}, double least = {-inf}> {
          t = Transpose (k)  s = MatMul (q, t)  b = Where (m, zero, least)  a = Add (s, b)  p = Softmax (a)
          n = IsNaN (p)  w = Where (n, zero, p)  y = MatMul (w, v) }""".replace("{-inf}", "{-1}"))
    model.graph.initializer[1].CopyFrom(numpy_helper.from_array(np.array(-np.inf), "least"))
    rng = np.random.default_rng(3)
    feeds = {n: rng.standard_normal(shape) for n, shape in {"q": (2, 2), "k": (3, 2), "v": (3, 2)}.items()}
    _, _, (gq, gk, gv) = check_gradient(model.SerializeToString(), {**feeds, "m": np.array([[1, 0, 1], [0, 0, 0]], bool)}, rng)
    assert not gq[1].any() and gq[0].any() and gk.any() and gv.any()


def test_the_first_step_of_adam_has_a_gradient_by_its_rate():
    model = parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 21, "ai.onnx.preview.training" : 1]>
        f (float r, float[2] x, float[2] g, float[2] v, float[2] h) => (float[2] y) <int64 t = {0}> {
          y, v2, h2 = ai.onnx.preview.training.Adam (r, t, x, g, v, h) }""")
    ones = np.ones(2, np.float32)
    at = lambda r: {"r": np.float32(r), "x": ones, "g": ones, "v": 0 * ones, "h": 0 * ones}  # noqa: E731
    y, gradients = rondel.value_and_grad(model, "r", ["y"])(at(0.1))
    far = rondel.InferenceSession(model).run(["y"], at(1.1))[0]
    assert gradients["r"] == pytest.approx((far - y).sum(), rel=1e-5)


def test_powers_of_zero_have_no_gradient_by_their_exponents():
    model = parser.parse_model('<ir_version: 10, opset_import: ["" : 21]> f (double[4] x, double[4] p) => (double[4] y) { y = Pow (x, p) }')
    _, gradients = rondel.value_and_grad(model, "p", ["y"])({"x": np.zeros(4), "p": np.array([2.0, 0, -0.5, -1])})
    np.testing.assert_array_equal(gradients["p"], np.zeros(4))


def test_stop_gradient_and_inputs_without_influence_give_zeros():
    model = parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 21]>
        f (float[2] x, float[3] unused) => (float y, float[3] kept) {
          a = Exp (x)  b = Mul (a, x)  y = ReduceSum <keepdims = 0> (b)  kept = Neg (unused) }""")
    x = np.array([0.5, 2], np.float32)
    feeds = {"x": x, "unused": np.zeros(3, np.float32)}
    made = rondel.grad(model, wrt=["x", "unused"], stop_gradient=["a"])
    _, _, gx, gu = rondel.InferenceSession(made.SerializeToString()).run(None, feeds)
    np.testing.assert_allclose(gx, np.exp(x), rtol=1e-6)
    np.testing.assert_array_equal(gu, np.zeros(3))
    made = rondel.grad(model, wrt=["x"], stop_gradient=["x"])
    np.testing.assert_array_equal(rondel.InferenceSession(made.SerializeToString()).run(["grad_x"], feeds)[0], np.zeros(2))


LOOPED = """
<ir_version: 10, opset_import: ["" : 21]>
f (double[3] x, int64 n, bool up) => (double y, double[N, 3] kept) <bool yes = {1}> {
  last, kept = Loop (n, yes, x) <body = step (int64 i, bool go, double[3] s) => (bool on, double[3] t, double[3] item) {
    on = Identity (go)
    c = If (up) <then_branch = yes_branch () => (double[3] a) { q = Sin (s)  a = Mul (q, s) },
                 else_branch = no_branch () => (double[3] b) { b = Exp (s) }>
    same = Identity (c)
    w = Mul (same, x)
    t = Add (w, s)
    item = Neg (t)
  }>
  z = Mul (last, last)
  y = ReduceSum <keepdims = 0> (z)
}"""


@pytest.mark.parametrize("name, up", [("w", True), ("same", True), ("c", False), ("q", True), ("q", False), ("s", True), ("t", True)])
@pytest.mark.parametrize("checkpoint", ["none", "sqrt"])
def test_nothing_flows_through_values_in_loops_and_branches(name, up, checkpoint):
    """Compared with central differences of the same loop in NumPy, in which the stopped value is constant."""
    feeds = {"x": np.array([0.3, -0.2, 0.5]), "n": np.int64(3), "up": np.bool_(up)}

    def trips(x, held=None):
        """(y, the values of `name` in each trip). With `held`, these values replace the computed ones."""
        seen, s = [], x

        def at(this, value):
            if this != name:
                return value
            seen.append(value)
            return value if held is None else held[len(seen) - 1]

        for _ in range(3):
            s = at("s", s)
            c = at("c", at("q", np.sin(s)) * s if up else np.exp(s))
            s = at("t", at("w", at("same", c) * x) + s)
        return np.sum(s * s), seen

    _, held = trips(feeds["x"])
    step = 1e-6
    expected = [(trips(feeds["x"] + step * e, held)[0] - trips(feeds["x"] - step * e, held)[0]) / (2 * step) for e in np.eye(3)]
    made = rondel.grad(parser.parse_model(LOOPED), wrt="x", outputs="y", stop_gradient=name, checkpoint=checkpoint)
    assert "stop" not in str(made).lower()
    (found,) = rondel.InferenceSession(made).run(["grad_x"], feeds)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


def test_a_gradient_is_written_in_the_versions_of_the_model_also_of_a_session():
    model = parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 15]>
        f (float[3] x) => (float y) { z = Mul (x, x)  y = ReduceSum <keepdims = 0> (z) }""")
    for source in (model, rondel.InferenceSession(model)):
        for made in (rondel.grad(source, wrt="x"), rondel.jvp(source, wrt="x")):
            assert (made.ir_version, [o.version for o in made.opset_import]) == (8, [15])


@pytest.mark.parametrize(
    "arguments, words",
    [
        (dict(wrt=["nothing"]), ["'nothing'", "no input and no initializer", "'x'"]),
        (dict(wrt=[]), ["wrt is empty"]),
        (dict(wrt=["x", "x"]), ["'x' twice"]),
        (dict(wrt=["x"], outputs=["loss", "h", "loss"]), ["outputs names 'loss' twice"]),
        (dict(wrt=["x"], outputs=["t"]), ["'t'", "no output", "'loss'"]),
        (dict(wrt=["x"], seed=["a", "b"]), ["seed has 2 names for 1"]),
        (dict(wrt=["x"], prefix="lo", outputs=["h"], seed=["x"]), ["seed 'x'", "already"]),
        (dict(wrt=["x"], stop_gradient=["no such"]), ["stop_gradient", "'no such'"]),
        (dict(wrt=["x"], outputs=["h"], seed=["loss"]), ["seed 'loss'", "output already"]),
        (dict(wrt=["x"], outputs=[]), ["outputs is empty"]),
        (dict(wrt=1), ["wrt is 1", "expected names"]),
    ],
)
def test_wrong_names_are_told(arguments, words):
    with pytest.raises(rondel.CallerError) as error:
        rondel.grad(parser.parse_model(MLP), **arguments)
    for word in words:
        assert word in str(error.value)


def test_a_name_that_is_taken_asks_for_a_prefix():
    once = rondel.grad(parser.parse_model(MLP), wrt="x")
    with pytest.raises(rondel.CallerError, match="'grad_x' already; give another prefix"):
        rondel.grad(once, wrt="x", outputs="grad_x")


def test_what_a_rule_does_not_support_is_told_with_the_path():
    model = parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 21]>
        f (float[] x, float[A,B,C] w) => (float y) {
          c = ConvTranspose <auto_pad = "SAME_UPPER"> (x, w)  y = ReduceSum <keepdims = 0> (c) }""")
    with pytest.raises(rondel.UnsupportedError, match=r"'c' .ConvTranspose.: .*known extents; on the way to it: 'y' <- 'c'"):
        rondel.grad(model, wrt="x")


def test_what_stands_behind_a_stopped_value_needs_no_gradient():
    model = parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 21]>
        f (float[] x, float[A,B,C] w, int64 n) => (float y) <bool yes = {1}, float none = {0}> {
          y = Loop (n, yes, none) <body = step (int64 i, bool go, float s) => (bool on, float t) {
            on = Identity (go)  h = Exp (x)  c = ConvTranspose <auto_pad = "SAME_UPPER"> (h, w)
            a = ReduceSum <keepdims = 0> (c)  b = ReduceSum <keepdims = 0> (x)  ab = Mul (a, b)  t = Add (s, ab)
          }> }""")
    with pytest.raises(rondel.UnsupportedError, match="known extents"):
        rondel.grad(model, wrt="x")
    made = rondel.grad(model, wrt="x", stop_gradient="h")
    feeds = {"x": np.ones((1, 2, 5), np.float32), "w": np.full((2, 3, 3), 0.1, np.float32), "n": np.int64(2)}
    (found,) = rondel.InferenceSession(made).run(["grad_x"], feeds)
    np.testing.assert_allclose(found, np.full((1, 2, 5), 2 * (5 * 3 - 2) * 6 * 0.1 * np.e), rtol=1e-5)


def test_a_model_without_a_scalar_output_asks_for_outputs():
    model = parser.parse_model('<ir_version: 10, opset_import: ["" : 21]> f (float[2] x) => (float[2] y) { y = Exp (x) }')
    with pytest.raises(rondel.CallerError, match="no scalar float output .* name some in outputs, of 'y'"):
        rondel.grad(model, wrt="x")
