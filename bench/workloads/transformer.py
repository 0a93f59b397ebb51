"""Blocks of a transformer, in ONNX text: attention and a network of two layers, each behind a LayerNormalization."""

import numpy as np

NAMES = ("g1", "b1", "q", "k", "v", "o", "g2", "b2", "up", "down")  #: what a block reads, followed by the block's number


def block(k, x, caches=False):
    """The nodes of block k, which reads x[rows, width] and makes x{k}. It reads `split` and `join`, shapes for `Reshape`, and `scale`.

    caches: the keys and values of earlier rows are in past_k{k} and past_v{k}; now_k{k} and now_v{k} have those of these rows, too.
    """
    lines = [f"n{k} = LayerNormalization ({x}, g1{k}, b1{k})"]
    for name in "qkv":
        lines.append(f"m{name}{k} = MatMul (n{k}, {name}{k})  s{name}{k} = Reshape (m{name}{k}, split)  h{name}{k} = Transpose <perm = [1, 0, 2]> (s{name}{k})")
    keys, values = f"hk{k}", f"hv{k}"
    if caches:
        lines.append(f"now_k{k} = Concat <axis = 1> (past_k{k}, {keys})  now_v{k} = Concat <axis = 1> (past_v{k}, {values})")
        keys, values = f"now_k{k}", f"now_v{k}"
    lines.append(f"""
      turned{k} = Transpose <perm = [0, 2, 1]> ({keys})  scores{k} = MatMul (hq{k}, turned{k})  scaled{k} = Mul (scores{k}, scale)  p{k} = Softmax (scaled{k})
      mixed{k} = MatMul (p{k}, {values})  back{k} = Transpose <perm = [1, 0, 2]> (mixed{k})  joined{k} = Reshape (back{k}, join)
      out{k} = MatMul (joined{k}, o{k})  y{k} = Add ({x}, out{k})  z{k} = LayerNormalization (y{k}, g2{k}, b2{k})
      up_{k} = MatMul (z{k}, up{k})  r{k} = Relu (up_{k})  down_{k} = MatMul (r{k}, down{k})  x{k} = Add (y{k}, down_{k})""")
    return "\n".join(lines)


def weights(blocks, width, heads):
    """What `blocks` blocks read, by name."""
    random = np.random.default_rng(0)
    shapes = {"up": (width, 4 * width), "down": (4 * width, width)}
    found = {}
    for k in range(blocks):
        for name in NAMES:
            shape = (width,) if name[0] in "gb" else shapes.get(name, (width, width))
            found[f"{name}{k}"] = (random.standard_normal(shape) * (0.3 if name[0] in "gb" else width**-0.5) + (name[0] == "g")).astype(np.float32)
    return found | {"scale": np.array((width // heads) ** -0.5, np.float32), "split": np.array([0, heads, -1]), "join": np.array([0, -1])}


def blocks(count, length, width, heads=4):
    """(text, weights) of a model of `count` blocks over `length` rows."""
    nodes = "\n".join(block(k, f"x{k - 1}" if k else "x") for k in range(count))
    return f"blocks (float[{length},{width}] x) => (float[{length},{width}] x{count - 1}) {{ {nodes} }}", weights(count, width, heads)
