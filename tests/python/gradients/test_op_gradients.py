"""Gradients of ops against central differences in float64, and in other runtimes."""

import numpy as np
import onnx
import pytest
import rondel
from differences import check_gradient, elsewhere, feeds_of
from gradient_cases import CASES, model_of
from onnx import helper, parser


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
    **{
        f"the extents of what is sliced from {start} to {end}": (
            f"""f (double[N,M] x) => (double[A,B] y) <int64[2] starts = {{{start}, 1}}, int64[2] ends = {{{end}, -1}}> {{
                 s = Slice (x, starts, ends)  t = ReduceSum <keepdims = 0> (s)  y = Mul (x, t) }}""",
            [dict(x=shape) for shape in ((6, 3), (2, 5), (1, 1))],
        )
        for start, end in ((1, -1), (-3, 100), (0, -2), (4, 9), (-2, 1), (5, 2))
    },
    **{
        f"where a slice of {extents} ends": (
            f"""f (double[{extents}] x, int64[2] ends) => (double[A,B] y) <int64[2] starts = {{1, -2}}> {{
                 s = Slice (x, starts, ends)  t = ReduceSum <keepdims = 0> (s)  y = Mul (x, t) }}""",
            [dict(x=(6, 3), ends=ends) for ends in ([4, 2], [-1, 100], [1, -3], [0, 3])],
        )
        for extents in ("N,M", "6,3")
    },
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
    "one scale in a list, of a number": (dequantizing("uint8", "float[1]", "uint8[1]"), np.array(7, np.uint8), (1,), u8(3)),
    "narrow results": (
        dequantizing("uint8[3,4]", "float[4]", "", "<output_dtype = 10>", result="float16"), u8(*range(12)).reshape(3, 4), (4,), None
    ),
}


def test_a_slice_that_no_run_accepts_has_a_gradient_that_no_run_accepts():
    wrong = parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 22]>
        f (double[12] x, int64[R] shape) => (double l) <int64[1] starts = {0}, int64[2] ends = {1, 1}, int64[2] axes = {-1, -2}> {
          r = Reshape (x, shape)  y = Slice (r, starts, ends, axes)  l = ReduceSum <keepdims = 0> (y) }""")
    gradient = rondel.InferenceSession(rondel.grad(wrong.SerializeToString(), ["x"]))
    with pytest.raises(rondel.CallerError, match="1 starts, 2 ends, 2 axes"):
        gradient.run(None, {"x": np.ones(12), "shape": np.array([3, 4])})


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


@pytest.mark.parametrize("x_extents, extents", [("[A,B]", "[C,D]"), ("[A,B]", "[1,1]"), ("[A,B]", "[1,1,1]"), ("[A]", "[C]")])
def test_one_scale_of_any_rank_gets_the_whole_sum(x_extents, extents):
    """ONNX Runtime refuses one scale for a tensor of several blocks."""
    shape = (1,) * (extents.count(",") + 1)
    made = rondel.grad(parser.parse_model(dequantizing(f"uint8{x_extents}", f"float{extents}", "", "<axis = -1, block_size = 2>")), wrt="scale", outputs="y", seed="dy")
    x = u8(*range(10)).reshape(*[2] * x_extents.count(","), -1)
    feeds = {"x": x, "scale": np.full(shape, 3, np.float32), "dy": np.arange(10, dtype=np.float32).reshape(x.shape)}
    (got,) = rondel.InferenceSession(made.SerializeToString()).run(["grad_scale"], feeds)
    np.testing.assert_array_equal(got, np.full(shape, (x * feeds["dy"]).sum()))


NARROW = ["float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "float4e2m1"]


@pytest.mark.parametrize("narrow", NARROW)
@pytest.mark.parametrize("extents, shape, how", [("", (), ""), ("[2]", (2,), "<axis = 0>"), ("[2,N]", (2, 2), "<axis = 1, block_size = 2>")])
def test_narrow_floats_get_gradients_through_their_scales(narrow, extents, shape, how):
    """y = (x - zero) * scale: x gets dy * scale, and the zero point less the sum of this over what it is for. All numbers have few bits."""
    made = rondel.grad(parser.parse_model(dequantizing(f"{narrow}[2,4]", f"float{extents}", f"{narrow}{extents}", how)), wrt=["x", "zero"], outputs="y", seed="dy")
    dtype = helper.tensor_dtype_to_np_dtype(getattr(onnx.TensorProto, narrow.upper()))
    scale = np.array([0.5, 1, 2, 0.5][: int(np.prod(shape))], np.float32).reshape(shape)
    feeds = {"x": np.ones((2, 4), dtype), "scale": scale, "zero": np.ones(shape, dtype), "dy": np.float32([[1, 0, -1, 1], [1, -1, 1, 0]])}
    by_x, by_zero = rondel.InferenceSession(made.SerializeToString()).run(["grad_x", "grad_zero"], feeds)
    want = feeds["dy"] * (np.repeat(scale, 2, 1) if len(shape) == 2 else scale.reshape(-1, *[1] * len(shape)))
    sums = {0: want.sum(), 1: want.sum(1), 2: want.reshape(2, 2, 2).sum(2)}[len(shape)]
    assert by_x.dtype == by_zero.dtype == dtype
    np.testing.assert_array_equal(by_x.astype(np.float32), want)
    np.testing.assert_array_equal(by_zero.astype(np.float32), -sums)


def test_powers_of_two_have_no_gradients():
    """float8e8m0 has neither zero nor negative numbers."""
    model = parser.parse_model(dequantizing("float8e4m3fn[3]", "float8e8m0", "", "<output_dtype = 1>"))
    with pytest.raises(rondel.CallerError, match="wrt 'scale' is f8e8m0.*holds no gradient"):
        rondel.grad(model, wrt="scale", outputs="y", seed="dy")
    text = '<ir_version: 12, opset_import: ["" : 24]> f (float[3] x) => (float[3] y) { p = Cast <to = 24> (x) y = Cast <to = 1> (p) }'
    made = rondel.grad(parser.parse_model(text), wrt="x", outputs="y", seed="dy")
    (got,) = rondel.InferenceSession(made.SerializeToString()).run(["grad_x"], {"x": np.ones(3, np.float32), "dy": np.float32([1, -1, 0])})
    assert got.tolist() == [0, 0, 0]


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
