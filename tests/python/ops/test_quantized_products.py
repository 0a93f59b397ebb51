"""Products of quantized operands: what they refuse, and loops. test_ops_against_onnxruntime.py compares results."""

import machine
import ml_dtypes
import numpy as np
import onnx
import pytest
import rondel
from models import in_all_ways, in_onnxruntime, model, refused, run, same, session


@pytest.mark.parametrize("bad", ["nan", "inf", "-1"])
@pytest.mark.parametrize("place", ["sa", "sb", "sy"])
def test_wrong_scales(place, bad):
    scales = {"sa": 0.5, "sb": 0.5, "sy": 1.0} | {place: float(bad)}
    listed = ", ".join(f"float {name} = {{1}}" for name in scales)
    source = model(f"""f (uint8[M, K] a, uint8[K, N] b) => (uint8[M, N] y) <{listed}, uint8 z = {{0}}> {{
        y = QLinearMatMul (a, sa, z, b, sb, z, sy, z) }}""")
    for initializer in source.graph.initializer:
        if initializer.name in scales:
            initializer.float_data[:] = [scales[initializer.name]]
    with pytest.raises(rondel.CallerError, match="the scale, input [146], has .*; expected a finite number that is not negative"):
        rondel.InferenceSession(source)


CONVOLUTION = """f (uint8[1,4,5,5] x, float xs, uint8 xz, int8[A,B,C,D] w, float[E] ws, int8 wz, float ys, uint8 yz, int32[F] bias) => (uint8[N,M,H,W] y) {
    y = QLinearConv (x, xs, xz, w, ws, wz, ys, yz, bias) }"""


def scaled(name, *shape):
    return {f"{name}s": np.full(shape, 0.5, np.float32), f"{name}z": np.array(0, np.int8 if name == "w" else np.uint8)}


def convolved(channels, scales, biases):
    feeds = {"x": np.ones((1, 4, 5, 5), np.uint8), "w": np.ones((channels, 4, 3, 3), np.int8), "bias": np.ones(biases, np.int32)}
    return feeds | scaled("x") | scaled("w", scales) | scaled("y")


@pytest.mark.parametrize("channels, scales, biases, word", [
    (1, 6, 1, "'the result' has extent 6 on axis 1"), (1, 1, 6, "'B' has extent 6 on axis 0 and 'w' has 1"), (6, 6, 1, "'B' has extent 1 on axis 0 and 'w' has 6"),
])  # fmt: skip
def test_channels_are_not_broadcast_to_what_the_run_finds(channels, scales, biases, word):
    with refused(rondel.CallerError, word, "QLinearConv"):
        run(CONVOLUTION, convolved(channels, scales, biases))


@pytest.mark.parametrize("channels, scales", [(1, 1), (6, 1), (6, 6)])
def test_a_bias_may_have_an_unknown_rank(channels, scales):
    feeds = convolved(channels, scales, channels)
    source = model(CONVOLUTION)
    (wanted,) = run(source, feeds)
    assert wanted.shape == (1, channels, 3, 3)
    source.graph.input[-1].type.tensor_type.ClearField("shape")
    assert run(source, feeds)[0].tolist() == wanted.tolist() == in_onnxruntime(source.SerializeToString(), feeds)[0].tolist()


@pytest.mark.parametrize("dtype", ["uint8", "float8e4m3fn"])
@pytest.mark.parametrize("rows, columns, of_rows, of_columns", [(1, 5, 3, 1), (3, 1, 1, 5)])
def test_lines_are_not_broadcast_to_what_the_run_finds(dtype, rows, columns, of_rows, of_columns):
    text = f"""f ({dtype}[A,B] a, float[C] as, {dtype}[D] az, {dtype}[E,F] b, float[G] bs, {dtype}[H] bz, float ys, {dtype} yz) => ({dtype}[M,N] y) {{
        y = QLinearMatMul (a, as, az, b, bs, bz, ys, yz) }}"""
    to = np.uint8 if dtype == "uint8" else ml_dtypes.float8_e4m3fn
    feeds = {"a": np.ones((rows, 4), to), "az": np.zeros(1, to), "b": np.ones((4, columns), to), "bz": np.zeros(1, to), "yz": np.zeros((), to)}
    feeds |= {"as": np.ones(of_rows, np.float32), "bs": np.ones(of_columns, np.float32), "ys": np.array(1, np.float32)}
    with refused(rondel.CallerError, "'the result' has extent", "QLinearMatMul"):
        run(text, feeds)


@pytest.mark.parametrize("extent", ["1", "N"])
def test_a_product_of_vectors_has_no_axis(extent):
    text = f"""f (uint8[4] a, float[{extent}] as, uint8[{extent}] az, uint8[4] b, float[{extent}] bs, uint8[{extent}] bz, float ys, uint8 yz) => (uint8 y) {{
        y = QLinearMatMul (a, as, az, b, bs, bz, ys, yz) }}"""
    scale, zero, x = np.array([0.5], np.float32), np.zeros(1, np.uint8), np.arange(4, dtype=np.uint8)
    (got,) = run(text, {"a": x, "as": scale, "az": zero, "b": x, "bs": scale, "bz": zero, "ys": np.array(1, np.float32), "yz": np.array(0, np.uint8)})
    assert got.shape == () and got == 4


@pytest.mark.parametrize("attribute, word", [("precision = 6", "precision is i32; expected a float"), ("saturate = 2", "saturate is 2; expected 0 or 1")])
def test_wrong_attributes_of_a_quantization(attribute, word):
    text = f"f (float[3] x, float s, uint8 z) => (uint8[3] y) {{ y = QuantizeLinear <{attribute}> (x, s, z) }}"
    with refused(rondel.CallerError, word):
        rondel.InferenceSession(model(text, 23))


def test_a_loop_of_quantized_products_runs_natively():
    text = """
    main (int64 n, uint8[1, 8] x, int8[8, 8] w) => (uint8[1, 8] y) <float sx = {0.1}, float sw = {0.05}, uint8 zx = {100}, int8 zw = {0}> {
      yes = Constant <value = bool {1}> ()
      y = Loop (n, yes, x) <body = trip (int64 i, bool go, uint8[1, 8] a) => (bool on, uint8[1, 8] c) {
        on = Identity (go)
        c = QLinearMatMul (a, sx, zx, w, sw, zw, sx, zx)
      }>
    }"""
    rng = np.random.default_rng(3)
    feeds = {"n": np.array(5), "x": rng.integers(0, 256, (1, 8)).astype(np.uint8), "w": rng.integers(-64, 64, (8, 8)).astype(np.int8)}
    (got,) = run(text, feeds)
    (want,) = in_onnxruntime(model(text).SerializeToString(), feeds)
    assert got.tolist() == want.tolist()
    assert {found["execution"] for found in rondel.inspect(model(text)).loops} == {"natively, as a whole"}


@pytest.mark.parametrize("x", [[], [0.0], [0.0, -0.0]], ids=["nothing", "zero", "zeros"])
def test_the_scale_of_zeros_is_zero(x):
    """As in ONNX's definition, also by the oracle of random programs; ONNX Runtime has 1, the reference evaluator 1/255."""
    made = model("f (float[N] x) => (uint8[N] y, float scale, uint8 zero) { y, scale, zero = DynamicQuantizeLinear (x) }")
    feeds = {"x": np.array(x, np.float32)}
    want = [np.zeros(len(x), np.uint8), np.float32(0), np.uint8(0)]
    for results in (session(made).run(None, feeds), machine.run_model(made, feeds)):
        for got, expected in zip(results, want, strict=True):
            same(got, expected)


#: Rows, depth, columns: fewer and more than a panel of the kernel has.
SIZES = [(1, 5, 70), (3, 8, 33), (4, 7, 16), (7, 2, 19), (16, 31, 15), (17, 64, 17), (40, 33, 48), (33, 1, 5), (5, 0, 4)]


@pytest.mark.parametrize("size", SIZES, ids=lambda s: "x".join(map(str, s)))
@pytest.mark.parametrize("left, right", [("uint8", "int8"), ("int8", "uint8"), ("uint8", "uint8"), ("int8", "int8")])
def test_products_of_bytes_are_exact(left, right, size):
    """With all elements at the ends of their range, too: no sum of products saturates."""
    rows, depth, columns = size
    rng = np.random.default_rng(rows)

    def bytes_of(dtype, *shape):
        info = np.iinfo(dtype)
        return rng.choice([info.min, info.max], shape).astype(dtype), rng.integers(info.min, info.max + 1, shape).astype(dtype)

    text = f"""g ({left}[{rows},{depth}] a, {right}[{depth},{columns}] b, {left}[{rows}] p, {right}[{columns}] q) => (int32[{rows},{columns}] y) {{
        y = MatMulInteger (a, b, p, q) }}"""
    ours = session(model(text))
    for a, b, p, q in zip(bytes_of(left, rows, depth), bytes_of(right, depth, columns), bytes_of(left, rows), bytes_of(right, columns), strict=True):
        (y,) = ours.run(None, {"a": a, "b": b, "p": p, "q": q})
        same(y, ((a.astype(np.int64) - p[:, None]) @ (b.astype(np.int64) - q)).astype(np.int32))


@pytest.mark.parametrize("right", ["int8", "uint8"])
@pytest.mark.parametrize("place", ["constant", "invariant", "changing"])
def test_operands_of_loops_are_packed_and_unpacked_alike(place, right, monkeypatch):
    """In trip i, the weights are what a constant or an input gives, or that plus i."""
    rng = np.random.default_rng(5)
    low = -128 if right == "int8" else 0
    w = rng.integers(low, low + 256, (2, 6, 37)).astype(right)
    k = rng.integers(low, low + 256, (6, 5, 3, 3)).astype(right)
    zeros = rng.integers(low, low + 256, 37).astype(right)
    text = f"""g (int64 n, uint8[2,N,6] x, uint8[1,10,H,7] image, {right}[2,6,37] w, {right}[6,5,3,3] k, {right}[37] zeros) => (int32[?,2,?,37] products, int32[?,1,6,?,7] images)
      <uint8 xz = {{77}}, {right} kz = {{3}}> {{
      products, images = Loop (n, "") <body = trip (int64 i, bool go) => (bool on, int32[2,?,37] p, int32[1,6,?,7] c) {{
        on = Identity (go)
        {"shift = CastLike (i, kz)" if place == "changing" else "shift = Sub (kz, kz)"}
        ws = Add (w, shift)  ks = Add (k, shift)
        p = MatMulInteger (x, ws, xz, zeros)
        c = ConvInteger <group = 2, pads = [1, 1, 1, 1]> (image, ks, xz, kz)
      }}>
    }}"""
    made = model(text)
    weights = {"w": w, "k": k, "zeros": zeros}
    if place == "constant":
        made.graph.initializer.extend(onnx.numpy_helper.from_array(value, name) for name, value in weights.items())
        del made.graph.input[3:]
        weights = {}
    feeds = {"n": np.array(3), "x": rng.integers(0, 256, (2, 5, 6)).astype(np.uint8), "image": rng.integers(0, 256, (1, 10, 9, 7)).astype(np.uint8)} | weights
    want = machine.run_model(made, feeds)
    for run_all in in_all_ways(made, monkeypatch).values():
        for got, expected in zip(run_all.run(None, feeds), want, strict=True):
            same(got, expected)
