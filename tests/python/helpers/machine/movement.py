"""Ops that move elements, make shapes, or select by index."""

from __future__ import annotations

import math

import numpy as np

MOST = 1 << 20  #: elements that one result may have


def ints(x):
    return [int(v) for v in x]


def within(shape):
    """The shape, unless it is too large for a random program."""
    assert all(e >= 0 for e in shape), "a negative extent"
    assert int(np.prod(shape, dtype=object)) <= MOST, "too many elements"
    return tuple(shape)


def constant(a):
    for name, dtype in (("value_int", np.int64), ("value_ints", np.int64), ("value_float", np.float32), ("value_floats", np.float32)):
        if name in a:
            return np.array(a[name], dtype)
    return a["value"]


def reshape(a, x, shape):
    wanted = ints(shape)
    if not a.get("allowzero"):
        wanted = [x.shape[k] if e == 0 else e for k, e in enumerate(wanted)]
    assert wanted.count(-1) <= 1, "several extents are -1"
    if -1 in wanted:  # axes that keep their extent do not count: it may be 0
        kept = [k for k in range(min(x.ndim, len(wanted))) if wanted[k] == x.shape[k]]
        count = math.prod(e for k, e in enumerate(x.shape) if k not in kept)
        given = math.prod(e for k, e in enumerate(wanted) if k not in kept and e != -1)
        assert count % given == 0 if given else count == 0, "the elements do not fill the shape"
        wanted[wanted.index(-1)] = count // given if given else 0
    return x.reshape(wanted)


def squeeze(a, x, axes=None):
    axes = a.get("axes", axes)
    return np.squeeze(x, tuple(k for k, e in enumerate(x.shape) if e == 1) if axes is None else tuple(ints(axes)))


def unsqueeze(a, x, axes):
    return np.expand_dims(x, tuple(ints(axes)))


def flatten(a, x):
    axis = a.get("axis", 1)
    axis += x.ndim if axis < 0 else 0
    assert 0 <= axis <= x.ndim, "the axis is out of range"
    return x.reshape(int(np.prod(x.shape[:axis], dtype=int)), int(np.prod(x.shape[axis:], dtype=int)))


def concat(a, *xs):
    assert all(x.ndim for x in xs), "a scalar has no axis"
    return np.concatenate(xs, a["axis"])


def split(a, x, lengths=None):
    axis = a.get("axis", 0)
    extent, count = x.shape[axis], a["outputs"]
    if lengths is None:
        lengths = a.get("split")
    if lengths is None:
        most = -(-extent // count)
        lengths = [max(0, min(most, extent - most * k)) for k in range(count)]
        assert "num_outputs" in a or extent % count == 0, "unequal parts"
    assert sum(ints(lengths)) == extent and min(ints(lengths)) >= 0, "the lengths do not add up"
    return np.split(x, np.cumsum(ints(lengths))[:-1].tolist(), axis)


def slice_(a, x, starts, ends, axes=None, steps=None):
    axes = range(len(starts)) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    index = [slice(None)] * x.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        index[int(axis)] = _range(int(start), int(end), int(step), x.shape[int(axis)])
    return x[tuple(index)]


def _range(start, end, step, extent):
    """The standard's slice: negative bounds count from the end, then they are clamped."""
    assert step, "a step of 0"
    start = start + extent if start < 0 else start
    end = end + extent if end < 0 else end
    if step > 0:
        return slice(min(max(start, 0), extent), min(max(end, 0), extent), step)
    start, end = min(max(start, 0), extent - 1), min(max(end, -1), extent - 1)
    return slice(start, None if end < 0 else end, step) if extent else slice(0, 0)


def _checked(indices, extent):
    assert np.all((indices >= -extent) & (indices < extent)), "an index is out of range"
    return np.where(indices < 0, indices + extent, indices).astype(np.int64)


def gather(a, x, indices):
    axis = a.get("axis", 0)
    return np.take(x, _checked(indices, x.shape[axis]), axis)


def gather_elements(a, x, indices):
    axis = a.get("axis", 0)
    axis += x.ndim if axis < 0 else 0
    assert x.ndim == indices.ndim and all(k == axis or e <= x.shape[k] for k, e in enumerate(indices.shape)), "the indices are too large"
    at = list(np.indices(indices.shape, sparse=True)) if indices.ndim else []
    at[axis] = _checked(indices, x.shape[axis])
    return x[tuple(at)]


def _coordinates(indices, shape):
    return tuple(_checked(indices[..., k], shape[k]) for k in range(indices.shape[-1]))


def gather_nd(a, x, indices):
    batch = a.get("batch_dims", 0)
    assert x.ndim and indices.ndim and indices.shape[-1] >= 1 and batch + indices.shape[-1] <= x.ndim, "wrong ranks"
    assert x.shape[:batch] == indices.shape[:batch], "batches of different extents"
    if not batch:
        return x[_coordinates(indices, x.shape)]
    shape = x.shape[:batch]
    rest = x.shape[batch:]
    parts = [
        flat[_coordinates(at, rest)]
        for flat, at in zip(x.reshape(-1, *rest), indices.reshape(-1, *indices.shape[batch:]), strict=True)
    ]
    made = np.stack(parts) if parts else np.zeros((0, *indices.shape[batch:-1], *rest[indices.shape[-1] :]), x.dtype)
    return made.reshape(*shape, *made.shape[1:])


def _distinct(at, shape):
    """Whether no place is named twice."""
    flat = np.ravel_multi_index(tuple(np.broadcast_arrays(*at)), shape).ravel() if all(shape) else np.zeros(0)
    return len(np.unique(flat)) == flat.size


def _scatter(a, made, at, updates):
    kind = a.get("reduction", "none")
    if kind == "none":
        assert _distinct(at, made.shape[: len(at)]), "a place is written twice"
        made[at] = updates
    else:
        {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}[kind].at(made, at, updates)
    return made


def scatter_elements(a, x, indices, updates):
    axis = a.get("axis", 0)
    axis += x.ndim if axis < 0 else 0
    assert x.ndim == indices.ndim and indices.shape == updates.shape, "wrong shapes"
    assert all(k == axis or e <= x.shape[k] for k, e in enumerate(indices.shape)), "the indices are too large"
    at = list(np.broadcast_arrays(*np.indices(indices.shape)))
    at[axis] = _checked(indices, x.shape[axis])
    return _scatter(a, x.copy(), tuple(at), updates)


def scatter_nd(a, x, indices, updates):
    assert updates.shape == indices.shape[:-1] + x.shape[indices.shape[-1] :], "the updates have another shape"
    return _scatter(a, x.copy(), _coordinates(indices, x.shape), updates)


def expand(a, x, shape):
    return np.broadcast_to(x, within(np.broadcast_shapes(x.shape, within(ints(shape))))).copy()


def tile(a, x, repeats):
    assert len(repeats) == x.ndim, "the number of repeats"
    within([e * int(r) for e, r in zip(x.shape, repeats, strict=True)])
    return np.tile(x, ints(repeats))


def pad(a, x, pads, value=None, axes=None):
    axes = list(range(x.ndim)) if axes is None else [int(k) % x.ndim for k in axes]
    half = len(pads) // 2
    assert half == len(axes) == len(set(axes)), "the number of pads"
    amounts = [(0, 0)] * x.ndim
    for k, axis in enumerate(axes):
        amounts[axis] = (int(pads[k]), int(pads[half + k]))
    mode = a.get("mode", "constant")
    for (before, after), extent in zip(amounts, x.shape, strict=True):
        assert before + after + extent >= 0 and (before >= -extent and after >= -extent), "more is cut than there is"
        if mode != "constant":
            assert before >= 0 and after >= 0, "a negative pad"
            assert (extent or not (before or after)) and max(before, after) < max(extent, 1 if mode == "reflect" else 10**6), "too large a pad"
    if mode == "constant":
        cut = x[tuple(slice(max(0, -b), e - max(0, -c)) for (b, c), e in zip(amounts, x.shape, strict=True))]
        fill = value.item() if value is not None else ("" if x.dtype == object else 0)
        if x.dtype.kind not in "biufO":
            fill = np.array(fill, np.float32).astype(x.dtype)
        return np.pad(cut, [(max(0, b), max(0, c)) for b, c in amounts], constant_values=fill)
    return np.pad(x, amounts, mode=mode)


def shape(a, x):
    return np.array(x.shape[a.get("start", 0) : a.get("end")], np.int64)


def constant_of_shape(a, extents):
    value = a.get("value", np.zeros(1, np.float32))
    return np.full(within(ints(extents)), value.reshape(-1)[0] if value.dtype == object else value.reshape(()), value.dtype)


def range_(a, start, limit, delta):
    if start.dtype.kind in "iu":
        start, limit, delta, dtype = int(start), int(limit), int(delta), start.dtype
        assert delta, "a step of 0"
        count = max(0, -((limit - start) // -delta))
    else:
        dtype = start.dtype
        start, limit, delta = (x.astype(np.float64).item() for x in (start, limit, delta))
        assert delta, "a step of 0"
        count = max(0, int(np.ceil((limit - start) / delta)))
    within([count])
    return np.array([start + k * delta for k in range(count)], np.float64 if dtype.kind not in "iu" else object).astype(dtype)


def one_hot(a, indices, depth, values):
    axis, count = a.get("axis", -1), int(depth.item())
    assert 0 < count < 1000, "the depth"
    wrapped = np.where(indices < 0, indices + count, indices)
    axis = axis if axis >= 0 else axis + indices.ndim + 1
    hot = np.expand_dims(wrapped, axis) == np.arange(count).reshape([-1 if k == axis else 1 for k in range(indices.ndim + 1)])
    return np.where(hot, values[1], values[0]).astype(values.dtype)


def trilu(a, x, k=None):
    assert x.ndim >= 2, "no matrices"
    return (np.triu if a.get("upper", 1) else np.tril)(x, 0 if k is None else int(k.item()))


def eye_like(a, x):
    from .elementwise import dtype_of

    assert x.ndim == 2, "no matrix"
    return np.eye(*x.shape, a.get("k", 0)).astype(dtype_of(a["dtype"]) if "dtype" in a else x.dtype)


def non_zero(a, x):
    if not x.ndim:
        return np.zeros((0, int(bool(x))), np.int64)
    return np.stack(np.nonzero(x)).astype(np.int64)


def compress(a, x, condition):
    axis = a.get("axis")
    assert condition.ndim == 1 and len(condition) <= (x.size if axis is None else x.shape[axis]), "the condition is too long"
    return np.compress(condition, x, axis)


def unique(a, x):
    axis = a.get("axis")
    assert x.ndim or axis is None, "a scalar has no axis"
    if x.dtype.kind not in "biuO":
        assert not np.any(np.isnan(x.astype(np.float64))), "the order of NaN"
    slices = [x.ravel()[k] for k in range(x.size)] if axis is None else [np.take(x, k, axis) for k in range(x.shape[axis])]
    keys = [tuple(np.asarray(s).ravel().tolist()) for s in slices]
    firsts = {}
    for k, key in enumerate(keys):
        firsts.setdefault(key, k)
    order = sorted(firsts) if a.get("sorted", 1) else list(firsts)
    at = np.array([firsts[key] for key in order], np.int64)
    place = {key: k for k, key in enumerate(order)}
    inverse = np.array([place[key] for key in keys], np.int64)
    counts = np.bincount(inverse, minlength=len(order)).astype(np.int64)
    return [x.ravel()[at] if axis is None else np.take(x, at, axis), at, inverse, counts]


OPS = {
    "Constant": constant,
    "Reshape": reshape,
    "Squeeze": squeeze,
    "Unsqueeze": unsqueeze,
    "Flatten": flatten,
    "Transpose": lambda a, x: x.transpose(a.get("perm")),
    "Concat": concat,
    "Split": split,
    "Slice": slice_,
    "Gather": gather,
    "GatherElements": gather_elements,
    "GatherND": gather_nd,
    "ScatterElements": scatter_elements,
    "ScatterND": scatter_nd,
    "Expand": expand,
    "Tile": tile,
    "Pad": pad,
    "Shape": shape,
    "Size": lambda a, x: np.array(x.size, np.int64),
    "ConstantOfShape": constant_of_shape,
    "Range": range_,
    "OneHot": one_hot,
    "Trilu": trilu,
    "EyeLike": eye_like,
    "NonZero": non_zero,
    "Compress": compress,
    "Unique": unique,
}
