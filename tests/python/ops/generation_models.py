"""Small random decoders of the forms of GPT-2, T5 and Whisper, and models that generate with them."""

import numpy as np
import onnx
import onnx.parser
from onnx import TensorProto, helper, numpy_helper

HEADS, SIZE, WORDS, FEATURES = 2, 4, 12, 3


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


def caches(prefix, kind, layers, extent, rows="B"):
    """The declarations of a key and a value for each layer."""
    return ", ".join(f"float[{rows},{HEADS},{extent},{SIZE}] {prefix}_{part}_{kind}_{k}" for k in range(layers) for part in ("key", "value"))


def attended(name, query, key, value, bias=""):
    """Attention of a query [B,N,T,D], as lines of a graph."""
    return f"""
      {name}_kt = Transpose <perm = [0, 1, 3, 2]> ({key})
      {name}_s = MatMul ({query}, {name}_kt)
      {name}_b = {f"Add ({name}_s, {bias})" if bias else f"Identity ({name}_s)"}
      {name}_a = Softmax <axis = -1> ({name}_b)
      {name}_o = MatMul ({name}_a, {value})
      {name}_t = Transpose <perm = [0, 2, 1, 3]> ({name}_o)
      {name} = Reshape ({name}_t, flat)"""


def in_heads(name, x, weight):
    return f"""
      {name}_p = MatMul ({x}, {weight})
      {name}_r = Reshape ({name}_p, heads)
      {name} = Transpose <perm = [0, 2, 1, 3]> ({name}_r)"""


def crossed(layers, hidden):
    """The keys and values of the prompt."""
    return "".join(in_heads(f"present_{part}_cross_{k}", hidden, f"{part}_cross_w{k}") for k in range(layers) for part in ("key", "value"))


def decoded(layers, tokens, past, cross, masked=True):
    """The tokens of each row. past: after those of the caches past_*; else they are the first. cross: what the caches of the prompt are
    called. masked: whether there is a mask of the prompt."""
    text = f"\n      h0 = Gather (words, {tokens})"
    if masked:
        text += """
      kept = Cast <to = 1> (encoder_attention_mask)
      dropped = Sub (one, kept)
      of_pads = Mul (dropped, least)
      bias = Unsqueeze (of_pads, axes12)"""
    if not past:
        text += f"""
      count = Shape <start = 1> ({tokens})
      square = Concat <axis = 0> (count, count)
      all_least = Expand (least, square)
      later = Trilu <upper = 1> (all_least, i1)"""
    for k in range(layers):
        text += in_heads(f"q{k}", f"h{k}", f"query_w{k}")
        for part in ("key", "value"):
            new = f"new_{part}{k}" if past else f"present_{part}_self_{k}"
            text += in_heads(new, f"h{k}", f"{part}_w{k}")
            if past:
                text += f"\n      present_{part}_self_{k} = Concat <axis = 2> (past_{part}_self_{k}, {new})"
        text += attended(f"own{k}", f"q{k}", f"present_key_self_{k}", f"present_value_self_{k}", "" if past else "later")
        text += attended(f"of_prompt{k}", f"q{k}", f"{cross}_key_cross_{k}", f"{cross}_value_cross_{k}", "bias" if masked else "")
        text += f"\n      m{k} = Add (own{k}, of_prompt{k})\n      h{k + 1} = Add (h{k}, m{k})"
    return text + f"\n      logits = MatMul (h{layers}, out)"


def with_weights(text, seed, layers):
    """The graph of this text with random weights, those of the encoder and decoder of a seed."""
    rng = np.random.default_rng(seed)
    width = HEADS * SIZE
    floats = {"words": rng.normal(size=(WORDS, width)), "read": rng.normal(size=(WORDS, width)), "hear": rng.normal(size=(FEATURES, width)), "out": 3 * rng.normal(size=(width, WORDS)), "one": 1, "least": -1e4}
    names = ["query_w", "key_w", "value_w", "key_cross_w", "value_cross_w"]
    floats |= {f"{name}{k}": 0.5 * rng.normal(size=(width, width)) for k in range(layers) for name in names}
    integers = {"axes12": [1, 2], "heads": [0, 0, HEADS, SIZE], "flat": [0, 0, width], "last": [-1], "i1": 1}
    graph = onnx.parser.parse_graph(text)
    read = {name for node in graph.node for name in node.input}
    graph.initializer.extend(numpy_helper.from_array(np.asarray(v, np.float32), k) for k, v in floats.items() if k in read)
    graph.initializer.extend(numpy_helper.from_array(np.asarray(v, np.int64), k) for k, v in integers.items() if k in read)
    return graph


def encoder(seed, layers=1, starts=True):
    """What reads the prompt, of the form of T5. starts: it reads the decoder's first token, too."""
    start = ", int32[B,1] decoder_input_ids" if starts else ""
    first = f"float[B,1,{WORDS}] logits, float[B,S,{HEADS * SIZE}] encoder_hidden_states, {caches('present', 'self', layers, 1)}, " if starts else ""
    text = f"""
    encoder (int32[B,S] encoder_input_ids, int32[B,S] encoder_attention_mask{start}) => ({first}{caches("present", "cross", layers, "S")}) {{
      encoder_hidden_states = Gather (read, encoder_input_ids){crossed(layers, "encoder_hidden_states")}"""
    if starts:
        text += decoded(layers, "decoder_input_ids", past=False, cross="present")
    return with_weights(text + "\n}", seed, layers)


def hearing_encoder(seed, layers=1):
    """What hears the prompt and reads the decoder's first tokens, of the form of Whisper."""
    text = f"""
    encoder (float[B,{FEATURES},S] encoder_input_ids, int32[B,D] decoder_input_ids)
      => (float[B,D,{WORDS}] logits, float[B,S,{HEADS * SIZE}] encoder_hidden_states, {caches("present", "self", layers, "D")}, {caches("present", "cross", layers, "S")}) {{
      heard = Transpose <perm = [0, 2, 1]> (encoder_input_ids)
      encoder_hidden_states = MatMul (heard, hear){crossed(layers, "encoder_hidden_states")}"""
    return with_weights(text + decoded(layers, "decoder_input_ids", past=False, cross="present", masked=False) + "\n}", seed, layers)


def encoded_decoder(seed, layers=1, hidden=True, sequences=False, masked=True):
    """What continues it. hidden: it is given the encoder's hidden states; sequences: and all tokens so far, of which it reads the last."""
    mask = "int32[B,S] encoder_attention_mask, " if masked else ""
    states = f"float[B,S,{HEADS * SIZE}] encoder_hidden_states, " if hidden else ""
    text = f"""
    decoder (int32[B,{"T" if sequences else 1}] input_ids, {mask}{states}{caches("past", "self", layers, "P")}, {caches("past", "cross", layers, "S")})
      => (float[B,1,{WORDS}] logits, {caches("present", "self", layers, "P1")}) {{"""
    if sequences:
        text += "\n      newest = Gather <axis = 1> (input_ids, last)"
    return with_weights(text + decoded(layers, "newest" if sequences else "input_ids", past=True, cross="past", masked=masked) + "\n}", seed, layers)


def generating(op, feeds, outputs, graph, constants=(), **attributes):
    """A model of one node with these inputs (None: left out); those in `constants` are initializers."""
    node = helper.make_node(op, [k if v is not None else "" for k, v in feeds.items()], outputs, domain="com.microsoft", decoder=graph, **attributes)
    given = {k: v for k, v in feeds.items() if v is not None}
    inputs = [
        helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), [f"{k}_{a}" for a in range(v.ndim)] if k.endswith("input_ids") else v.shape)
        for k, v in given.items()
        if k not in constants
    ]
    types = {"sequences": TensorProto.INT32}
    results = [helper.make_tensor_value_info(k, types.get(k, TensorProto.FLOAT), None) for k in outputs]
    initializers = [numpy_helper.from_array(given[k], k) for k in constants]
    made = helper.make_graph([node], "generation", inputs, results, initializers)
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)], ir_version=9)
