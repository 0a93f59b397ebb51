"""What is refused of ONNX Runtime's own ops: the error names node, op, and the input, output or attribute with its value."""

import re

import microsoft_cases
import numpy as np
import onnx
import pytest
import rondel
from microsoft_cases import EMBEDDING, X, block_table, case, causal_conv, grouped, heads, int32, linear, n_bits, real
from microsoft_models import given, model_of, ours, theirs, without_extents
from models import refused



def scaled(name, of=np.uint8, scale=0.1):
    """The scale and the zero point of a tensor."""
    return {f"{name}_scale": np.array(scale, np.float32), f"{name}_zero": np.array(3, of)}


def added(odd=None, of=np.uint8, **more):
    """QLinearAdd of bytes; one operand, or the result, may have another dtype than the others."""
    dtypes = {"a": np.uint8, "b": np.uint8, "y": np.uint8, odd: of}
    feeds = {}
    for name in ("a", "b"):
        feeds |= {name: np.ones((3, 4), dtypes[name])} | scaled(name, dtypes[name])
    return case("QLinearAdd", feeds | scaled("y", dtypes["y"]) | more)


def products(**more):
    feeds = {"a": np.ones((2, 3, 8), np.uint8), "w": np.ones((8, 5), np.uint8), "a_scale": np.float32([0.1]), "w_scale": np.float32([0.1])}
    return case("MatMulIntegerToFloat", feeds | {"a_zero": None, "w_zero": None, "bias": None} | more)


def gemm(**more):
    feeds = {"a": np.ones((3, 8), np.uint8), **scaled("a"), "w": np.ones((8, 5), np.uint8), **scaled("w"), "c": None}
    return case("QGemm", feeds | more)


def q_attention(bias):
    feeds = {"x": np.ones((2, 3, 5), np.uint8), "w": np.ones((5, 24), np.uint8), "bias": bias, "x_scale": np.float32([0.1]), "w_scale": np.float32([0.1])}
    return case("QAttention", feeds, num_heads=2)


def few(kind="bytes", **more):
    """5 rows of 2 blocks."""
    return case("MatMulNBits", n_bits(4, 32, 16, kind).feeds | more, K=32, N=5, block_size=16)


def rows(bits=4, **more):
    """6 rows of 4 blocks."""
    return block_table(bits, True) | more


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
    (case("MatMulNBits", n_bits(4, 32, 32).feeds, K=32, N=5, block_size=16), "input 1 ('B') is u8[5, 1, 16]; expected [5, 2, 8]"),
    (case("MatMulNBits", n_bits(4, 32, 16).feeds, K=2**62, N=5, block_size=16), f"attribute 'K' = {2**62}"),
    (case("Inverse", {"x": real(17, 17)}), "the inverse of f32[17, 17]"),
    (case("MatMulBnb4", {"a": real(3, 16), "b": np.zeros(8, np.uint8), "s": real(1)}, K=16, N=1, block_size=16, quant_type=2), "attribute 'quant_type' = 2"),
    (case("GatherBlockQuantized", block_table(4).feeds, block_size=16, gather_axis=1), "attribute 'gather_axis' = 1"),
    (case("GroupQueryAttention", grouped(), num_heads=3, kv_num_heads=2), "3 heads of queries are no multiple of 2 heads of keys and values"),
    (microsoft_cases.rotary(real(2, 3, 16), [4], num_heads=2), "16 elements are 2 heads, and cos_cache has 2 columns"),
    (case("MultiHeadAttention", {"q": X, "kv": real(2, 3, 2, 2, 4), "v": None, "b": real(24)}, num_heads=2), "a bias is given beside keys and values in one tensor"),
    (microsoft_cases.rotary(real(2, 3, 8), [4], is_packed_batching=1), "attribute 'is_packed_batching' = 1"),
    (case("Attention", microsoft_cases.attention(), num_heads=2, unidirectional=2), "attribute 'unidirectional' = 2"),
    (case("FusedMatMul", {"a": real(3, 4), "b": real(4, 5)}, transA=-1), "attribute 'transA' = -1"),
    (case("SkipLayerNormalization", microsoft_cases.LAYER | {"x": real(1, 3, 8)}), "48 elements do not fill a shape of 24"),
    (case("QGemm", {"a": np.ones((2, 2), np.uint8), "as": np.array(1, np.float32), "az": np.array(0, np.uint8), "b": np.ones((2, 2), np.uint8), "bs": np.array(1, np.float32), "bz": np.array(0, np.uint8), "c": None, "ys": np.array(1, np.float32)}), "one of y_scale and y_zero_point is given"),
    (case("FusedConv", microsoft_cases.CONV, group=2, activation="Mish"), "attribute 'activation' = \"Mish\""),
    (case("FusedGemm", microsoft_cases.GEMM, activation="Mish"), "attribute 'activation' = \"Mish\""),
    (case("MatMulNBits", n_bits(4, 32, 16).feeds, K=32, N=5, bits=3, block_size=16), "attribute 'bits' = 3"),
    (case("MatMulNBits", n_bits(4, 32, 16).feeds, K=32, N=5, block_size=24), "attribute 'block_size' = 24"),
    (case("DynamicQuantizeLSTM", microsoft_cases.lstm(np.uint8, w_scale=np.ones(2, np.float32)), hidden_size=4), "input 8 is f32[2]; expected directions 1 on axis 0"),
    (case("SkipLayerNormalization", microsoft_cases.LAYER, ("out", "mean")), "output 1 ('mean')"),
    (case("SimplifiedLayerNormalization", {"x": real(2, 8), "gamma": real(8)}, ("out", "inverse"), domain=""), "output 1 ('inv_std_var')"),
    (case("GroupNorm", {"x": real(1, 2, 2, 4), "gamma": real(4), "beta": real(4)}, groups=2, activation=3), "attribute 'activation' = 3"),
    (case("Gelu", {"x": real(3)}, approximate="tanh"), "attribute 'approximate' is not one of Gelu"),
    (case("Gelu", {"x": np.arange(3)}), "input 0 ('X') is tensor(int64)"),
    (case("QLinearConcat", {"s": np.array(1, np.float32), "z": np.array(0, np.uint8), "x": np.zeros(2, np.uint8)}, axis=0), "3 inputs are given"),
    (case("MoE", {"x": real(3)}), "op MoE of com.microsoft, version 1 is not supported"),
    (linear(decay=6, beta=2, state_window=2), "attribute 'state_window' = 2"),
    (linear(decay=6, beta=2, update_rule="rwkv"), "attribute 'update_rule' = \"rwkv\""),
    (linear(decay=6), "input 5 ('beta') is left out; update_rule \"gated_delta\" reads it"),
    (linear(heads=(3, 2, 2), decay=6, beta=2), "q_num_heads = 3 and kv_num_heads = 2; expected one to be a multiple of the other"),
    (linear(heads=(4, 4, 2), decay=6, beta=2), "input 1 ('key') is f32[2, 4, 12]; expected heads of 3 elements, whose number divides 2"),
    (causal_conv(state_window=1), "attribute 'state_window' = 1"),
    (causal_conv(ndim=2), "attribute 'ndim' = 2"),
    (causal_conv(activation="relu"), "attribute 'activation' = \"relu\""),
    (causal_conv(dilation=0), "attribute 'dilation' = 0"),
    (added("b", np.int8), "input 0 ('A') is u8[3, 4] and input 3 ('B') is i8[3, 4]; expected one dtype"),
    (added("y", np.int8), "input 0 ('A') is u8[3, 4] and input 7 ('C_zero_point') is i8[]; expected one dtype"),
    (case("MatMulNBits", n_bits(4, 32, 16).feeds | {"zero": np.zeros((5, 2), np.int8)}, K=32, N=5, block_size=16), "input 3 ('zero_points') is tensor(int8)"),
    (case("QLinearGlobalAveragePool", dict(x=np.ones(3, np.uint8), **scaled("x"), **scaled("y")), channels_last=1), "channels last in f32[3]; expected rank 2 or more"),
    (causal_conv(x=(2, 3, 4, 5)), "input 0 ('input') is f32[2, 3, 4, 5]; expected rank 3"),
    (microsoft_cases.gqa(grouped(bias=real(4, 3, 3))), "input 10 ('attention_bias') is f32[4, 3, 3]; expected rank 4"),
    (microsoft_cases.gqa(grouped(at=np.array([0, 1, 2])), do_rotary=1), "input 9 ('position_ids') is i64[3]; expected rank 2"),
]


def test_layouts_of_one_processor_are_refused_with_what_to_do():
    made = onnx.load_from_string(model_of(case("Conv", {"x": real(1, 8, 4, 4), "w": real(8, 8, 3, 3)}, domain="com.microsoft.nchwc")))
    made.opset_import.append(onnx.helper.make_opsetid("com.microsoft.nchwc", 1))
    with refused(rondel.Error, "op Conv of com.microsoft.nchwc", "ORT_ENABLE_EXTENDED instead of ORT_ENABLE_ALL"):
        rondel.InferenceSession(made)


@pytest.mark.parametrize("c, text", REFUSED, ids=[text for _, text in REFUSED])
def test_what_is_not_supported_is_refused_by_name(c, text):
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
    (few(g_idx=np.array([*[0] * 31, 2], np.int32)), "g_idx has 2; expected 0 to 1"),
    (few(g_idx=np.array([*[0] * 31, -1], np.int32)), "g_idx has -1; expected 0 to 1"),
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
def test_ids_positions_and_lengths_out_of_range_are_refused(c, text, known, constant):
    """Ids, positions and lengths that ONNX Runtime refuses, too."""
    first, *others = given(c)
    with pytest.raises(rondel.Error, match=re.escape(text)) as error:
        ours(model_of(c, known, others if constant else ()), {first: c.feeds[first]} if constant else given(c))
    assert f"node 'node' ({c.op})" in str(error.value)
    if c.op != "RotaryEmbedding":  # a negative position reads any memory
        with pytest.raises(Exception, match="INVALID_ARGUMENT"):
            theirs(model_of(c), given(c))


CACHES = {"cos": real(9, 2), "sin": real(9, 1)}

DECODED = dict(length=1, past=4, last=[4, 4], total=5)


def heads_of_two(**caches):
    """Heads of two elements, so that one column of cosines has what another has, too."""
    return case("RotaryEmbedding", {"x": real(2, 2, 3, 2), "at": np.array(microsoft_cases.AT)} | caches)


UNFIT = [
    (microsoft_cases.gqa(grouped(k=real(1, 3, 32))), "'key' has extent 1 on axis 0 and 'query' has 2"),
    (microsoft_cases.gqa(grouped(q=real(1, 3, 64))), "'key' has extent 2 on axis 0 and 'query' has 1"),
    (microsoft_cases.gqa(grouped(v=real(2, 3, 64))), "'value' has extent 64 on axis 2 and 'key' has 32"),
    (microsoft_cases.gqa(grouped(k=real(2, 3, 64), v=real(2, 3, 64))), "'a head of key' has extent 32 on axis 3 and 'a head of query' has 16"),
    (microsoft_cases.gqa(grouped(k=real(2, 4, 32))), "'key' has extent 4 on axis 1 and 'query' has 3"),
    (microsoft_cases.gqa(grouped(**DECODED, past_k=real(1, 2, 4, 16), past_v=real(1, 2, 4, 16))), "'past_key' has extent 1 on axis 0 and 'query' has 2"),
    (microsoft_cases.gqa(grouped(**DECODED, past_k=real(2, 1, 4, 16), past_v=real(2, 1, 4, 16))), "'past_key' has extent 1 on axis 1"),
    *((microsoft_cases.gqa(grouped(**DECODED, past_v=real(2, 2, length, 16))), f"'past_value' has extent {length} on axis 2 and 'past_key' has 4") for length in (3, 7)),
    (microsoft_cases.gqa(grouped(last=[2])), "'seqlens_k' has extent 1 on axis 0 and 'query' has 2"),
    *((microsoft_cases.gqa(grouped(at=np.zeros(shape, np.int64)), do_rotary=1), "'position_ids' has extent 1") for shape in ((1, 3), (2, 1))),
    *((microsoft_cases.gqa(grouped(bias=real(2, 4, *shape))), f"'attention_bias' has extent {shape[shape[0] == 3]}") for shape in ((1, 3), (3, 2), (3, 9))),
    *((microsoft_cases.gqa(grouped(**DECODED, bias=real(2, 4, 1, columns))), f"'attention_bias' has extent {columns} on axis 3 and 'total_sequence_length' has 5") for columns in (4, 6)),
    (microsoft_cases.gqa(grouped(batch=1, bias=real(2, 4, 3, 3))), "'the scores with attention_bias' has extent 2 on axis 0"),
    (microsoft_cases.gqa(grouped(sin=real(12, 1)), do_rotary=1), "'sin_cache' has extent 1 on axis 1 and 'cos_cache' has 8"),
    (heads_of_two(cos=real(9, 2), sin=real(9, 2)), "'half of the turned elements of a head' has extent 1"),
    (case("Attention", microsoft_cases.attention(mask=int32([1, 1, 0])), num_heads=2), "'mask_index' has extent 1 on axis 0 and 'the queries' has 2"),
    *((case("Attention", microsoft_cases.attention(mask=np.ones(shape, np.int32)), num_heads=2), "'mask_index' has extent 1") for shape in ((2, 1, 3), (2, 3, 1))),
    (case("Attention", microsoft_cases.attention(past=real(3, 2, 2, 2, 4)), ("out", "present"), num_heads=2), "'past' has extent 3 on axis 0"),
    (linear(decay=6, beta=2) | {"decay": real(1, 4, 6)}, "'decay' has extent 1 on axis 0 and 'query' has 2"),
    (linear(decay=6, beta=2) | {"beta": real(2, 8, 1)}, "'beta' has extent 8 on axis 1 and 'query' has 4"),
    (linear(decay=12, beta=2), "the last axis of input 4 ('decay')"),
    (linear(heads=(2, 1, 1), decay=1, beta=3), "the last axis of input 5 ('beta')"),
    *((linear(decay=6, beta=2) | {"past": real(*shape)}, "'past_state' has extent 1") for shape in ((1, 2, 3, 5), (2, 1, 3, 5), (2, 2, 1, 5), (2, 2, 3, 1))),
    *((causal_conv(past=shape), "'past_state' has extent") for shape in ((1, 3, 3), (2, 1, 3), (2, 3, 4))),
    (causal_conv(bias=False) | {"w": real(6, 1, 4)}, "'weight' has extent 6 on axis 0 and 'the channels of input' has 3"),
    (causal_conv() | {"b": real(1)}, "'bias' has extent 1 on axis 0 and 'weight' has 3"),
    (case("MultiHeadAttention", heads(bias=real(1, 2, 3, 1)), num_heads=2), "'the bias of the scores' has extent 1 on axis 3"),
    (case("MultiHeadAttention", heads(q=X[:1], k=real(1, 5, 8), v=real(1, 5, 8), bias=real(4, 2, 3, 5)), num_heads=2), "'the scores with their bias' has extent 4 on axis 0"),
    (case("MultiHeadAttention", heads(mask=int32([1], [1])), num_heads=2), "'key_padding_mask' has extent 1 on axis 1"),
    (case("MultiHeadAttention", heads(mask=int32([1] * 5)), num_heads=2), "'key_padding_mask' has extent 1 on axis 0"),
    (case("MultiHeadAttention", heads(k=real(1, 5, 8), v=real(1, 5, 8)), num_heads=2), "'key' has extent 1 on axis 0 and 'query' has 2"),
    (case("Attention", microsoft_cases.attention(b=real(1)), num_heads=2), "'bias' has extent 1 on axis -1 and 'weights' has 24"),
    (few(bias=real(1)), ("input 5 ('bias') is f32[1]; expected [5]", "in the run not [5]")),
    (few(bias=real(1, 5)), ("input 5 ('bias') is f32[1, 5]; expected [5]", "input 5 ('bias') is f32[?, ?]; expected [5]")),
    (few(scales=real(2, 5)), ("expected [5, 2] or [10]", "in the run not [5, 2] or [10]")),
    (few(zero=np.zeros((1, 5), np.uint8)), ("expected [5, 1] or [5]", "in the run not [5, 1] or [5]")),
    (few("real", zero=real(2, 5)), ("expected [5, 2] or [10]", "in the run not [5, 2] or [10]")),
    (few(b=np.zeros((5, 8, 2), np.uint8)), ("expected [5, 2, 8]", "in the run not [5, 2, 8]")),
    (few(g_idx=np.zeros(1, np.int32)), ("expected 32 elements", "'g_idx' has in the run not 32 elements")),
    (rows(scales=real(7, 4)), "'scales' has extent 7 on axis 0 and 'data' has 6"),
    (rows(zero=np.zeros((7, 2), np.uint8)), "'zero_points' has extent 7 on axis 0 and 'data' has 6"),
    (rows(zero=np.zeros((6, 4), np.uint8)), ("input 3 ('zero_points') is u8[6, 4]; expected 2 on axis 1", "lengths on axis 1 do not agree")),
    (rows(scales=real(6, 1)), ("input 2 ('scales') is f32[6, 1]; expected 4 on axis 1", "lengths on axis 1 do not agree")),
    (products(a_scale=np.ones(3, np.float32)), ("input 2 ('a_scale') is f32[3]; expected one element", "3 elements do not fill a shape of 1")),
    *((products(bias=real(*shape)), "'bias' has extent") for shape in ((1,), (3, 5))),
    (case("DynamicQuantizeMatMul", {"a": real(3, 8), "w": np.ones((8, 5), np.uint8), "w_scale": np.float32([0.1]), "w_zero": None, "bias": real(1)}), "'bias' has extent 1"),
    (gemm(a=np.ones((1, 3, 8), np.uint8)), ("u8[1, 3, 8]; expected rank 2", "u8[?, ?, ?]; expected rank 2")),
    (gemm(a_scale=np.ones(3, np.float32)), ("input 1 ('a_scale') is f32[3]; expected one element", "3 elements do not fill a shape of 1")),
    (gemm(c=np.ones((2, 3, 5), np.int32)), "30 elements do not fill a shape of 15"),
    (q_attention(real(1)), "'bias' has extent 1 on axis 0"),
    (added(a_scale=np.ones(4, np.float32)), ("input 1 ('A_scale') is f32[4]; expected one element", "4 elements do not fill a shape of 1")),
    (case("EmbedLayerNormalization", EMBEDDING | {"mask": int32([1])}, ("out", "lengths")), "'mask' has extent 1 on axis 0 and 'input_ids' has 2"),
    (case("EmbedLayerNormalization", EMBEDDING | {"gamma": real(1)}, ("out", "lengths")), "'gamma' has extent 1 on axis 0 and 'word_embedding' has 8"),
    (case("EmbedLayerNormalization", EMBEDDING | {"positions": real(6, 1)}, ("out", "lengths")), "'position_embedding' has extent 1 on axis 1 and 'word_embedding' has 8"),
    (case("SkipLayerNormalization", microsoft_cases.LAYER | {"gamma": real(1)}), "'gamma' has extent 1 on axis -1 and 'input' has 8"),
    (case("SkipLayerNormalization", microsoft_cases.LAYER | {"beta": real(8), "bias": real(1)}), "'bias' has extent 1 on axis -1 and 'input' has 8"),
    (case("SkipLayerNormalization", microsoft_cases.LAYER | {"skip": real(2, 1, 8)}), "'skip' has extent 1 on axis -2 and 'input' has 3"),
    (case("BiasGelu", {"x": real(2, 1), "bias": real(4)}), "'B' has extent 4 on axis -1 and 'A' has 1"),
    (case("FastGelu", {"x": real(2, 1), "bias": real(4)}), "'bias' has extent 4 on axis -1 and 'X' has 1"),
    (case("EmbedLayerNormalization", EMBEDDING | {"segments": int32([1])}, ("out", "lengths")), "'segment_ids' has extent 1 on axis 0 and 'input_ids' has 2"),
    (microsoft_cases.rotary(X, [[0, 1, 2]]), "'position_ids' has extent 1 on axis 0 and 'input' has 2"),
    (case("RotaryEmbedding", {"x": X, "at": np.array(microsoft_cases.AT)} | CACHES), "'sin_cache' has extent 1 on axis 1 and 'cos_cache' has 2"),
    (case("FusedConv", microsoft_cases.CONV | {"b": None, "z": real(1, 4, 1, 4)}, group=2), "'Z' has extent 1 on axis 2 and 'the convolution' has 4"),
    (case("GroupNorm", {"x": real(1, 2, 2, 4), "gamma": real(1), "beta": real(4)}, groups=2, activation=0), ("1 elements for 4 channels", "'scale' has extent 1")),
]


@pytest.mark.parametrize("c, words", UNFIT, ids=[f"{c.op} {k}" for k, (c, _) in enumerate(UNFIT)])
@pytest.mark.parametrize("known", [False, True])
def test_inputs_are_not_broadcast_to_each_other(c, words, known):
    """ONNX Runtime refuses them, too; without a kernel for GroupNorm. Of a pair of texts, the second is for extents that only the run knows."""
    text = words if isinstance(words, str) else words[not known]
    with refused(rondel.Error, text, f"node 'node' ({c.op})"):
        ours(*((model_of(c), given(c)) if known else without_extents(c)))
    with pytest.raises(Exception, match="INVALID_ARGUMENT|NOT_IMPLEMENTED|NotImplemented|FAIL|RUNTIME_EXCEPTION"):
        theirs(model_of(c), given(c))


@pytest.mark.parametrize("known", [False, True])
def test_one_column_is_not_broadcast_to_several_scales(known):
    """ONNX Runtime reads and writes memory that is not its own."""
    several = {"w": np.ones((8, 1), np.uint8), "w_scale": np.ones(5, np.float32)}
    for c, name in (
        (products(**several), "b_scale"), (gemm(**several), "b_scale"),
        (case("DynamicQuantizeMatMul", {"a": real(2, 3, 8), **several}), "b_scale"),
    ):  # fmt: skip
        with refused(rondel.Error, f"('{name}') is f32[5] beside 1 columns" if known else "elements do not fill a shape of", f"node 'node' ({c.op})"):
            ours(model_of(c, known), given(c))


def test_heads_narrower_than_their_cache_are_refused_in_the_run():
    c = microsoft_cases.rotary(real(2, 3, 16), [4], num_heads=2)
    with pytest.raises(rondel.CallerError, match="96 elements do not fill a shape of 48"):
        ours(model_of(c, known=False), given(c))
