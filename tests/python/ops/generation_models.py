"""Small random decoders of the form of GPT-2, and models that generate with them."""

import numpy as np
import onnx
import onnx.parser
from onnx import TensorProto, helper, numpy_helper

HEADS, SIZE, WORDS = 2, 4, 12


def decoder(seed, layers=1):
    """A causal decoder with learned positions and `layers` layers of attention."""
    rng = np.random.default_rng(seed)
    width = HEADS * SIZE
    pasts = ", ".join(f"float[2,B,{HEADS},P,{SIZE}] past_{k}" for k in range(layers))
    presents = ", ".join(f"float[2,B,{HEADS},T,{SIZE}] present_{k}" for k in range(layers))
    text = f"""
    decoder (int32[B,S] input_ids, int32[B,S] position_ids, int32[B,T] attention_mask, {pasts}) => (float[B,S,{WORDS}] logits, {presents}) {{
      word = Gather (words, input_ids)
      place = Gather (places, position_ids)
      h0 = Add (word, place)
      masked = Cast <to = 1> (attention_mask)
      kept = Unsqueeze (masked, axes12)
      dropped = Sub (one, kept)
      of_pads = Mul (dropped, least)
      mask_shape = Shape (attention_mask)
      total = Gather (mask_shape, i1)
      ids_shape = Shape (input_ids)
      now = Gather (ids_shape, i1)
      past = Sub (total, now)
      queries = Range (past, total, i1)
      keys = Range (i0, total, i1)
      column = Unsqueeze (queries, axis1)
      seen = LessOrEqual (keys, column)
      seen_f = Cast <to = 1> (seen)
      later = Sub (one, seen_f)
      of_later = Mul (later, least)
      bias = Add (of_pads, of_later)"""
    for k in range(layers):
        text += f"""
      qkv{k} = MatMul (h{k}, qkv_{k})
      q{k}, k{k}, v{k} = Split <axis = 2, num_outputs = 3> (qkv{k})
      q4{k} = Reshape (q{k}, heads)
      k4{k} = Reshape (k{k}, heads)
      v4{k} = Reshape (v{k}, heads)
      qh{k} = Transpose <perm = [0, 2, 1, 3]> (q4{k})
      kh{k} = Transpose <perm = [0, 2, 1, 3]> (k4{k})
      vh{k} = Transpose <perm = [0, 2, 1, 3]> (v4{k})
      ku{k} = Unsqueeze (kh{k}, axis0)
      vu{k} = Unsqueeze (vh{k}, axis0)
      kv{k} = Concat <axis = 0> (ku{k}, vu{k})
      present_{k} = Concat <axis = 3> (past_{k}, kv{k})
      ks{k} = Gather <axis = 0> (present_{k}, i0)
      vs{k} = Gather <axis = 0> (present_{k}, i1)
      kt{k} = Transpose <perm = [0, 1, 3, 2]> (ks{k})
      s{k} = MatMul (qh{k}, kt{k})
      b{k} = Add (s{k}, bias)
      a{k} = Softmax <axis = -1> (b{k})
      o{k} = MatMul (a{k}, vs{k})
      t{k} = Transpose <perm = [0, 2, 1, 3]> (o{k})
      f{k} = Reshape (t{k}, flat)
      h{k + 1} = Add (h{k}, f{k})"""
    graph = onnx.parser.parse_graph(text + f"\nlogits = MatMul (h{layers}, out) }}")
    floats = {"words": rng.normal(size=(WORDS, width)), "places": rng.normal(size=(64, width)), "out": 3 * rng.normal(size=(width, WORDS)), "one": 1, "least": -1e4}
    floats |= {f"qkv_{k}": rng.normal(size=(width, 3 * width)) for k in range(layers)}
    integers = {"axes12": [1, 2], "axis1": [1], "axis0": [0], "heads": [0, 0, HEADS, SIZE], "flat": [0, 0, width], "i0": 0, "i1": 1}
    graph.initializer.extend(numpy_helper.from_array(np.asarray(v, np.float32), k) for k, v in floats.items())
    graph.initializer.extend(numpy_helper.from_array(np.asarray(v, np.int64), k) for k, v in integers.items())
    return graph


def generating(op, feeds, outputs, graph, constants=(), **attributes):
    """A model of one node with these inputs (None: left out); those in `constants` are initializers."""
    node = helper.make_node(op, [k if v is not None else "" for k, v in feeds.items()], outputs, domain="com.microsoft", decoder=graph, **attributes)
    given = {k: v for k, v in feeds.items() if v is not None}
    inputs = [
        helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), [f"{k}_{a}" for a in range(v.ndim)] if k == "input_ids" else v.shape)
        for k, v in given.items()
        if k not in constants
    ]
    types = {"sequences": TensorProto.INT32}
    results = [helper.make_tensor_value_info(k, types.get(k, TensorProto.FLOAT), None) for k in outputs]
    initializers = [numpy_helper.from_array(given[k], k) for k in constants]
    made = helper.make_graph([node], "generation", inputs, results, initializers)
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)], ir_version=9)
