"""Values of a program that is being written, with what each of them is in a real run.

A program is written together with its feeds: each node runs on the oracle when it is added, so that the writer knows the value
of each name for each set of feeds (in a loop's body: for the first trip). A node that cannot run is not added.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import machine
import ml_dtypes
import numpy as np
from onnx import TensorProto

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
UNSIGNED_POWERS = np.dtype(ml_dtypes.float8_e8m0fnu)  #: has no zero: what a fill without a value is, no standard says
#: dtypes that ops move and carry; only casts compute with most of them: (number in a file, word in a schema, first opset that moves them)
STORED = {
    np.dtype(ml_dtypes.float8_e4m3fn): (TensorProto.FLOAT8E4M3FN, "float8e4m3fn", 19),
    np.dtype(ml_dtypes.float8_e5m2): (TensorProto.FLOAT8E5M2, "float8e5m2", 19),
    np.dtype(ml_dtypes.float8_e4m3fnuz): (TensorProto.FLOAT8E4M3FNUZ, "float8e4m3fnuz", 19),
    np.dtype(ml_dtypes.int4): (TensorProto.INT4, "int4", 21), np.dtype(ml_dtypes.uint4): (TensorProto.UINT4, "uint4", 21),
    np.dtype(ml_dtypes.float4_e2m1fn): (TensorProto.FLOAT4E2M1, "float4e2m1", 23),
    UNSIGNED_POWERS: (TensorProto.FLOAT8E8M0, "float8e8m0", 24),
    np.dtype(ml_dtypes.int2): (TensorProto.INT2, "int2", 25), np.dtype(ml_dtypes.uint2): (TensorProto.UINT2, "uint2", 25),
    np.dtype(np.complex64): (TensorProto.COMPLEX64, "complex64", 1), np.dtype(np.complex128): (TensorProto.COMPLEX128, "complex128", 1),
}  # fmt: skip
STRING = np.dtype(object)
ELEMENT_TYPES = {
    np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.float64): TensorProto.DOUBLE, np.dtype(np.float16): TensorProto.FLOAT16,
    BFLOAT16: TensorProto.BFLOAT16, STRING: TensorProto.STRING, np.dtype(bool): TensorProto.BOOL,
    np.dtype(np.int8): TensorProto.INT8, np.dtype(np.int16): TensorProto.INT16, np.dtype(np.int32): TensorProto.INT32,
    np.dtype(np.int64): TensorProto.INT64, np.dtype(np.uint8): TensorProto.UINT8, np.dtype(np.uint16): TensorProto.UINT16,
    np.dtype(np.uint32): TensorProto.UINT32, np.dtype(np.uint64): TensorProto.UINT64, **{d: number for d, (number, _, _) in STORED.items()},
}  # fmt: skip
_WORDS = {np.dtype(np.float32): "float", np.dtype(np.float64): "double", STRING: "string", BFLOAT16: "bfloat16", **{d: word for d, (_, word, _) in STORED.items()}}
F32, I64, BOOL = np.dtype(np.float32), np.dtype(np.int64), np.dtype(bool)
_FORMS = {"tensor": "{}", "limit": "{}", "seq": "seq({})", "opt": "optional({})", "optseq": "optional(seq({}))"}
_TYPES = {(kind, d): form.format(f"tensor({_WORDS.get(d, d.name)})") for kind, form in _FORMS.items() for d in ELEMENT_TYPES}


def type_text(kind, dtype):
    """A type as ONNX's schemas write it."""
    return _TYPES[kind, dtype]


class Unfit(Exception):
    """What was about to be written cannot run, or is not allowed by the standard."""


@dataclass(slots=True, eq=False)
class Value:
    """A name and what the writer knows of it.

    kind: tensor, seq, opt (of a tensor), optseq (of a sequence), limit (a trip count that is no size: only loops that a condition ends read it).
    samples: the value in the run of each set of feeds; for sets that were given up, None.
    level: of the graph it belongs to. varies, wobble: the innermost loop whose trips change its elements, its shape (0: none).
    shape_id: values with the same number have the same shape in every trip. unranked: the rank may change, too. read: some node reads it.
    work: nodes that it depends on, those of bodies included, on the way that has most of them.
    grows_on: the axis whose extent changes, if that is known of a value that wobbles; others_wobble: the innermost loop whose trips change
    other extents. items: of a list, the extents of its tensors, None where they differ; None if that is not known.
    """

    name: str
    kind: str
    dtype: np.dtype
    samples: list
    level: int
    varies: int = 0
    wobble: int = 0
    shape_id: int = field(default_factory=itertools.count().__next__)
    unranked: bool = False
    read: bool = False
    work: int = 0
    grows_on: int | None = None
    others_wobble: int = 0
    items: list | None = None

    @property
    def sample(self):
        return self.samples[0]

    @property
    def shape(self):
        return self.samples[0].shape

    def grows_like(self, other):
        self.grows_on, self.others_wobble = other.grows_on, other.others_wobble

    @property
    def shapes(self):
        """The shapes in the runs of all sets of feeds."""
        return [s.shape if s is not None else None for s in self.samples]

    @property
    def rank(self):
        return self.samples[0].ndim

    @property
    def type_text(self):
        """The type as ONNX's schemas write it."""
        return type_text(self.kind, self.dtype)


def _common(value):
    """The extents that a tensor has in the runs of all sets of feeds, None for others; None if there are several ranks."""
    shapes = {s.shape for s in value.samples if s is not None}
    if len({len(s) for s in shapes}) > 1:
        return None
    return [e.pop() if len(e) == 1 else None for e in map(set, zip(*shapes, strict=True))]


class Body(machine.Graph):
    """A graph with the values of its inputs and outputs, so that their types can be written."""

    def __init__(self, name, inputs, outputs, nodes, constants=None):
        declared = [(v.dtype, _common(v)) if v.kind == "tensor" else (None, None) for v in outputs]
        super().__init__([v.name for v in inputs], [v.name for v in outputs], nodes, constants, declared, name)
        self.input_values, self.output_values = inputs, outputs
        made = {*self.inputs, *self.constants, *(o for n in nodes for o in n.outputs)}
        self.captured = {name for n in nodes for name in reads(n)} - made  # no name is given twice in a program


def reads(node):
    """The names that a node reads, those of its bodies' captures included."""
    names = set(node.inputs)
    for value in node.attributes.values():
        if isinstance(value, Body):
            names |= value.captured
    return names - {""}
