"""Ops of which gradients and tangents are tested: their inputs and attributes."""

import numpy as np
import onnx
from differences import is_float
from onnx import helper, numpy_helper


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
