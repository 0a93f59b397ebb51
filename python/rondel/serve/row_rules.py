"""The rules of rows.py: for each op, the facts of its outputs from those of its inputs. Long, as it is one list: a function for each op."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnx.numpy_helper

from .row_facts import BATCH, OTHER, SHARED, Extents, Fact, Mixed, Node, Rows, Scope

ELEMENTWISE = set(
    "Abs Acos Acosh Add And Asin Asinh Atan Atanh BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast Ceil Celu Clip Cos Cosh "
    "Div Elu Equal Erf Exp Floor Gelu Greater GreaterOrEqual HardSigmoid HardSwish Identity IsInf IsNaN LeakyRelu Less LessOrEqual Log Max "
    "Mean Min Mish Mod Mul Neg Not Or PRelu Pow Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Sub Sum Swish "
    "Tan Tanh ThresholdedRelu Where Xor".split()
)
FIRST_AXIS = set(
    "AveragePool Conv ConvTranspose DepthToSpace GlobalAveragePool GlobalLpPool GlobalMaxPool GroupNormalization InstanceNormalization LRN "
    "LpPool MaxPool SpaceToDepth".split()
)
REDUCTIONS = set("ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare".split())
RANDOM = set("Bernoulli Dropout Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike".split())


def walk(scope: Scope) -> None:
    """Derives the facts of all values of a graph. Raises Mixed, which names the node."""
    for node in scope.graph.node:
        try:
            found = facts_of(node, scope)
        except Mixed as reason:
            name = node.name or next(iter(node.output), "")
            raise Mixed(f"{node.op_type} '{name}': {reason}") from None
        for name, fact in zip(node.output, found):
            scope.facts[name] = fact


def facts_of(proto: Any, scope: Scope) -> list[Fact]:
    node = Node(proto, scope)
    count = len(proto.output)
    if proto.op_type in ("Loop", "Scan", "If") and proto.domain in ("", "ai.onnx"):
        return _CONTROL[proto.op_type](node)
    if proto.domain not in ("", "ai.onnx"):
        raise Mixed(f"no rule for the domain '{proto.domain}'")
    if proto.op_type in RANDOM and not (proto.op_type == "Dropout" and not node.given(2)):
        raise Mixed("random numbers would differ from those of a request alone")
    if proto.op_type == "Constant":
        for name in ("value", "value_int", "value_ints"):
            if name in node.attributes:
                content = node.get(name)
                is_tensor = isinstance(content, onnx.TensorProto)
                scope.constants[proto.output[0]] = content if is_tensor else onnx.numpy_helper.from_array(np.array(content, np.int64))
        return [SHARED]
    if any(a.type in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS) for a in proto.attribute):
        raise Mixed("no rule for its graphs")
    if all(f is SHARED for f in node.facts):
        return [SHARED] * count
    if any(isinstance(f, Extents) for f in node.facts):
        return [_with_extents(node)] * count
    if proto.op_type == "CastLike":
        return [node.facts[0]]
    if proto.op_type in ELEMENTWISE:
        return [_broadcast(node)] * count
    if proto.op_type in FIRST_AXIS:
        if node.rows(0) != 0:
            raise Mixed("the rows are not along the first axis")
        if proto.op_type == "MaxPool" and count > 1:
            raise Mixed("its indices count the elements of all rows")
        node.only_shared(1)
        return [Rows(0)] * count
    if proto.op_type in REDUCTIONS:
        return [_reduced(node)]
    rule = _RULES.get(proto.op_type)
    if rule is None:
        raise Mixed("no rule for this op")
    found = rule(node)
    return found if isinstance(found, list) else [found] * count


# ---- rules -----------------------------------------------------------------------------------------------------


def _broadcast(node: Node, of: list[int] | None = None) -> Rows:
    """Element-wise with broadcasting: the rows of all operands must meet, and what is shared must be broadcast along them."""
    operands = [k for k in (range(len(node.inputs)) if of is None else of) if node.given(k)]
    ranks = {k: node.rank(k) for k in operands}
    from_behind = {f.axis - ranks[k] for k in operands if isinstance(f := node.facts[k], Rows)}
    if len(from_behind) != 1:
        raise Mixed("its operands have the rows along different axes")
    (axis,) = from_behind
    for k in operands:
        if node.facts[k] is SHARED:
            _check_extent(node, k, axis)
    return Rows(axis + max(ranks.values()))


def _check_extent(node: Node, k: int, axis: int) -> None:
    """A shared operand must be broadcast along the axis of the rows, which is counted from behind: -1 is the last."""
    if node.rank(k) >= -axis and node.dims(k)[axis] != 1:
        raise Mixed(f"its input {k} ('{node.inputs[k]}') may have an extent along the rows")


def _reduced(node: Node) -> Rows:
    k, rank = node.rows(0), node.rank(0)
    node.only_shared(1)
    axes = node.axes(1, rank)
    if not axes:
        if axes is not None and node.get("noop_with_empty_axes", 0):
            return Rows(k)
        raise Mixed("it reduces the rows")
    return _without(k, axes, node.get("keepdims", 1), "it reduces the rows")


def _without(k: int, axes: list[int], keep: int, what: str) -> Rows:
    if k in axes:
        raise Mixed(what)
    return Rows(k if keep else k - sum(a < k for a in axes))


def _along(default: int, what: str) -> Callable[[Node], Rows]:
    """An op that works along one axis, which must not be that of the rows."""

    def rule(node: Node) -> Rows:
        k = node.rows(0)
        node.only_shared(1)
        if node.axis(node.rank(0), default) == k:
            raise Mixed(what)
        return Rows(k)

    return rule


def _softmax(node: Node) -> Rows:
    k, rank = node.rows(0), node.rank(0)
    axis = node.axis(rank, -1 if node.opset >= 13 else 1)
    if k == axis or node.opset < 13 and k > axis:
        raise Mixed("it normalises over the rows")
    return Rows(k)


def _normalised_behind(node: Node) -> list[Fact]:
    k, rank = node.rows(0), node.rank(0)
    node.only_shared(1)
    if node.axis(rank, -1) <= k:
        raise Mixed("it normalises over the rows")
    for operand in range(1, len(node.inputs)):
        if node.given(operand):
            _check_extent(node, operand, k - rank)
    return [Rows(k)] * len(node.proto.output)


def _batch_normalization(node: Node) -> Rows:
    if node.get("training_mode", 0) or len(node.proto.output) > 1 or node.rows(0) != 0:
        raise Mixed("it normalises over the rows")
    node.only_shared(1)
    return Rows(0)


def _arg(node: Node) -> Rows:
    k = node.rows(0)
    return _without(k, [node.axis(node.rank(0), 0)], node.get("keepdims", 1), "it compares the rows")


def _cumulated(node: Node) -> Rows:
    k = node.rows(0)
    axes = node.scope.numbers(node.inputs[1])
    if axes is None or int(axes[0]) % node.rank(0) == k:
        raise Mixed("it sums over the rows, or its axis is not constant")
    return Rows(k)


def _matmul(node: Node) -> Rows:
    a, b = node.facts[:2]
    ranks = node.rank(0), node.rank(1)
    node.only_shared(2)
    rank = max(ranks)
    if min(ranks) < 2 and not (isinstance(a, Rows) and ranks[0] >= 2):
        raise Mixed("it sums over the rows")
    if isinstance(a, Rows) and isinstance(b, Rows):
        if a.axis - ranks[0] != b.axis - ranks[1] or a.axis - ranks[0] > -3:
            raise Mixed("its operands have the rows along different axes")
        return Rows(a.axis - ranks[0] + rank)
    k, mine, other = (a.axis, 0, 1) if isinstance(a, Rows) else (b.axis, 1, 0)  # type: ignore[union-attr]
    behind = k - ranks[mine]
    if behind == (-1 if mine == 0 else -2):
        raise Mixed("it sums over the rows")
    if behind <= -3:
        _check_extent(node, other, behind)
    if ranks[1] == 1:
        rank -= 1
        behind += 1
    return Rows(behind + rank)


def _gemm(node: Node) -> Rows:
    if node.facts[1] is not SHARED or node.rows(0) != (1 if node.get("transA", 0) else 0):
        raise Mixed("it sums over the rows")
    if node.given(2):
        c = node.facts[2]
        if isinstance(c, Rows) and (c.axis != 0 or node.rank(2) != 2) or c is SHARED and node.rank(2) == 2 and node.dims(2)[0] != 1:
            raise Mixed("its input 2 may have an extent along the rows")
    return Rows(0)


def _transpose(node: Node) -> Rows:
    rank = node.rank(0)
    return Rows(list(node.get("perm", range(rank)[::-1])).index(node.rows(0)))


def _unsqueeze(node: Node) -> Rows:
    given = node.numbers(1, "axes")
    if given is None:
        raise Mixed("its axes are not constant")
    rank = node.rank(0) + len(given)
    new = {int(a) % rank for a in given}
    return Rows([a for a in range(rank) if a not in new][node.rows(0)])


def _squeeze(node: Node) -> Rows:
    axes = node.axes(1, node.rank(0))
    if axes is None:
        raise Mixed("without axes it removes a single row's axis")
    return _without(node.rows(0), axes, 0, "it removes the axis of the rows")


def _flatten(node: Node) -> Rows:
    if node.rows(0) != 0 or node.axis(node.rank(0), 1) != 1:
        raise Mixed("it joins the axis of the rows with another")
    return Rows(0)


def _reshape(node: Node) -> Rows:
    """The rows stay in front if what is behind them stays as large; extents that are copied (0) are as large as before."""
    k, entries = node.rows(0), node.scope.numbers(node.inputs[1])
    if k != 0 or not entries:
        raise Mixed("it moves the axis of the rows, or its shape is not constant")
    if entries[0] == 0 and not node.get("allowzero", 0):
        return Rows(0)
    dims = node.dims(0)[1:]
    known = all(isinstance(d, int) for d in dims) and all(e > 0 for e in entries[1:])
    if entries[0] != -1 or not known or np.prod(dims, dtype=object) != np.prod(entries[1:], dtype=object):
        raise Mixed("its shape may join the axis of the rows with another")
    return Rows(0)


def _concat(node: Node) -> Rows:
    axes = {f.axis if isinstance(f, Rows) else None for f in node.facts}
    if len(axes) != 1 or None in axes:
        raise Mixed("it joins values with rows and values without")
    (k,) = axes
    if node.axis(node.rank(0), 1) == k:
        raise Mixed("it appends to the rows")
    return Rows(k)  # type: ignore[arg-type]


def _slice(node: Node) -> Rows:
    k = node.rows(0)
    node.only_shared(1)
    axes = node.axes(3, node.rank(0))
    if axes is None:
        starts = node.numbers(1, "starts")
        if starts is None:
            raise Mixed("its axes are not constant")
        axes = list(range(len(starts)))
    return _without(k, axes, 1, "it selects rows by their number")


def _gather(node: Node) -> Rows:
    data, indices = node.facts
    axis = node.axis(node.rank(0), 0)
    if isinstance(data, Rows) and indices is SHARED:
        if axis == data.axis:
            raise Mixed("it selects rows by their number")
        return Rows(data.axis if data.axis < axis else data.axis - 1 + node.rank(1))
    if data is SHARED and isinstance(indices, Rows):
        return Rows(axis + indices.axis)
    raise Mixed("it selects rows by their number")


def _gather_elements(node: Node) -> Rows:
    if len({f.axis if isinstance(f, Rows) else None for f in node.facts}) != 1 or node.axis(node.rank(0), 0) == node.rows(0):
        raise Mixed("it selects rows by their number")
    return Rows(node.rows(0))


def _pad(node: Node) -> Rows:
    k, rank = node.rows(0), node.rank(0)
    node.only_shared(1)
    pads = node.numbers(1, "pads")
    axes = node.axes(3, rank) if node.given(3) else list(range(rank))
    if pads is None or axes is None or any(a == k and (pads[i] or pads[i + len(axes)]) for i, a in enumerate(axes)):
        raise Mixed("it pads the rows, or its pads are not constant")
    return Rows(k)


def _tile(node: Node) -> Rows:
    repeats = node.scope.numbers(node.inputs[1])
    if repeats is None or repeats[node.rows(0)] != 1:
        raise Mixed("it repeats the rows, or its repeats are not constant")
    return Rows(node.rows(0))


def _expand(node: Node) -> Rows:
    entries = node.scope.numbers(node.inputs[1])
    behind = node.rows(0) - node.rank(0)
    if entries is None or len(entries) >= -behind and entries[behind] != 1:
        raise Mixed("it may expand the rows, or its shape is not constant")
    return Rows(behind + max(node.rank(0), len(entries)))


def _one_hot(node: Node) -> Rows:
    node.only_shared(1)
    k = node.rows(0)
    return Rows(k if k < node.axis(node.rank(0) + 1, -1) else k + 1)


def _recurrent(node: Node) -> list[Fact]:
    batch = 0 if node.get("layout", 0) else 1
    axes = {0: batch, 4: 0, 5: batch, 6: batch}
    for k, fact in enumerate(node.facts):
        if node.given(k) and fact != (Rows(axes[k]) if k in axes else SHARED):
            raise Mixed(f"its input {k} ('{node.inputs[k]}') does not have the rows where they are expected")
    return [Rows(0 if batch == 0 else 2), Rows(batch), Rows(batch)]


def _linear_scale(node: Node) -> Rows:
    k = node.rows(0)
    node.only_shared(1)
    if node.rank(1) > 1 or node.rank(1) == 1 and node.dims(1) != [1] and node.axis(node.rank(0), 1) == k:
        raise Mixed("it has a scale for each row")
    return Rows(k)


def _shape(node: Node) -> Fact:
    k, dims = node.rows(0), node.dims(0)
    entries = tuple(BATCH if a == k else d if isinstance(d, int) else OTHER for a, d in enumerate(dims))
    return _extents(entries[slice(node.get("start", 0), node.get("end", len(dims)))])


def _extents(entries: tuple[int | str, ...]) -> Fact:
    return Extents(entries) if BATCH in entries else SHARED


# ---- extents that depend on the number of rows -----------------------------------------------------------------


def _entries(node: Node, k: int) -> tuple[int | str, ...]:
    fact = node.facts[k]
    if isinstance(fact, Extents):
        return fact.entries
    numbers = node.scope.numbers(node.inputs[k]) if fact is SHARED else None
    if numbers is not None:
        return tuple(numbers)
    dims = node.dims(k) if fact is SHARED else []
    if dims in ([], [1]) and fact is SHARED:
        return (OTHER,)
    raise Mixed(f"its input {k} ('{node.inputs[k]}') is not known")


def _with_extents(node: Node) -> Fact:
    """Rules for nodes of which an input is the number of rows, among other extents."""
    if node.op == "Unsqueeze" and node.rank(0) > 0 or node.op == "Gather" and node.rank(1) > 1:
        raise Mixed("it gives extents more than one axis")
    if node.op in ("Cast", "Identity", "Squeeze", "Unsqueeze"):
        return Extents(_entries(node, 0))
    if node.op == "Concat":
        return Extents(tuple(e for k in range(len(node.inputs)) for e in _entries(node, k)))
    if node.op == "Gather" and isinstance(node.facts[0], Extents):
        indices, entries = node.scope.numbers(node.inputs[1]), _entries(node, 0)
        if indices is None:
            raise Mixed("it selects extents by data")
        return _extents(tuple(entries[int(i)] for i in indices))
    if node.op == "Slice" and isinstance(node.facts[0], Extents):
        starts, ends = (node.numbers(k, name) for k, name in ((1, "starts"), (2, "ends")))
        steps = node.numbers(4, "steps") if node.given(4) else [1]
        if not starts or not ends or not steps:
            raise Mixed("it selects extents by data")
        entries, start, step = _entries(node, 0), int(starts[0]), int(steps[0])
        start = max(start, -len(entries)) if step < 0 else start  # other than Python, ONNX takes the first one then
        return _extents(entries[start : int(ends[0]) : step])
    shape = {"Reshape": 1, "Expand": 1, "ConstantOfShape": 0}.get(node.op)
    if shape is None:
        raise Mixed("it computes with the number of rows")
    return _of_shape(node, _entries(node, shape))


def _of_shape(node: Node, entries: tuple[int | str, ...]) -> Rows:
    if entries.count(BATCH) != 1:
        raise Mixed("its shape does not have the number of rows once")
    at = entries.index(BATCH)
    if node.op == "ConstantOfShape":
        return Rows(at)
    if node.op == "Expand":
        fact = node.facts[0]
        behind, rank = at - len(entries), node.rank(0)
        if isinstance(fact, Extents) or isinstance(fact, Rows) and fact.axis - rank != behind or fact is SHARED and rank >= -behind and node.dims(0)[behind] != 1:
            raise Mixed("it may expand the rows")
        return Rows(behind + max(len(entries), rank))
    if node.facts[0] != Rows(0) or at != 0:
        raise Mixed("it moves the axis of the rows")
    return Rows(0)


# ---- control flow ----------------------------------------------------------------------------------------------


def _inside(node: Node, body: Any, facts: list[Fact]) -> list[Fact]:
    """The facts of a body's outputs."""
    scope = Scope(body, node.opset, dict(zip((i.name for i in body.input), facts)), node.scope)
    walk(scope)
    return [scope.fact(o.name) for o in body.output]


def _if(node: Node) -> list[Fact]:
    if node.facts[0] is not SHARED:
        raise Mixed("its condition depends on the rows")
    branches = [_inside(node, node.get(name), []) for name in ("then_branch", "else_branch")]
    if branches[0] != branches[1] or any(isinstance(f, Extents) for f in branches[0]):
        raise Mixed("its branches have the rows along different axes")
    return branches[0]


def _loop(node: Node) -> list[Fact]:
    if node.facts[0] is not SHARED or node.facts[1] is not SHARED:
        raise Mixed("the rows decide how many trips it makes")
    states = _states(node.facts[2:])
    found = _inside(node, node.get("body"), [SHARED, SHARED, *states])
    if found[0] is not SHARED:
        raise Mixed("the rows decide together how many trips it makes")
    _same(states, found[1 : 1 + len(states)])
    return [*states, *(_stacked(f, 0) for f in found[1 + len(states) :])]


def _scan(node: Node) -> list[Fact]:
    if node.opset < 9:
        raise Mixed("no rule for Scan of opset 8")
    scanned = node.get("num_scan_inputs")
    count = len(node.inputs) - scanned
    states = _states(node.facts[:count])
    axes = node.get("scan_input_axes", [0] * scanned)
    slices: list[Fact] = []
    for k, axis in enumerate(axes, count):
        fact = node.facts[k]
        if isinstance(fact, Extents):
            raise Mixed("it scans extents")
        axis = axis if axis >= 0 or fact is SHARED else axis + node.rank(k)
        slices.append(_without(fact.axis, [axis], 0, "it scans the rows") if isinstance(fact, Rows) else SHARED)
    found = _inside(node, node.get("body"), [*states, *slices])
    _same(states, found[:count])
    stacked = found[count:]
    out_axes = node.get("scan_output_axes", [0] * len(stacked))
    if any(a < 0 for a in out_axes):
        raise Mixed("no rule for a scan axis counted from behind")
    return [*states, *(_stacked(f, a) for f, a in zip(stacked, out_axes))]


def _states(facts: list[Fact]) -> list[Fact]:
    if any(isinstance(f, Extents) for f in facts):
        raise Mixed("it carries the number of rows")
    return facts


def _same(before: list[Fact], after: list[Fact]) -> None:
    for k, (b, a) in enumerate(zip(before, after)):
        if b != a:
            raise Mixed(f"its state {k} does not keep the rows along one axis")


def _stacked(fact: Fact, axis: int) -> Fact:
    if isinstance(fact, Extents):
        raise Mixed("it stacks the number of rows")
    return fact if fact is SHARED else Rows(fact.axis + (axis <= fact.axis))


_CONTROL: dict[str, Callable[[Node], list[Fact]]] = {"If": _if, "Loop": _loop, "Scan": _scan}
_RULES: dict[str, Callable[[Node], Any]] = {
    "ArgMax": _arg, "ArgMin": _arg, "BatchNormalization": _batch_normalization, "Concat": _concat, "CumSum": _cumulated,
    "DequantizeLinear": _linear_scale, "Dropout": lambda node: Rows(node.rows(0)), "Expand": _expand, "Flatten": _flatten, "GRU": _recurrent,
    "Gather": _gather, "GatherElements": _gather_elements, "Gemm": _gemm, "Hardmax": _softmax, "LSTM": _recurrent,
    "LayerNormalization": _normalised_behind, "LogSoftmax": _softmax, "LpNormalization": _along(-1, "it normalises over the rows"),
    "MatMul": _matmul, "OneHot": _one_hot, "Pad": _pad, "QuantizeLinear": _linear_scale, "RMSNormalization": _normalised_behind,
    "RNN": _recurrent, "Reshape": _reshape, "Shape": _shape, "Slice": _slice, "Softmax": _softmax,
    "Split": _along(0, "it splits the rows"), "Squeeze": _squeeze, "Tile": _tile, "TopK": _along(-1, "it compares the rows"),
    "Transpose": _transpose, "Unsqueeze": _unsqueeze,
}  # fmt: skip
