"""ONNX Runtime's own ops beside ONNX Runtime: alone, in loops and exported; what is refused; files of its optimiser and its quantiser.

Ops and forms that ONNX Runtime does not have on the CPU are compared with their text, in NumPy.
"""

import re

import microsoft_cases
import numpy as np
import onnx
import onnxruntime
import pytest
import rondel
from microsoft_cases import CASES, EMBEDDING, Case, X, case, grouped, heads, int32, real
from models import refused
from onnx import TensorProto, helper

OPSETS = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]


def given(c):
    return {k: v for k, v in c.feeds.items() if v is not None}


def node_of(c, rename=None):
    names = [(rename or {}).get(k, k) if v is not None else "" for k, v in c.feeds.items()]
    while not names[-1]:
        names.pop()
    return helper.make_node(c.op, names, list(c.outputs), domain=c.domain, name="node", **c.attributes)


def declared(name, array, known=True):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape if known else [None] * array.ndim)


def model_of(c, known=True, constants=()):
    """The case as a model. Its extents are known or not; inputs may be constants."""
    feeds = given(c)
    graph = helper.make_graph(
        [node_of(c)],
        "g",
        [declared(k, v, known) for k, v in feeds.items() if k not in constants],
        [helper.make_empty_tensor_value_info(name) for name in c.outputs if name],
        [onnx.numpy_helper.from_array(feeds[k], k) for k in constants],
    )
    return helper.make_model(graph, opset_imports=OPSETS, ir_version=10).SerializeToString()


def looped(c):
    """Three trips of the op on a first input that shrinks; all results of all trips."""
    feeds = given(c)
    first = next(iter(feeds))
    shrink = helper.make_node("Mul", ["state", "factor"], ["next"]) if feeds[first].dtype.kind == "f" else helper.make_node("Identity", ["state"], ["next"])
    results = [name for name in c.outputs if name]
    body = helper.make_graph(
        [node_of(c, {first: "state"}), shrink, helper.make_node("Identity", ["go"], ["on"])],
        "body",
        [helper.make_tensor_value_info("i", TensorProto.INT64, []), helper.make_tensor_value_info("go", TensorProto.BOOL, []), declared("state", feeds[first])],
        [helper.make_empty_tensor_value_info(name) for name in ["on", "next", *results]],
    )
    loop = helper.make_node("Loop", ["trips", "", first], ["final", *(f"all_{name}" for name in results)], body=body)
    constants = {"trips": np.array(3), "factor": np.array(0.75, feeds[first].dtype)}
    graph = helper.make_graph(
        [loop],
        "g",
        [declared(k, v) for k, v in feeds.items()],
        [helper.make_empty_tensor_value_info(name) for name in loop.output],
        [onnx.numpy_helper.from_array(v, k) for k, v in constants.items()],
    )
    return helper.make_model(graph, opset_imports=OPSETS, ir_version=10).SerializeToString()


def theirs(model, feeds):
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(None, feeds)


def ours(model, feeds):
    return rondel.InferenceSession(model).run(None, feeds)


def agree(c, found, wanted):
    for got, want in zip(found, wanted, strict=True):
        assert got.dtype == want.dtype and got.shape == want.shape
        if got.dtype.kind == "f":
            np.testing.assert_allclose(got, want, rtol=c.tolerance * 5, atol=c.tolerance)
        else:
            np.testing.assert_allclose(got.astype(int), want.astype(int), rtol=0, atol=c.steps)


@pytest.mark.parametrize("c", CASES, ids=str)
def test_beside_onnxruntime(c):
    feeds = given(c)
    wanted = theirs(model_of(c), feeds)
    if c.op != "Inverse":  # needs the number of rows
        agree(c, ours(model_of(c, known=False), feeds), wanted)
    first, *others = feeds
    agree(c, ours(model_of(c, constants=others), {first: feeds[first]}), wanted)


FIRSTS = {c.op: c for c in reversed(CASES)}.values()


@pytest.mark.parametrize("c", FIRSTS, ids=lambda c: c.op)
def test_in_a_loop(c):
    agree(c, ours(looped(c), given(c)), theirs(looped(c), given(c)))


@pytest.mark.parametrize("c", FIRSTS, ids=lambda c: c.op)
def test_exported_as_standard_ops(c):
    written = onnx.load_from_string(rondel.export(model_of(c)))
    assert all(n.domain in ("", "ai.onnx") for n in written.graph.node)
    run = ours if c.op == "Inverse" else theirs  # ONNX Runtime has Det for float32 only
    agree(c, run(written.SerializeToString(), given(c)), ours(model_of(c), given(c)))


def test_gradient_through_attention():
    """The derivative along a direction, against a difference."""
    feeds = {k: v.astype(np.float64) if v is not None and v.dtype == np.float32 else v for k, v in microsoft_cases.attention(mask=int32(2, 3)).items()}
    c = case("Attention", feeds, num_heads=2)
    model = onnx.load_from_string(model_of(c, constants=[k for k in given(c) if k != "x"]))
    model.graph.node.append(helper.make_node("ReduceSumSquare", ["out"], ["loss"], keepdims=0))
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("loss", TensorProto.DOUBLE, []))
    gradient = ours(rondel.grad(model, ["x"]), {"x": feeds["x"]})[-1]
    along, small = real(*gradient.shape), 1e-5
    up, down = (float(ours(model, {"x": feeds["x"] + step * along})[0]) for step in (small, -small))
    assert np.sum(gradient * along) == pytest.approx((up - down) / (2 * small), rel=1e-6)


# Ops and forms without a kernel on the CPU.


def gelu(x):
    from math import erf

    return x / 2 * (1 + np.vectorize(erf)(x / np.sqrt(2)))


def by_text(c, wanted):
    agree(c, ours(model_of(c), given(c)), [np.asarray(wanted, np.float32)])


def test_sums_before_activations():
    x, bias, skip = real(2, 3, 8), real(8), real(2, 3, 8)
    by_text(case("BiasAdd", {"x": x, "bias": bias, "skip": skip}), x + bias + skip)
    by_text(case("BiasSplitGelu", {"x": x, "bias": bias}), (x + bias)[..., :4] * gelu((x + bias)[..., 4:]))
    e = np.exp((x + bias).reshape(2, -1))
    by_text(case("BiasSoftmax", {"x": x, "bias": bias}, axis=1, is_inner_broadcast=1), (e / e.sum(1, keepdims=True)).reshape(x.shape))
    by_text(case("BiasDropout", {"x": x, "bias": bias, "residual": skip}), x + bias + skip)
    a, w = real(3, 4), real(4, 8)
    s = a @ w + bias
    by_text(case("GemmFastGelu", {"a": a, "w": w, "bias": bias}), s / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (s + 0.044715 * s**3))))


def test_channels_last():
    x, w, b = real(1, 6, 6, 4), real(3, 4, 3, 3), real(3)
    conv = case("FusedConv", {"x": x.transpose(0, 3, 1, 2), "w": w, "b": b}, activation="Relu")
    wanted = ours(model_of(conv), given(conv))[0].transpose(0, 2, 3, 1)
    by_text(case("NhwcFusedConv", {"x": x, "w": w, "b": b}, activation="Relu"), wanted)
    assert np.array_equal(np.maximum(ours(model_of(case("NhwcConv", {"x": x, "w": w, "b": b})), {"x": x, "w": w, "b": b})[0], 0), wanted)


@pytest.mark.parametrize("last", [0, 1])
def test_group_normalisations(last):
    x, skip, gamma, beta, bias = real(2, 3, 3, 4), real(2, 4), real(4), real(4), real(4)

    def normalised(v):
        groups = v.reshape(2, 9, 2, 2)
        centred = groups - groups.mean((1, 3), keepdims=True)
        y = (centred / np.sqrt((centred**2).mean((1, 3), keepdims=True) + 1e-3)).reshape(v.shape) * gamma + beta
        return y / (1 + np.exp(-y))

    def placed(v):
        return v if last else v.transpose(0, 3, 1, 2)

    more = dict(groups=2, activation=1, epsilon=1e-3, channels_last=last)
    by_text(case("GroupNorm", {"x": placed(x), "gamma": gamma, "beta": beta}, **more), placed(normalised(x)))
    total = x + skip[:, None, None] + bias
    c = case("SkipGroupNorm", {"x": placed(x), "gamma": gamma, "beta": beta, "skip": skip, "bias": bias}, ("out", "sum"), **more)
    agree(c, ours(model_of(c), given(c)), [placed(normalised(total)), placed(total)])


def test_packed_heads():
    """Queries, keys and values in one tensor, or keys and values."""
    q, k, v = real(2, 3, 2, 4), real(2, 3, 2, 4), real(2, 3, 2, 4)
    apart = case("MultiHeadAttention", heads(q=q.reshape(2, 3, 8), k=k.reshape(2, 3, 8), v=v.reshape(2, 3, 8)), num_heads=2)
    (wanted,) = theirs(model_of(apart), given(apart))
    by_text(case("MultiHeadAttention", {"q": np.stack([q, k, v], 3)}, num_heads=2), wanted)
    by_text(case("MultiHeadAttention", {"q": q.reshape(2, 3, 8), "kv": np.stack([k, v], 3)}, num_heads=2), wanted)


def test_normalised_queries_and_keys():
    feeds = grouped()
    weights = {"q_weight": real(16), "k_weight": real(16)}

    def normalised(x, weight):
        y = x.reshape(*x.shape[:2], -1, 16)
        return (y / np.sqrt((y**2).mean(-1, keepdims=True) + 1e-6) * weight).reshape(x.shape).astype(np.float32)

    before = feeds | {"q": normalised(feeds["q"], weights["q_weight"]), "k": normalised(feeds["k"], weights["k_weight"])}
    plain = microsoft_cases.gqa(before, do_rotary=1)
    c = microsoft_cases.gqa(feeds | {"k_scale": None, "v_scale": None} | weights, do_rotary=1)
    agree(c, ours(model_of(c), given(c)), theirs(model_of(plain), given(plain)))


def test_scores_as_an_output():
    """The products of queries and keys, scaled and masked."""
    c = case("MultiHeadAttention", heads(mask=int32([1, 1, 0, 1, 1], [0, 1, 1, 1, 0])), ("out", "", "", "qk"), num_heads=2)
    model = onnx.load_from_string(model_of(c))
    model.graph.output[1].CopyFrom(helper.make_tensor_value_info("qk", TensorProto.FLOAT, None))
    agree(c, ours(model_of(c), given(c)), theirs(model.SerializeToString(), given(c)))


@pytest.mark.parametrize("shape", [(0, 3, 8), (2, 0, 8)])
def test_without_elements(shape):
    x = np.zeros(shape, np.float32)
    grouped_heads = grouped(batch=shape[0], length=shape[1]) if shape[1] else {}
    for c in (
        case("Attention", {"x": x, "w": real(8, 24), "b": real(24)}, num_heads=2),
        case("MultiHeadAttention", {"q": x, "k": x, "v": x}, num_heads=2),
        case("RotaryEmbedding", {"x": x, "at": np.zeros(shape[:2], np.int64), "cos": real(9, 2), "sin": real(9, 2)}, interleaved=1),
        case("SkipLayerNormalization", {"x": x, "skip": x, "gamma": real(8)}),
        case("Attention", {"x": x, "w": real(8, 24), "b": real(24), "mask": np.full(shape[0], 2, np.int32)}, num_heads=2),
        case("Attention", {"x": x, "w": real(8, 24), "b": real(24), "mask": np.zeros(2 * shape[0], np.int32)}, num_heads=2),
        case("MultiHeadAttention", heads(q=x, k=np.zeros((shape[0], 4, 8), np.float32), v=np.zeros((shape[0], 4, 8), np.float32), mask=np.full(shape[0], 2, np.int32)), num_heads=2),
    ):
        agree(c, ours(model_of(c, known=False), given(c)), theirs(model_of(c), given(c)))
    if grouped_heads:
        c = microsoft_cases.gqa(grouped_heads)
        assert [y.shape for y in ours(model_of(c, known=False), given(c))] == [(0, 3, 64), (0, 2, 3, 16), (0, 2, 3, 16)]


def test_no_new_tokens():
    """ONNX Runtime refuses a GroupQueryAttention of no queries."""
    c = microsoft_cases.gqa(grouped(length=0, past=3, last=[2, 2], total=3))
    out, keys, values = ours(model_of(c, known=False), given(c))
    assert out.shape == (2, 0, 64)
    agree(c, [keys, values], [c.feeds["past_k"], c.feeds["past_v"]])


@pytest.mark.parametrize("room", [0, 8])
def test_decoding_with_a_cache(room):
    """Six tokens: the cache of keys and values grows, or has room for all."""
    text = """
    <ir_version: 10, opset_import: ["" : 21, "com.microsoft" : 1]>
    decode (float[1, 1, 64] x0, float[1, 2, n, 16] k0, float[1, 2, n, 16] v0) => (float[1, 1, 64] x, float[1, 2, m, 16] k, float[1, 2, m, 16] v, float[6, 1, 1, 64] all)
    <int64 trips = {6}, bool yes = {1}, int64[1] list = {1}, int32 one = {1}> {
      x, k, v, all = Loop (trips, yes, x0, k0, v0) <body = step (int64 i, bool go, float[1, 1, 64] x1, float[1, 2, a, 16] k1, float[1, 2, a, 16] v1)
          => (bool on, float[1, 1, 64] x2, float[1, 2, b, 16] k2, float[1, 2, b, 16] v2, float[1, 1, 64] item) {
        on = Identity (go)
        at = Cast <to = 6> (i)
        last = Reshape (at, list)
        total = Add (at, one)
        q = MatMul (x1, wq)
        kn = MatMul (x1, wk)
        vn = MatMul (x1, wv)
        x2, k2, v2 = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2, do_rotary = 1> (q, kn, vn, k1, v1, last, total, cos, sin)
        item = Identity (x2)
      }>
    }"""
    model = onnx.parser.parse_model(text)
    weights = dict(wq=real(64, 64) / 5, wk=real(64, 32) / 5, wv=real(64, 32) / 5, cos=real(9, 8), sin=real(9, 8))
    model.graph.initializer.extend(onnx.numpy_helper.from_array(v, k) for k, v in weights.items())
    feeds = {"x0": real(1, 1, 64), "k0": real(1, 2, room, 16), "v0": real(1, 2, room, 16)}
    agree(CASES[0], ours(model.SerializeToString(), feeds), theirs(model.SerializeToString(), feeds))


def test_padded_prompts():
    """The rows after the end of a sequence are any numbers in ONNX Runtime; keys and values are as given."""
    c = microsoft_cases.gqa(grouped(length=4, last=[1, 3]), do_rotary=1)
    found, wanted = ours(model_of(c), given(c)), theirs(model_of(c), given(c))
    agree(c, [found[0][0, :2], found[0][1], *found[1:]], [wanted[0][0, :2], wanted[0][1], *wanted[1:]])


def test_quantised_mean():
    x = microsoft_cases.bytes_(np.uint8, 3, 4)
    c = case("QLinearReduceMean", {"x": x, "x_scale": np.float32(0.1) + np.zeros((), np.float32), "x_zero": np.array(3, np.uint8), "y_scale": np.array(0.2, np.float32), "y_zero": np.array(5, np.uint8)}, axes=[1], keepdims=1)
    wanted = np.clip(np.rint((x.astype(float) - 3).mean(1, keepdims=True) * 0.1 / 0.2) + 5, 0, 255)
    assert np.abs(ours(model_of(c), given(c))[0].astype(float) - wanted).max() <= 1


def test_transposed_matrix_times_a_vector():
    """ONNX Runtime takes other elements of the matrix."""
    a, b = real(4, 3), real(4)
    by_text(case("FusedMatMul", {"a": a, "b": b}, transA=1, transB=1), a.T @ b)


def test_zero_points_beside_g_idx():
    """ONNX Runtime reads other zero points than the text says if g_idx is given."""
    c = microsoft_cases.n_bits(4, 32, 16, "bytes")
    ordered = Case(c.op, c.feeds | {"g_idx": np.arange(32, dtype=np.int32) // 16}, c.outputs, c.attributes)
    agree(c, ours(model_of(ordered), given(ordered)), theirs(model_of(c), given(c)))


# Refusals name node, op, and the input, output or attribute with its value.

REFUSED = [
    (case("Attention", microsoft_cases.attention(w=real(5, 32), b=real(32)), ("out", "present"), num_heads=2, qkv_hidden_sizes=[8, 8, 16]), "'qkv_hidden_sizes' has 8 for keys and 16 for values"),
    (case("Attention", microsoft_cases.attention(), num_heads=2, do_rotary=1), "attribute 'do_rotary' = 1"),
    (case("Attention", microsoft_cases.attention(), num_heads=2, past_present_share_buffer=1), "attribute 'past_present_share_buffer' = 1"),
    (case("Attention", microsoft_cases.attention(mask=np.ones((2, 1, 4, 4), np.int32)), num_heads=2), "mask of rank 4"),
    (case("Attention", microsoft_cases.attention(mask=int32(*range(10))), num_heads=2), "5 numbers for each batch element"),
    (case("MultiHeadAttention", heads(mask=int32(*range(10))), num_heads=2), "5 numbers for each batch element"),
    (case("MultiHeadAttention", heads(past_length=int32(1)), num_heads=2), "input 8 ('past_sequence_length')"),
    (case("MultiHeadAttention", {"q": real(2, 3, 24)}, num_heads=2), "a query of rank 3 without a key"),
    (microsoft_cases.gqa(grouped(), k_quant_type="PER_TENSOR"), "attribute 'k_quant_type' = \"PER_TENSOR\""),
    (microsoft_cases.gqa(grouped(), local_window_size=0), "attribute 'local_window_size' = 0"),
    (microsoft_cases.gqa(grouped(), qk_output=1), "attribute 'qk_output' = 1"),
    (microsoft_cases.gqa(grouped() | {"k_scale": np.ones(1, np.float32)}), "input 12 ('k_scale')"),
    (case("Attention", microsoft_cases.attention(), num_heads=0), "attribute 'num_heads' = 0; expected 1 to 2147483647"),
    (case("MatMulNBits", microsoft_cases.n_bits(4, 32, 32).feeds, K=32, N=5, block_size=16), "5 elements do not fill a shape of 10"),
    (case("MatMulNBits", microsoft_cases.n_bits(4, 32, 16).feeds, K=2**62, N=5, block_size=16), f"attribute 'K' = {2**62}"),
    (case("Inverse", {"x": real(17, 17)}), "the inverse of f32[17, 17]"),
    (case("MatMulBnb4", {"a": real(3, 16), "b": np.zeros(8, np.uint8), "s": real(1)}, K=16, N=1, block_size=16, quant_type=2), "attribute 'quant_type' = 2"),
    (case("GatherBlockQuantized", microsoft_cases.block_table(4).feeds, block_size=16, gather_axis=1), "attribute 'gather_axis' = 1"),
    (case("GroupQueryAttention", grouped(), num_heads=3, kv_num_heads=2), "num_heads = 3 is no multiple of kv_num_heads = 2"),
    (microsoft_cases.rotary(real(2, 3, 16), [4], num_heads=2), "16 elements are 2 heads, and cos_cache has 2 columns"),
    (case("MultiHeadAttention", {"q": X, "kv": real(2, 3, 2, 2, 4), "v": None, "b": real(24)}, num_heads=2), "a bias is given beside keys and values in one tensor"),
    (microsoft_cases.rotary(real(2, 3, 8), [4], is_packed_batching=1), "attribute 'is_packed_batching' = 1"),
    (case("Attention", microsoft_cases.attention(), num_heads=2, unidirectional=2), "attribute 'unidirectional' = 2"),
    (case("FusedMatMul", {"a": real(3, 4), "b": real(4, 5)}, transA=-1), "attribute 'transA' = -1"),
    (case("SkipLayerNormalization", microsoft_cases.LAYER | {"x": real(1, 3, 8)}), "48 elements do not fill a shape of 24"),
    (case("QGemm", {"a": np.ones((2, 2), np.uint8), "as": np.array(1, np.float32), "az": np.array(0, np.uint8), "b": np.ones((2, 2), np.uint8), "bs": np.array(1, np.float32), "bz": np.array(0, np.uint8), "c": None, "ys": np.array(1, np.float32)}), "one of y_scale and y_zero_point is given"),
    (case("FusedConv", microsoft_cases.CONV, group=2, activation="Mish"), "attribute 'activation' = \"Mish\""),
    (case("FusedGemm", microsoft_cases.GEMM, activation="Mish"), "attribute 'activation' = \"Mish\""),
    (case("MatMulNBits", microsoft_cases.n_bits(4, 32, 16).feeds, K=32, N=5, bits=3, block_size=16), "attribute 'bits' = 3"),
    (case("MatMulNBits", microsoft_cases.n_bits(4, 32, 16).feeds, K=32, N=5, block_size=24), "attribute 'block_size' = 24"),
    (case("DynamicQuantizeLSTM", microsoft_cases.lstm(np.uint8, w_scale=np.ones(2, np.float32)), hidden_size=4), "input 8 is f32[2]; expected directions 1 on axis 0"),
    (case("SkipLayerNormalization", microsoft_cases.LAYER, ("out", "mean")), "output 1 ('mean')"),
    (case("SimplifiedLayerNormalization", {"x": real(2, 8), "gamma": real(8)}, ("out", "inverse"), domain=""), "output 1 ('inv_std_var')"),
    (case("GroupNorm", {"x": real(1, 2, 2, 4), "gamma": real(4), "beta": real(4)}, groups=2, activation=3), "attribute 'activation' = 3"),
    (case("Gelu", {"x": real(3)}, approximate="tanh"), "attribute 'approximate' is not one of Gelu"),
    (case("Gelu", {"x": np.arange(3)}), "input 0 ('X') is tensor(int64)"),
    (case("QLinearConcat", {"s": np.array(1, np.float32), "z": np.array(0, np.uint8), "x": np.zeros(2, np.uint8)}, axis=0), "3 inputs are given"),
    (case("WhisperBeamSearch", {"x": real(3)}), "op WhisperBeamSearch of com.microsoft, version 1 is not supported"),
]


@pytest.mark.parametrize("c, text", REFUSED, ids=[text for _, text in REFUSED])
def test_refused(c, text):
    with pytest.raises(rondel.Error, match=re.escape(text)) as error:
        rondel.InferenceSession(model_of(c))
    assert f"node 'node' ({c.op})" in str(error.value)


def with_first(feeds, name, value):
    array = feeds[name].copy()
    array.flat[0] = value
    return feeds | {name: array}


PLACED = EMBEDDING | {"mask": None, "at": EMBEDDING["ids"] % 6}
CHUNK = grouped(batch=1, past=4, last=[6], total=7)
WRONG = [
    (case("EmbedLayerNormalization", with_first(EMBEDDING, "ids", -1), ("out", "lengths")), "input_ids has -1; expected 0 to 9"),
    (case("EmbedLayerNormalization", with_first(EMBEDDING, "ids", 10), ("out", "lengths")), "input_ids has 10; expected 0 to 9"),
    (case("EmbedLayerNormalization", with_first(EMBEDDING, "segments", -1), ("out", "lengths")), "segment_ids has -1; expected 0 to 1"),
    (case("EmbedLayerNormalization", with_first(PLACED, "at", -1), ("out", "lengths")), "the list of positions has -1; expected 0 to 5"),
    (microsoft_cases.rotary(X, [[0, 1, 2], [0, -1, 2]]), "position_ids has -1; expected 0 to 8"),
    (microsoft_cases.rotary(X, [-1]), "position_ids has -1; expected 0 to 8"),
    (microsoft_cases.gqa(grouped(at=np.array([[4, 7, 2], [1, 2, 3]]) - 5), do_rotary=1), "the list of positions has -1; expected 0 to 11"),
    (microsoft_cases.gqa(grouped(length=1, last=[3, 3], total=4)), "total_sequence_length less the number of queries is 3; expected 0 to 0, the length of the cache"),
    (microsoft_cases.gqa(grouped(length=1, past=3, last=[3, 3], total=6)), "total_sequence_length less the number of queries is 5; expected 0 to 3, the length of the cache"),
    (microsoft_cases.gqa(grouped(length=4, last=[2, 2], total=3)), "total_sequence_length less the number of queries is -1; expected 0 to 0, the length of the cache"),
    (microsoft_cases.gqa(grouped(length=4, last=[3, 9])), "a sequence has 10 keys, one more than seqlens_k says; expected 1 to 4"),
    (microsoft_cases.gqa(grouped(length=4, last=[-2, 3])), "a sequence has -1 keys, one more than seqlens_k says; expected 1 to 4"),
    (microsoft_cases.gqa(with_first(CHUNK, "last", 7)), "a sequence has 8 keys, one more than seqlens_k says; expected 1 to 7"),
]


@pytest.mark.parametrize("c, text", WRONG, ids=[text for _, text in WRONG])
@pytest.mark.parametrize("known, constant", [(False, False), (True, False), (True, True)])
def test_wrong_numbers(c, text, known, constant):
    """Ids, positions and lengths that ONNX Runtime refuses, too."""
    first, *others = given(c)
    with pytest.raises(rondel.Error, match=re.escape(text)) as error:
        ours(model_of(c, known, others if constant else ()), {first: c.feeds[first]} if constant else given(c))
    assert f"node 'node' ({c.op})" in str(error.value)
    if c.op != "RotaryEmbedding":  # a negative position reads any memory
        with pytest.raises(Exception, match="INVALID_ARGUMENT"):
            theirs(model_of(c), given(c))


CACHES = {"cos": real(9, 2), "sin": real(9, 1)}
UNFIT = [
    (case("MultiHeadAttention", heads(bias=real(1, 2, 3, 1)), num_heads=2), "'the bias of the scores' has extent 1 on axis 3"),
    (case("MultiHeadAttention", heads(q=X[:1], k=real(1, 5, 8), v=real(1, 5, 8), bias=real(4, 2, 3, 5)), num_heads=2), "'the scores with their bias' has extent 4 on axis 0"),
    (case("MultiHeadAttention", heads(mask=int32([1], [1])), num_heads=2), "'key_padding_mask' has extent 1 on axis 1"),
    (case("MultiHeadAttention", heads(mask=int32([1] * 5)), num_heads=2), "'key_padding_mask' has extent 1 on axis 0"),
    (case("MultiHeadAttention", heads(k=real(1, 5, 8), v=real(1, 5, 8)), num_heads=2), "'key' has extent 1 on axis 0 and 'query' has 2"),
    (case("Attention", microsoft_cases.attention(b=real(1)), num_heads=2), "'bias' has extent 1 on axis -1 and 'weights' has 24"),
    (case("MatMulNBits", microsoft_cases.n_bits(4, 32, 16).feeds | {"bias": real(1)}, K=32, N=5, block_size=16), "1 elements do not fill a shape of 5"),
    (case("SkipLayerNormalization", microsoft_cases.LAYER | {"gamma": real(1)}), "'gamma' has extent 1 on axis -1 and 'input' has 8"),
    (case("SkipLayerNormalization", microsoft_cases.LAYER | {"beta": real(8), "bias": real(1)}), "'bias' has extent 1 on axis -1 and 'input' has 8"),
    (case("SkipLayerNormalization", microsoft_cases.LAYER | {"skip": real(2, 1, 8)}), "'skip' has extent 1 on axis -2 and 'input' has 3"),
    (case("BiasGelu", {"x": real(2, 1), "bias": real(4)}), "'B' has extent 4 on axis -1 and 'A' has 1"),
    (case("FastGelu", {"x": real(2, 1), "bias": real(4)}), "'bias' has extent 4 on axis -1 and 'X' has 1"),
    (case("EmbedLayerNormalization", EMBEDDING | {"segments": int32([1])}, ("out", "lengths")), "'segment_ids' has extent 1 on axis 0 and 'input_ids' has 2"),
    (microsoft_cases.rotary(X, [[0, 1, 2]]), "'position_ids' has extent 1 on axis 0 and 'input' has 2"),
    (case("RotaryEmbedding", {"x": X, "at": np.array(microsoft_cases.AT)} | CACHES), "'sin_cache' has extent 1 on axis 1 and 'cos_cache' has 2"),
    (case("FusedConv", microsoft_cases.CONV | {"b": None, "z": real(1, 4, 1, 4)}, group=2), "'Z' has extent 1 on axis 2 and 'the convolution' has 4"),
    (case("GroupNorm", {"x": real(1, 2, 2, 4), "gamma": real(1), "beta": real(4)}, groups=2, activation=0), ("'scale' has extent 1", "1 elements for 4 channels")),
]


@pytest.mark.parametrize("c, words", UNFIT, ids=[f"{c.op} {k}" for k, (c, _) in enumerate(UNFIT)])
@pytest.mark.parametrize("known", [False, True])
def test_inputs_are_not_broadcast_to_each_other(c, words, known):
    """ONNX Runtime refuses them, too; without a kernel for GroupNorm."""
    with refused(rondel.Error, words, f"node 'node' ({c.op})"):
        ours(model_of(c, known), given(c))
    with pytest.raises(Exception, match="INVALID_ARGUMENT|NOT_IMPLEMENTED|NotImplemented|FAIL|RUNTIME_EXCEPTION"):
        theirs(model_of(c), given(c))


def test_ends_of_a_packed_batch():
    """Of the 3 * batch + 2 numbers, the first are the lengths, as in ONNX Runtime."""
    mask = int32(2, 5, 0, 3, 6, 0, 5, 10)
    c = case("MultiHeadAttention", heads(mask=mask), num_heads=2)
    short = case("MultiHeadAttention", c.feeds | {"mask": mask[:2]}, num_heads=2)
    for known in (False, True):
        agree(c, ours(model_of(c, known), given(c)), ours(model_of(short), given(short)))
    agree(c, ours(model_of(c), given(c)), theirs(model_of(c), given(c)))


def test_narrower_heads_than_their_cache_at_run_time():
    c = microsoft_cases.rotary(real(2, 3, 16), [4], num_heads=2)
    with pytest.raises(rondel.CallerError, match="96 elements do not fill a shape of 48"):
        ours(model_of(c, known=False), given(c))


# Files that ONNX Runtime writes.


def optimised(model, folder):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(folder / "optimised.onnx")
    options.log_severity_level = 4
    onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return folder / "optimised.onnx"


def parsed(text, **weights):
    model = onnx.parser.parse_model(text)
    model.graph.initializer.extend(onnx.numpy_helper.from_array(v, k) for k, v in weights.items())
    onnx.checker.check_model(model)
    return model


def transformer(opset=17):
    """One block: attention with two heads, then two layers with a gelu, each added and normalised."""
    norm = "LayerNormalization"
    text = f"""
    <ir_version: 8, opset_import: ["" : {opset}]>
    block (float[batch, length, 8] x) => (float[batch, length, 8] y) {{
      apart = Constant <value_ints = [0, 0, 2, 4]> ()
      joined = Constant <value_ints = [0, 0, 8]> ()
      q0 = MatMul (x, wq)
      q1 = Add (q0, bq)
      q2 = Reshape (q1, apart)
      q = Transpose <perm = [0, 2, 1, 3]> (q2)
      k0 = MatMul (x, wk)
      k1 = Add (k0, bq)
      k2 = Reshape (k1, apart)
      k = Transpose <perm = [0, 2, 3, 1]> (k2)
      v0 = MatMul (x, wv)
      v1 = Add (v0, bq)
      v2 = Reshape (v1, apart)
      v = Transpose <perm = [0, 2, 1, 3]> (v2)
      s = MatMul (q, k)
      root = Constant <value = float {{2.0}}> ()
      scaled = Div (s, root)
      p = Softmax <axis = -1> (scaled)
      o = MatMul (p, v)
      o1 = Transpose <perm = [0, 2, 1, 3]> (o)
      o2 = Reshape (o1, joined)
      o3 = MatMul (o2, wo)
      o4 = Add (o3, bq)
      a = Add (o4, x)
      n = {norm} <axis = -1, epsilon = 0.00001> (a, gamma, beta)
      h0 = MatMul (n, w1)
      h1 = Add (h0, b1)
      sqrt2 = Constant <value = float {{1.4142135}}> ()
      one = Constant <value = float {{1.0}}> ()
      half = Constant <value = float {{0.5}}> ()
      g1 = Div (h1, sqrt2)
      g2 = Erf (g1)
      g3 = Add (g2, one)
      g4 = Mul (h1, g3)
      h2 = Mul (g4, half)
      h3 = MatMul (h2, w2)
      h4 = Add (h3, bq)
      r = Add (h4, n)
      y = {norm} <axis = -1, epsilon = 0.00001> (r, gamma, beta)
    }}"""
    rng = np.random.default_rng(1)
    shapes = dict(wq=(8, 8), wk=(8, 8), wv=(8, 8), wo=(8, 8), bq=(8,), gamma=(8,), beta=(8,), w1=(8, 32), b1=(32,), w2=(32, 8))
    return parsed(text, **{k: rng.normal(0, 0.4, s).astype(np.float32) for k, s in shapes.items()})


def convolutions():
    text = """
    <ir_version: 8, opset_import: ["" : 17]>
    net (float[n, 3, 8, 8] x) => (float[n, 5] y) {
      a = Conv <pads = [1, 1, 1, 1]> (x, w1, b1)
      b = Relu (a)
      c = Conv <pads = [1, 1, 1, 1]> (b, w2, b2)
      d = Add (c, b)
      e = Relu (d)
      f = AveragePool <kernel_shape = [2, 2], strides = [2, 2]> (e)
      g = Sigmoid (f)
      h = GlobalAveragePool (g)
      i = Flatten (h)
      j = Gemm (i, w3, b3)
      y = LeakyRelu <alpha = 0.1> (j)
    }"""
    rng = np.random.default_rng(2)
    shapes = dict(w1=(6, 3, 3, 3), b1=(6,), w2=(6, 6, 3, 3), b2=(6,), w3=(6, 5), b3=(5,))
    return parsed(text, **{k: rng.normal(0, 0.4, s).astype(np.float32) for k, s in shapes.items()})


def ops_of(path):
    return {n.op_type for n in onnx.load(path).graph.node}


def same_results(path, tolerance=2e-5, **feeds):
    found, wanted = rondel.InferenceSession(str(path)).run(None, feeds), theirs(str(path), feeds)
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


def test_optimised_transformer(tmp_path):
    path = optimised(transformer(), tmp_path)
    assert {"BiasGelu", "SkipLayerNormalization", "FusedMatMul"} & ops_of(path) and "Erf" not in ops_of(path)
    same_results(path, x=real(2, 5, 8))


def test_optimised_convolutions(tmp_path):
    path = optimised(convolutions(), tmp_path)
    assert {"FusedConv", "FusedGemm"} <= ops_of(path)
    same_results(path, x=real(2, 3, 8, 8))


def test_layer_normalisation_before_opset_17(tmp_path):
    """The optimiser makes LayerNormalization of its parts, in ONNX's domain, whatever the opset."""
    text = """
    <ir_version: 8, opset_import: ["" : 13]>
    net (float[n, 8] x) => (float[n, 8] y) {
      mean = ReduceMean <axes = [-1]> (x)
      d = Sub (x, mean)
      two = Constant <value = float {2.0}> ()
      square = Pow (d, two)
      variance = ReduceMean <axes = [-1]> (square)
      small = Constant <value = float {0.00001}> ()
      sum = Add (variance, small)
      root = Sqrt (sum)
      n = Div (d, root)
      scaled = Mul (n, gamma)
      y = Add (scaled, beta)
    }"""
    path = optimised(parsed(text, gamma=real(8), beta=real(8)), tmp_path)
    assert ops_of(path) == {"LayerNormalization"}
    same_results(path, x=real(3, 8))


@pytest.mark.parametrize("signed", [False, True])
def test_dynamically_quantised(tmp_path, signed):
    from onnxruntime.quantization import QuantType, quantize_dynamic

    onnx.save(transformer(), tmp_path / "block.onnx")
    quantize_dynamic(tmp_path / "block.onnx", tmp_path / "q.onnx", weight_type=QuantType.QInt8 if signed else QuantType.QUInt8, reduce_range=signed)
    same_results(tmp_path / "q.onnx", 1e-3, x=real(2, 5, 8))
    path = optimised(onnx.load(tmp_path / "q.onnx"), tmp_path)
    assert "DynamicQuantizeMatMul" in ops_of(path)
    same_results(path, 1e-3, x=real(2, 5, 8))


def test_statically_quantised(tmp_path):
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

    class Data(CalibrationDataReader):
        def __init__(self):
            self.rows = iter([{"x": real(2, 3, 8, 8)} for _ in range(4)])

        def get_next(self):
            return next(self.rows, None)

    onnx.save(convolutions(), tmp_path / "net.onnx")
    quantize_static(tmp_path / "net.onnx", tmp_path / "q.onnx", Data(), quant_format=QuantFormat.QOperator, activation_type=QuantType.QUInt8, weight_type=QuantType.QUInt8)
    made = ops_of(tmp_path / "q.onnx")
    assert {"QLinearConv", "QLinearAdd", "QLinearSigmoid", "QLinearAveragePool", "QLinearGlobalAveragePool", "QGemm"} <= made
    x = real(2, 3, 8, 8)
    (found,), (wanted,) = (run(str(tmp_path / "q.onnx"), {"x": x}) for run in (lambda p, f: rondel.InferenceSession(p).run(None, f), theirs))
    step = max(onnx.numpy_helper.to_array(t).item() for t in onnx.load(tmp_path / "q.onnx").graph.initializer if t.name.endswith("y_scale"))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=2 * step)


def test_weights_of_four_bits(tmp_path):
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

    quantiser = MatMulNBitsQuantizer(transformer(), block_size=16, is_symmetric=False)
    quantiser.process()
    onnx.save(quantiser.model.model, tmp_path / "q.onnx")
    assert "MatMulNBits" in ops_of(tmp_path / "q.onnx")
    same_results(tmp_path / "q.onnx", x=real(2, 5, 8))
