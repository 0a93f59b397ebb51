"""Random feeds for the models of this folder: for each program, what its inputs are at a given size."""

import numpy as np
import onnx

HIDDEN, TOKENS = 16, 24


def floats(random, *shape):
    return random.normal(0, 1, shape).astype(np.float32)


def lengths(random, batch, most):
    """Lengths of padded sequences, of which one is the longest possible."""
    return np.append(random.integers(0, most + 1, batch - 1), most)


def boxes(random, n):
    corners = random.uniform(0, 4, (n, 2))
    return np.concatenate([corners, corners + random.uniform(0.5, 2, (n, 2))], 1).astype(np.float32)


def parts(random, n):
    """Lengths of parts that add up to `n`, some of them maybe 0."""
    return np.diff(np.sort(np.concatenate([[0, n], random.integers(0, n + 1, n // 4)])))


PROGRAMS = {
    "newton": lambda r, n: {"a": r.uniform(0.1, 100, n).astype(np.float32)},
    "bisection": lambda r, n: {"a": r.uniform(0.1, 100, n).astype(np.float32)},
    "greedy_gru": lambda r, n: {"h0": floats(r, HIDDEN), "most": np.array(n)},
    "greedy_cache": lambda r, n: {"prompt": r.integers(1, TOKENS, 4), "most": np.array(n)},
    "beam_search": lambda r, n: {"h0": floats(r, HIDDEN), "most": np.array(n)},
    "beam_cache": lambda r, n: {"prompt": r.integers(1, TOKENS, 4), "most": np.array(n)},
    "ctc_greedy": lambda r, n: {"logits": floats(r, n, TOKENS)},
    "ctc_prefix": lambda r, n: {"logits": floats(r, n, TOKENS)},
    "ctc_forward": lambda r, n: {"logits": floats(r, n, TOKENS), "labels": r.integers(1, TOKENS, max(n // 3, 1))},
    "viterbi": lambda r, n: {"emissions": floats(r, n, 8), "transitions": floats(r, 8, 8)},
    "nms": lambda r, n: {"boxes": boxes(r, n), "scores": r.uniform(0, 1, n).astype(np.float32)},
    "edit_distance": lambda r, n: {"a": r.integers(0, 4, n), "b": r.integers(0, 4, max(n - 2, 0))},
    "masked_gru": lambda r, n: {"x": floats(r, 3, n, HIDDEN), "lengths": lengths(r, 3, n)},
    "peephole_lstm": lambda r, n: {"x": floats(r, n, 2, HIDDEN)},
    "keras_peephole": lambda r, n: {"x": floats(r, 2, n, HIDDEN)},
    "keras_masked_gru": lambda r, n: {"x": floats(r, 3, n, HIDDEN), "lengths": lengths(r, 3, n)},
    "keras_masked_lstm": lambda r, n: {"x": floats(r, 3, n, HIDDEN), "lengths": lengths(r, 3, n)},
    "ragged": lambda r, n: {"values": floats(r, n), "lengths": parts(r, n)},
}


def rows_for(graph, random, n):
    """Rows for a model of scikit-learn: words, small counts, or floats of which some are missing if an Imputer reads them."""
    missing = any(node.op_type == "Imputer" for node in graph.node)
    feeds = {}
    for port in graph.input:
        shape = n, port.type.tensor_type.shape.dim[1].dim_value
        kind = port.type.tensor_type.elem_type
        if kind == onnx.TensorProto.STRING:
            feeds[port.name] = random.choice(np.array(["red", "green", "blue", "none"], object), shape)
        elif kind == onnx.TensorProto.INT64:
            feeds[port.name] = random.integers(0, 6, shape)
        else:
            x = floats(random, *shape)
            feeds[port.name] = np.where(random.random(shape) < 0.2, np.float32(np.nan), x) if missing else x
    return feeds


def feeds_of(path, size, seed):
    """Feeds for the model at `path`, in the types that it declares."""
    graph = onnx.load(path).graph
    if path.parent.name == "sklearn":
        return rows_for(graph, np.random.default_rng(seed), size)
    name = path.stem.split("-")[0]
    made = PROGRAMS[name](np.random.default_rng(seed), size)
    types = {i.name.split(":")[0]: i for i in graph.input}
    assert set(types) == set(made), f"{path}: the model's inputs are {sorted(types)}, the feeds {sorted(made)}"
    return {
        types[name].name: value.astype(onnx.helper.tensor_dtype_to_np_dtype(types[name].type.tensor_type.elem_type))
        for name, value in made.items()
    }
