"""Loops with kernels on values whose extents become known in the trip, and with ops whose results' extents data decide, as one native program.
Beside an oracle, in all ways, and in check mode."""

import numpy as np
import pytest
from models import in_all_ways, model
from test_given_sizes import KEPT, SUM, agree, feeds_of, one_loop

CHOSEN = "z = Cast <to = 1> (i)  many = Greater (x, z)"  # in x, float[T,3]
ROWS = "p = Range (zero, k, one)  q = Cast <to = 1> (p)"  # float[k]
TABLE = f"{ROWS}  up = Unsqueeze (q, axis)  wide = Concat <axis = 0> (up, up)  m = Cast <to = 1> (i)  y0 = Mul (wide, m)"  # float[2,k]

LOOPS = {
    # What data find.
    "positions of a list": one_loop(f"c = Greater (v, half)  y = NonZero (c)  {SUM}  {KEPT}"),
    "positions of a table": one_loop(f"{CHOSEN}  y = NonZero (many)  {SUM}  {KEPT}"),
    "positions of one number": one_loop(f"y = NonZero (k)  {SUM}  {KEPT}"),
    "positions of what the trip makes": one_loop(f"{TABLE}  y = NonZero (y0)  {SUM}  {KEPT}"),
    "positions, transposed": one_loop(f"{CHOSEN}  at = NonZero (many)  y = Transpose (at)  {SUM}  {KEPT}"),
    "what a mask selects": one_loop(f"c = Greater (v, half)  y = Compress <axis = 0> (v, c)  {SUM}  {KEPT}"),
    "elements that a mask selects": one_loop(f"{CHOSEN}  flat = Reshape (many, minus)  y = Compress (x, flat)  {SUM}  {KEPT}").replace("float half", "int64[1] minus = {-1}, float half"),
    "columns that a mask selects": one_loop(f"{TABLE}  c = Greater (q, half)  y = Compress <axis = 1> (y0, c)  {SUM}  {KEPT}"),
    "a state shrinks": one_loop("c = Greater (v, nothing)  some = Compress <axis = 0> (v, c)  r = ReduceSum <keepdims = 0> (v)  w = Sub (some, half)"),
    "a state shrinks and grows": one_loop("c = Greater (v, nothing)  some = Compress <axis = 0> (v, c)  r = ReduceSum <keepdims = 0> (v)  w = Concat <axis = 0> (some, v)"),
    "each number once": one_loop(f"y, a, b, n = Unique (v)  g = ReduceSum <keepdims = 0> (a)  h = ReduceSum <keepdims = 0> (b)  {SUM}  {KEPT}"),
    "counts of numbers": one_loop(f"u, a, b, y = Unique (v)  {SUM}  {KEPT}"),
    "each row once": one_loop(f"y = Unique <axis = 0> (x)  {SUM}  {KEPT}"),
    "each number of what the trip makes once": one_loop(f"{TABLE}  y, a, b, n = Unique (y0)  {SUM}  {KEPT}"),
    "the best k": one_loop(f"y, at = TopK (x, least)  {SUM}  {KEPT}").replace("f = Cast", "low = Max (k, zero)  least = Min (low, three)  f = Cast"),
    "the best k of columns": one_loop(f"low = Max (kk, nought)  ty = Shape <end = 1> (x)  least = Min (low, ty)  best, y = TopK <axis = 0> (x, least)  {SUM}  {KEPT}").replace("float half", "int64[1] nought = {0}, float half"),
    # Kernels on what the trip makes.
    "the best of what the trip makes": one_loop(f"{ROWS}  s1 = Shape (q)  best, y = TopK <largest = 0> (q, s1)  {SUM}  {KEPT}"),
    "the best of columns of what the trip makes": one_loop(f"{TABLE}  y, at = TopK <axis = 0> (y0, o)  {SUM}  {KEPT}").replace("float half", "int64[1] o = {1}, float half"),
    "the best of a part of a state": one_loop(f"e = Max (k, zero)  ee = Unsqueeze (e, axis)  a = Slice (v, axis, ee)  s1 = Shape (a)  y, at = TopK (a, s1)  {SUM}  {KEPT}"),
    "the best of what a mask selects": one_loop(f"c = Greater (v, half)  a = Compress <axis = 0> (v, c)  s1 = Shape (a)  y, at = TopK (a, s1)  {SUM}  {KEPT}"),
    "pooling of what the trip makes": one_loop(f"{ROWS}  ends = Concat <axis = 0> (v, q, v)  u = Unsqueeze (ends, both)  y = MaxPool <kernel_shape = [2]> (u)  {SUM}  {KEPT}").replace("float half", "int64[2] both = {0, 1}, float half"),
    "pooling of rows of what the trip makes": one_loop(f"{ROWS}  ends = Concat <axis = 0> (v, q, v)  u = Unsqueeze (ends, both)  c = Concat <axis = 1> (u, u)  y = AveragePool <kernel_shape = [2], strides = [2]> (c)  {SUM}  {KEPT}").replace("float half", "int64[2] both = {0, 1}, float half"),
    "windows of what the trip makes": one_loop(f"{ROWS}  ends = Concat <axis = 0> (v, q, v)  u = Unsqueeze (ends, both)  y = Conv <kernel_shape = [2]> (u, weights)  {SUM}  {KEPT}").replace("float half", "int64[2] both = {0, 1}, float[2,1,2] weights = {1, 2, 3, 4}, float half"),
}  # fmt: skip

NATIVELY = "natively, as a whole"
DATA = [[1, 2, 3, 2, 1], [0, 1, 40, 3, 9], [0, 0, 0, 0, 0], [3] * 9, [0, -3, 2, 1, 1], [200, 1, 300, 1, 2], [1]]


@pytest.mark.parametrize("loop", LOOPS)
def test_what_the_trip_finds(loop, monkeypatch):
    made = model(LOOPS[loop])
    sessions = in_all_ways(made, monkeypatch)
    rng = np.random.default_rng(11)
    agreed = 0
    for data, length in zip(DATA, [3, 3, 1, 5, 0, 40, 1], strict=True):
        agreed += agree(sessions, made, feeds_of(rng, min(len(data), 9), data, length))
    assert agreed >= 5
    assert sessions["2", "0"].how_it_ran()["node 'last' (Loop)"] == NATIVELY
