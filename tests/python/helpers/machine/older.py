"""What older versions of ops say by attributes, and newer ones by inputs."""

from __future__ import annotations

import numpy as np

#: op -> (first version with inputs, {position of the input: name of the attribute})
AS_INPUTS = {
    "Unsqueeze": (13, {1: "axes"}), "Squeeze": (13, {1: "axes"}), "ReduceSum": (13, {1: "axes"}), "Split": (13, {1: "split"}),
    "Clip": (11, {1: "min", 2: "max"}), "Slice": (10, {1: "starts", 2: "ends", 3: "axes"}), "TopK": (10, {1: "k"}), "Pad": (11, {1: "pads", 2: "value"}),
}  # fmt: skip


def with_inputs(op, attributes, inputs):
    """The inputs of the newest version of a node: attributes of older ones as inputs."""
    names = AS_INPUTS.get(op, (0, {}))[1]
    if not any(name in attributes for name in names.values()):
        return inputs
    made = [*inputs, *[None] * (1 + max(names) - len(inputs))]
    for k, name in names.items():
        if name in attributes:
            value = attributes[name]
            made[k] = np.array(value, np.float32 if isinstance(value, float) else np.int64)
            if op == "Clip" or (op == "Pad" and k == 2):
                made[k] = made[k].astype(inputs[0].dtype)
    while made[-1] is None:
        made.pop()
    return made


def with_attributes(op, opset, attributes, inputs, constant):
    """(attributes, inputs) of a node of this opset. constant: gives the array of an input that is a constant, else raises."""
    since, names = AS_INPUTS.get(op, (0, {}))
    if opset >= since or len(inputs) < 2:
        return attributes, inputs
    said = dict(attributes or {})
    for k, name in names.items():
        if k < len(inputs) and inputs[k] is not None:
            array = constant(inputs[k])
            said[name] = array.item() if array.ndim == 0 or name == "k" else [int(n) for n in array]
    return said, [v for k, v in enumerate(inputs) if k not in names]
