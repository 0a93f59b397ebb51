"""Indexing of traced values: x[0], x[1:, ::-1], x[..., None], x[i] with a traced or an array of integers."""

import numpy as np

from ..errors import CallerError
from . import numbers
from .table import function
from .traced import Traced

_FIRST, _LAST = -(2**63), 2**63 - 1


def item(x: Traced, index):
    """x[index], as in NumPy: slices first, then elements along axes, then new axes of extent 1. One index may be an array. An index
    with `...` needs a known rank."""
    given = list(index) if isinstance(index, tuple) else [index]
    parts = [_pick(x, part) if _is_pick(part) else part for part in _without_ellipsis(x, given)]
    slices, picks, new = _sorted(x, parts)
    to_front = _axes_to_front(x, parts) if _are_apart(given) else []
    if slices:
        axes, ranges = zip(*slices)
        bounds = [_bounds(r) for r in ranges]
        before = {axis: start for axis, (start, _, step) in zip(axes, bounds) if step < 0 and start < -1}
        if before:
            # Backwards from before the first element, Python takes nothing, and ONNX that element.
            x = _sliced(x, list(before), [(0, start + 1, 1) for start in before.values()])
            bounds = [_from_last(*b) if axis in before else b for axis, b in zip(axes, bounds)]
        x = _sliced(x, list(axes), bounds)
    for axis, pick in reversed(picks):
        x = function("gather")(x, pick, axis=axis)
    if new:
        x = function("unsqueeze")(x, new)
    return function("transpose")(x, perm=[*to_front, *(a for a in range(x.ndim) if a not in to_front)]) if to_front else x


def _is_pick(part):
    return not (part is None or part is Ellipsis or isinstance(part, slice))


def _are_apart(parts):
    """Whether a slice, None or '...' stands between integers or arrays. NumPy then puts the axes of an array first."""
    picked = [k for k, part in enumerate(parts) if _is_pick(part)]
    return bool(picked) and picked[-1] - picked[0] >= len(picked)


def _axes_to_front(x, parts):
    """The axes of the result that come from an array, unless they are the first ones."""
    picked = [k for k, part in enumerate(parts) if _is_pick(part)]
    arrays = [k for k in picked if _rank(parts[k], x) > 0]
    if not arrays:
        return []
    if x.ndim is None:
        raise CallerError(f"{x!r} is indexed with an array apart from an integer, whose axes come first; its number of axes must be known")
    first = sum(k not in picked for k in range(arrays[0]))
    return list(range(first, first + _rank(parts[arrays[0]], x))) if first else []


def _sliced(x, axes, bounds):
    starts, ends, steps = (list(part) for part in zip(*bounds))
    return function("slice")(x, starts, ends, axes, steps)


def _from_last(start, end, step):
    """The same slice of what ends with the element at `start`, which counts from the end."""
    if end < 0 and end != _FIRST:
        end = min(end - start - 1, -1)
    return -1, end, step


def _without_ellipsis(x, parts):
    places = [k for k, p in enumerate(parts) if p is Ellipsis]
    if not places:
        return parts
    taken = sum(p is not None for p in parts) - len(places)
    if len(places) > 1 or x.ndim is None or x.ndim < taken:
        raise CallerError(f"the index {parts!r:.80} of {x!r}: '...' may stand once, where the number of axes is known")
    at = places[0]
    return [*parts[:at], *[slice(None)] * (x.ndim - taken), *parts[at + 1 :]]


def _sorted(x, parts):
    """[(axis, slice)], [(axis, index)], and the positions of the new axes of extent 1 in the result."""
    slices, picks, new = [], [], []
    axis = place = 0
    for part in parts:
        if part is None:
            new.append(place)
            place += 1
            continue
        if isinstance(part, slice):
            if part != slice(None):
                slices.append((axis, part))
            place += 1
        else:
            picks.append((axis, part))
            place += _rank(part, x)
        axis += 1
    if sum(_rank(p, x) > 0 for _, p in picks) > 1:
        raise CallerError(f"{x!r} is indexed with several arrays; gather_nd takes elements at several indices")
    if x.ndim is not None and axis > x.ndim:
        raise CallerError(f"{x!r} is indexed along {axis} axes")
    return slices, picks, new


def _pick(x, part):
    """An index that is an integer or an array, as a traced value or an array of int64."""
    if isinstance(part, Traced) and part.element in ("i32", "i64"):
        return part
    if not isinstance(part, (Traced, bool, np.bool_)):
        array = np.asarray(part) if isinstance(part, (int, list, np.ndarray, np.integer)) else None
        if array is not None and array.dtype.kind in "iu":
            return array.astype(np.int64)
    raise CallerError(f"{x!r} is indexed with {part!r:.60}; expected integers, slices, None, '...' or an array of int64; compress "
                      "and where choose by bools")  # fmt: skip


def _rank(pick, x):
    rank = pick.ndim
    if rank is None:
        raise CallerError(f"{x!r} is indexed with {pick!r}, whose number of axes is not known; reshape it, or use gather")
    return rank


def _bounds(s):
    for bound in (s.start, s.stop, s.step):
        if not (bound is None or numbers.is_number(bound) and isinstance(bound, int) or isinstance(bound, np.integer)):
            raise CallerError(f"a slice is bounded by {bound!r:.60}; expected integers; the function slice takes traced bounds")
    step = 1 if s.step is None else int(s.step)
    if step == 0:
        raise CallerError("the step of a slice is 0")
    start = (_LAST if step < 0 else 0) if s.start is None else int(s.start)
    end = (_FIRST if step < 0 else _LAST) if s.stop is None else int(s.stop)
    return start, end, step
