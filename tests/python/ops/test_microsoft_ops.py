"""ONNX Runtime's own ops beside ONNX Runtime: alone, in loops, exported, with empty operands and caches.

Ops and forms that ONNX Runtime does not have on the CPU are compared with their text, in NumPy. test_microsoft_refusals.py: what is refused.
"""

import math
import re

import microsoft_cases
import models
import numpy as np
import onnx
import pytest
import rondel
from microsoft_cases import CASES, Case, case, grouped, heads, int32, real
from microsoft_models import agree, given, looped, model_of, ours, theirs, without_extents
from onnx import TensorProto, helper


@pytest.mark.parametrize("c", CASES, ids=str)
def test_a_case_gives_what_onnxruntime_gives(c):
    feeds = given(c)
    wanted = theirs(model_of(c), feeds)
    if c.op != "Inverse":  # needs the number of rows
        agree(c, ours(*without_extents(c)), wanted)
    first, *others = feeds
    agree(c, ours(model_of(c, constants=others), {first: feeds[first]}), wanted)


FIRSTS = {c.op: c for c in reversed(CASES)}.values()


@pytest.mark.parametrize("c", FIRSTS, ids=lambda c: c.op)
def test_an_op_in_a_loop_gives_what_onnxruntime_gives(c):
    agree(c, ours(looped(c), given(c)), theirs(looped(c), given(c)))


@pytest.mark.parametrize("c", FIRSTS, ids=lambda c: c.op)
def test_an_op_is_exported_as_standard_ops(c):
    written = onnx.load_from_string(rondel.export(model_of(c)))
    assert all(n.domain in ("", "ai.onnx") for n in written.graph.node)
    run = ours if c.op == "Inverse" else theirs  # ONNX Runtime has Det for float32 only
    agree(c, run(written.SerializeToString(), given(c)), ours(model_of(c), given(c)))


def test_the_gradient_goes_through_attention():
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


def test_a_query_that_attends_to_no_key_has_no_gradient():
    """Its result is 0, whatever the queries, keys, values and biases are; the other queries have the gradients of a difference."""
    feeds = {k: v.astype(np.float64) if v is not None and v.dtype == np.float32 else v for k, v in grouped(bias=microsoft_cases.masked_bias(3)).items()}
    made = onnx.load_from_string(model_of(microsoft_cases.gqa(feeds)))
    made.graph.node.append(helper.make_node("ReduceSumSquare", ["out"], ["loss"], keepdims=0))
    del made.graph.output[:]
    made.graph.output.append(helper.make_tensor_value_info("loss", TensorProto.DOUBLE, []))
    feeds, names = {k: v for k, v in feeds.items() if v is not None}, ["q", "k", "v", "bias"]
    gradients = dict(zip(names, ours(rondel.grad(made, names), feeds)[1:], strict=True))
    assert not gradients["q"][0, 0].any() and not gradients["bias"][0, :, 0].any()
    for name in names[:3]:
        along, small = real(*feeds[name].shape, dtype=np.float64), 1e-5
        up, down = (float(ours(made, feeds | {name: feeds[name] + step * along})[0]) for step in (small, -small))
        assert np.sum(gradients[name] * along) == pytest.approx((up - down) / (2 * small), rel=1e-6)


# ---- forms beside ONNX Runtime ---------------------------------------------------------------------------


def test_the_ranks_of_caches_need_not_be_known():
    c = microsoft_cases.gqa(grouped(length=1, past=8, last=[4, 4], total=5, bias=real(2, 1, 1, 5)), do_rotary=1)
    made = onnx.load_from_string(model_of(c))
    for declared in made.graph.input:
        declared.type.tensor_type.ClearField("shape")
    agree(c, ours(made, given(c)), theirs(made.SerializeToString(), given(c)))
    with pytest.raises(rondel.CallerError, match=re.escape("node 'node' (GroupQueryAttention)")):
        ours(made, given(c) | {"past_k": real(2, 2, 8)})


def test_caches_may_be_of_double_precision():
    c = microsoft_cases.gqa(grouped(length=1, past=8, last=[4, 4], total=5), do_rotary=1)
    doubled = {k: v.astype(np.float64) if v.dtype == np.float32 else v for k, v in given(c).items()}
    found = ours(model_of(microsoft_cases.gqa(c.feeds | doubled, do_rotary=1)), doubled)
    assert {y.dtype for y in found} == {np.dtype(np.float64)}
    agree(c, [y.astype(np.float32) for y in found], theirs(model_of(c), given(c)))


def test_heads_may_be_packed_in_one_tensor():
    """Queries, keys and values in one tensor, or keys and values."""
    q, k, v = real(2, 3, 2, 4), real(2, 3, 2, 4), real(2, 3, 2, 4)
    apart = case("MultiHeadAttention", heads(q=q.reshape(2, 3, 8), k=k.reshape(2, 3, 8), v=v.reshape(2, 3, 8)), num_heads=2)
    (wanted,) = theirs(model_of(apart), given(apart))
    by_text(case("MultiHeadAttention", {"q": np.stack([q, k, v], 3)}, num_heads=2), wanted)
    by_text(case("MultiHeadAttention", {"q": q.reshape(2, 3, 8), "kv": np.stack([k, v], 3)}, num_heads=2), wanted)


def test_queries_and_keys_may_be_normalised():
    feeds = grouped()
    weights = {"q_weight": real(16), "k_weight": real(16)}

    def normalised(x, weight):
        y = x.reshape(*x.shape[:2], -1, 16)
        return (y / np.sqrt((y**2).mean(-1, keepdims=True) + 1e-6) * weight).reshape(x.shape).astype(np.float32)

    before = feeds | {"q": normalised(feeds["q"], weights["q_weight"]), "k": normalised(feeds["k"], weights["k_weight"])}
    plain = microsoft_cases.gqa(before, do_rotary=1)
    c = microsoft_cases.gqa(feeds | {"k_scale": None, "v_scale": None} | weights, do_rotary=1)
    agree(c, ours(model_of(c), given(c)), theirs(model_of(plain), given(plain)))


def test_scores_may_be_an_output():
    """The products of queries and keys, scaled and masked."""
    c = case("MultiHeadAttention", heads(mask=int32([1, 1, 0, 1, 1], [0, 1, 1, 1, 0])), ("out", "", "", "qk"), num_heads=2)
    model = onnx.load_from_string(model_of(c))
    model.graph.output[1].CopyFrom(helper.make_tensor_value_info("qk", TensorProto.FLOAT, None))
    agree(c, ours(model_of(c), given(c)), theirs(model.SerializeToString(), given(c)))


def test_a_mask_may_have_the_ends_of_a_packed_batch():
    """Of the 3 * batch + 2 numbers, the first are the lengths, as in ONNX Runtime."""
    mask = int32(2, 5, 0, 3, 6, 0, 5, 10)
    c = case("MultiHeadAttention", heads(mask=mask), num_heads=2)
    short = case("MultiHeadAttention", c.feeds | {"mask": mask[:2]}, num_heads=2)
    for known in (False, True):
        agree(c, ours(model_of(c, known), given(c)), ours(model_of(short), given(short)))
    agree(c, ours(model_of(c), given(c)), theirs(model_of(c), given(c)))


@pytest.mark.parametrize("shape", [(0, 3, 8), (2, 0, 8)])
def test_operands_may_have_no_elements(shape):
    x = np.zeros(shape, np.float32)
    grouped_heads = grouped(batch=shape[0], length=shape[1]) if shape[1] else {}
    for c in (
        case("Attention", {"x": x, "w": real(8, 24), "b": real(24)}, num_heads=2),
        case("MultiHeadAttention", {"q": x, "k": x, "v": x}, num_heads=2),
        case("RotaryEmbedding", {"x": x, "at": np.zeros(shape[:2], np.int64), "cos": real(9, 2), "sin": real(9, 2)}, interleaved=1),
        case("SkipLayerNormalization", {"x": x, "skip": x, "gamma": real(8)}),
        case("LinearAttention", {"q": x, "k": x, "v": x, "past": None, "decay": x, "beta": x}, microsoft_cases.STATE, q_num_heads=8, kv_num_heads=8),
        case("Attention", {"x": x, "w": real(8, 24), "b": real(24), "mask": np.full(shape[0], 2, np.int32)}, num_heads=2),
        case("Attention", {"x": x, "w": real(8, 24), "b": real(24), "mask": np.zeros(2 * shape[0], np.int32)}, num_heads=2),
        case("MultiHeadAttention", heads(q=x, k=np.zeros((shape[0], 4, 8), np.float32), v=np.zeros((shape[0], 4, 8), np.float32), mask=np.full(shape[0], 2, np.int32)), num_heads=2),
    ):
        agree(c, ours(model_of(c, known=False), given(c)), theirs(model_of(c), given(c)))
    if grouped_heads:
        c = microsoft_cases.gqa(grouped_heads)
        assert [y.shape for y in ours(model_of(c, known=False), given(c))] == [(0, 3, 64), (0, 2, 3, 16), (0, 2, 3, 16)]


def test_attention_without_new_tokens_keeps_its_cache():
    """ONNX Runtime refuses a GroupQueryAttention of no queries."""
    c = microsoft_cases.gqa(grouped(length=0, past=3, last=[2, 2], total=3))
    out, keys, values = ours(model_of(c, known=False), given(c))
    assert out.shape == (2, 0, 64)
    agree(c, [keys, values], [c.feeds["past_k"], c.feeds["past_v"]])


@pytest.mark.parametrize("room", [0, 8])
def test_tokens_are_decoded_with_a_cache_in_a_loop(room):
    """Six tokens: the cache of keys and values grows, or has room for all."""
    text = """
    decode (float[1, 1, 64] x0, float[1, 2, n, 16] k0, float[1, 2, nv, 16] v0) => (float[1, 1, 64] x, float[1, 2, m, 16] k, float[1, 2, m, 16] v, float[6, 1, 1, 64] all)
    <int64 trips = {6}, bool yes = {1}, int64[1] list = {1}, int32 one = {1}> {
      x, k, v, all = Loop (trips, yes, x0, k0, v0) <body = step (int64 i, bool go, float[1, 1, 64] x1, float[1, 2, a, 16] k1, float[1, 2, av, 16] v1)
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
    made = models.model(text, domains={"com.microsoft": 1})
    weights = dict(wq=real(64, 64) / 8, wk=real(64, 32) / 8, wv=real(64, 32) / 8, cos=real(9, 8), sin=real(9, 8))
    made.graph.initializer.extend(onnx.numpy_helper.from_array(v, k) for k, v in weights.items())
    feeds = {"x0": real(1, 1, 64), "k0": real(1, 2, room, 16), "v0": real(1, 2, room, 16)}
    agree(CASES[0], ours(made.SerializeToString(), feeds), theirs(made.SerializeToString(), feeds))
    assert {found["execution"] for found in rondel.inspect(made).loops} == {"natively, as a whole"}
    with pytest.raises(rondel.CallerError, match="'past_value' on axis 2 is not as long as 'past_key' on axis 2"):
        ours(made.SerializeToString(), feeds | {"v0": real(1, 2, room + 1, 16)})


def test_zero_points_of_few_bits_may_be_of_double_precision():
    c = microsoft_cases.n_bits(4, 64, 32, "real")
    doubled = {k: v.astype(np.float64) if v.dtype == np.float32 else v for k, v in given(c).items()}
    (found,) = ours(model_of(Case(c.op, c.feeds | doubled, c.outputs, c.attributes)), doubled)
    assert found.dtype == np.float64
    agree(c, [found.astype(np.float32)], theirs(model_of(c), given(c)))


def test_prompts_may_be_padded():
    """The rows after the end of a sequence are any numbers in ONNX Runtime; keys and values are as given."""
    c = microsoft_cases.gqa(grouped(length=4, last=[1, 3]), do_rotary=1)
    found, wanted = ours(model_of(c), given(c)), theirs(model_of(c), given(c))
    agree(c, [found[0][0, :2], found[0][1], *found[1:]], [wanted[0][0, :2], wanted[0][1], *wanted[1:]])


def test_zero_points_stay_those_of_the_text_beside_g_idx():
    """ONNX Runtime reads other zero points than the text says if g_idx is given."""
    c = microsoft_cases.n_bits(4, 32, 16, "bytes")
    ordered = Case(c.op, c.feeds | {"g_idx": np.arange(32, dtype=np.int32) // 16}, c.outputs, c.attributes)
    agree(c, ours(model_of(ordered), given(ordered)), theirs(model_of(c), given(c)))


# ---- without a kernel on the CPU, beside their text ------------------------------------------------------


def gelu(x):
    return x / 2 * (1 + np.vectorize(math.erf)(x / np.sqrt(2)))


def by_text(c, wanted):
    agree(c, ours(model_of(c), given(c)), [np.asarray(wanted, np.float32)])


def test_sums_are_made_before_activations():
    x, bias, skip = real(2, 3, 8), real(8), real(2, 3, 8)
    by_text(case("BiasAdd", {"x": x, "bias": bias, "skip": skip}), x + bias + skip)
    by_text(case("BiasSplitGelu", {"x": x, "bias": bias}), (x + bias)[..., :4] * gelu((x + bias)[..., 4:]))
    e = np.exp((x + bias).reshape(2, -1))
    by_text(case("BiasSoftmax", {"x": x, "bias": bias}, axis=1, is_inner_broadcast=1), (e / e.sum(1, keepdims=True)).reshape(x.shape))
    by_text(case("BiasDropout", {"x": x, "bias": bias, "residual": skip}), x + bias + skip)
    a, w = real(3, 4), real(4, 8)
    s = a @ w + bias
    by_text(case("GemmFastGelu", {"a": a, "w": w, "bias": bias}), s / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (s + 0.044715 * s**3))))


def test_convolutions_may_have_channels_last():
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


def test_quantised_mean():
    x = microsoft_cases.bytes_(np.uint8, 3, 4)
    c = case("QLinearReduceMean", {"x": x, "x_scale": np.float32(0.1) + np.zeros((), np.float32), "x_zero": np.array(3, np.uint8), "y_scale": np.array(0.2, np.float32), "y_zero": np.array(5, np.uint8)}, axes=[1], keepdims=1)
    wanted = np.clip(np.rint((x.astype(float) - 3).mean(1, keepdims=True) * 0.1 / 0.2) + 5, 0, 255)
    assert np.abs(ours(model_of(c), given(c))[0].astype(float) - wanted).max() <= 1


def test_transposed_matrix_times_a_vector():
    """ONNX Runtime takes other elements of the matrix."""
    a, b = real(4, 3), real(4)
    by_text(case("FusedMatMul", {"a": a, "b": b}, transA=1, transB=1), a.T @ b)
