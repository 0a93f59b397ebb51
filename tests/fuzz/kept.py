"""Programs that once showed a fault, made small, and feeds like theirs: with other extents, counts and elements."""

from __future__ import annotations

import numpy as np
from models import model
from onnx import helper

#: The graph as ONNX text, in which `[...]` declares no rank, and [(feeds, results)]. None: the feeds must be refused.
PROGRAMS = {
    "a trip count that is a constant and an extent in the body": (
        """main () => (int64[k] sizes) <int64 n = {5}, int64 huge = {9223372036854775807}, bool yes = {1}, int64 zero = {0}, int64 one = {1}> {
  sizes = Loop (n, yes) <body = outer (int64 i, bool go) => (bool on, int64 size) {
    on = Identity (go)
    limit = Add (n, i)
    last, stack = Loop (huge, yes, zero) <body = inner (int64 j, bool go2, int64 s) => (bool on2, int64 t, int64 item) {
      t = Add (s, one)
      on2 = Less (t, limit)
      item = Identity (j)
    }>
    size = Size (stack)
  }>
}""",
        [({}, [[5, 6, 7, 8, 9]])],
    ),
    "states of an inner loop that hand on what the outer loop found": (
        """main (float[a, b, b] x, int64 n, int64 three) => (float[c, d, e] y) {
  y = Loop (n, , x) <body = outer (int64 i, bool go, float[...] s) => (bool on, float[...] t) {
    , , last = Loop (three, , x, s, s) <body = inner (int64 j, bool go2, float[...] s0, float[...] s1, float[...] s2)
      => (bool on2, float[...] t0, float[...] t1, float[...] t2) {
      on2 = Constant <value = bool {1}> ()
      t0 = Identity (s)
      t1 = Identity (s0)
      t2 = Identity (s1)
    }>
    one = Constant <value = float[1,3,3] {1,1,1,1,1,1,1,1,1}> ()
    t = Sub (last, one)
    on = Constant <value = bool {1}> ()
  }>
}""",
        [
            ({"x": np.ones((1, 1, 1), np.float32), "n": np.int64(2), "three": np.int64(3)}, [np.full((1, 3, 3), -1.0)]),
            ({"x": np.ones((0, 3, 3), np.float32), "n": np.int64(3), "three": np.int64(3)}, [np.ones((0, 3, 3))]),
            ({"x": np.ones((2, 3, 3), np.float32), "n": np.int64(0), "three": np.int64(3)}, [np.ones((2, 3, 3))]),
        ],
    ),
    "a slice whose extent depends on what a state was before the first trip": (
        """main (float[q] x) => (int64[a, b] shapes) <int64 last = {2}, int64[1] zero = {0}, int64[1] back = {-3}, bool yes = {1}> {
  , shapes = Loop (, yes, x) <body = b (int64 i, bool go, float[...] s) => (bool on, float[...] t, int64[1] item) {
    more = Constant <value = float[1] {1.5}> ()
    t = Concat <axis = 0> (s, more)
    end = Unsqueeze (i, zero)
    part = Slice (t, back, end, zero)
    item = Shape (part)
    on = Less (i, last)
  }>
}""",
        [({"x": np.zeros(0, np.float32)}, [[[0], [1], [2]]]), ({"x": np.zeros(3, np.float32)}, [[[0], [0], [0]]])],
    ),
    "a reshape in a loop whose class knows more than its inputs' shapes": (
        """main (float[c, d] x, int64 inner, int64 trips) => (bool[e, f, g] y) <bool yes = {1}> {
  y = Loop (trips, yes) <body = b (int64 i, bool go) => (bool on, bool[...] filled) {
    , stack = Loop (inner, , go) <body = c (int64 j, bool go2, bool[...] s) => (bool on2, bool[...] t, bool item) {
      on2 = Identity (go2)
      t = Constant <value = bool[1] {1}> ()
      item = Constant <value = bool {1}> ()
    }>
    shape = Shape (x)
    filled = Reshape (stack, shape)
    on = Identity (go)
  }>
}""",
        [
            ({"x": np.zeros((1, 2), np.float32), "inner": np.int64(2), "trips": np.int64(1)}, [[[[True, True]]]]),
            ({"x": np.zeros((1, 2), np.float32), "inner": np.int64(1), "trips": np.int64(1)}, None),
            ({"x": np.zeros((2, 2), np.float32), "inner": np.int64(4), "trips": np.int64(1)}, [[[[True, True], [True, True]]]]),
        ],
    ),
    "a scanned element that a product reads where it is copied, and that an inner loop hands on": (
        """main (float[k, 1, 3, t] x, float[n, 3] w, float[3, 3] v) => (float[a, b, c, d] y, float[e, f, g, h] z) {
  y, z = Scan <num_scan_inputs = 2, scan_input_axes = [3, 3], body = b (float[...] p, float[...] q) => (float[...] u, float[...] m) {
    m, unread = Scan <num_scan_inputs = 1, body = c (float[...] s, float[...] r) => (float[...] t, float[...] item) {
      item = Neg (r)
      t = Identity (q)
    }> (p, w)
    u = MatMul (q, v)
  }> (x, x)
}""",
        [
            ({"x": np.arange(6, dtype=np.float32).reshape(1, 1, 3, 2), "w": np.zeros((n, 3), np.float32), "v": 2 * np.eye(3, dtype=np.float32)},
             [[[[[0, 4, 8]]], [[[2, 6, 10]]]], [[[[0, 2, 4]]], [[[1, 3, 5]]]]])
            for n in (2, 0)
        ],
    ),
    "a state whose rank is not known after a trip, in a loop that makes none": (
        """main (int64[n] x, float[a, b, c] y) => (float[...] items) {
  , items = Scan <num_scan_inputs = 1, body = b (float[...] s, int64 e) => (float[...] t, float[...] item) {
    squeezed = Squeeze (s)
    t = Mul (s, squeezed)
    item = Identity (t)
  }> (y, x)
}""",
        [({"x": np.zeros(0, np.int64), "y": np.zeros(shape, np.float32)}, [np.zeros(0, np.float32)]) for shape in ((1, 2, 0), (0, 1, 1), (2, 1, 3))],
    ),
    "a state broadcast by another extent of the class, in a loop that may make no trip": (
        """main (int64[?,?] x, int64[?] y, int64 n, int64 k) => (int64[?] total) {
  total = Loop (n, , y) <body = outer (int64 i, bool go, int64[?] s) => (bool on, int64[?] t) {
    on = Constant <value = bool {1}> ()
    product = Loop (k, , x) <body = inner (int64 j, bool go2, int64[?,?] p) => (bool on2, int64[?,?] q) {
      on2 = Identity (go2)
      q = Mul (p, y)
    }>
    most = ReduceMax <keepdims = 0> (product)
    t = Add (s, most)
  }>
}""",
        [
            ({"x": np.ones((rows, columns), np.int64), "y": np.arange(1, n + 1), "n": np.int64(2), "k": np.int64(k)}, [np.arange(1, n + 1) + 2 * n**k])
            for rows, columns, n, k in [(3, 1, 3, 2), (3, 1, 3, 1), (2, 2, 2, 3)]
        ]
        + [({"x": np.ones((3, 1), np.int64), "y": np.arange(1, 4), "n": np.int64(2), "k": np.int64(0)}, [np.arange(3, 6)])],
    ),
    "rows of two, which one trip changes again and again, compiled for their extents": (
        """main (float[a, b] x) => (float[a, b] y) <int64[1] axis = {1}> {
  t = Exp (x)
  m = ReduceMax <keepdims = 1> (t, axis)
  s = Sub (t, m)
  q = ReduceSum <keepdims = 1> (s, axis)
  y = Mul (s, q)
}""",
        [
            ({"x": np.log([[1, 2], [4, 1], [8, 2], [1, 1]]).astype(np.float32)}, [np.float32([[1, 0], [0, 9], [0, 36], [0, 0]])])
            for _ in range(3)
        ],
    ),
    "rows that an inner loop adds to the last three of a state that grows": (
        """main (float[a, b] x, int64 trips, int64 more) => (int64[c, 2] shapes) <int64[1] back = {-3}, int64[1] last = {9223372036854775807}, int64[1] zero = {0}> {
  , shapes = Loop (trips, , x) <body = b (int64 i, bool go, float[...] s) => (bool on, float[...] t, int64[2] item) {
    row = Constant <value = float[1, 3] {0, 0, 0}> ()
    longer = Concat <axis = 0> (s, row)
    t = Slice (longer, back, last, zero)
    grown = Loop (more, , t) <body = c (int64 j, bool go2, float[...] u) => (bool on2, float[...] v) {
      first = Constant <value = float[1, 3] {3, 2, -2}> ()
      v = Concat <axis = 0> (first, u)
      on2 = Constant <value = bool {1}> ()
    }>
    item = Shape (grown)
    on = Constant <value = bool {1}> ()
  }>
}""",
        [
            ({"x": np.zeros((1, 3), np.float32), "trips": np.int64(3), "more": np.int64(2)}, [[[4, 3], [5, 3], [5, 3]]]),
            ({"x": np.zeros((4, 3), np.float32), "trips": np.int64(1), "more": np.int64(0)}, [[[3, 3]]]),
        ],
    ),
    "a rule that breaks in trips that are never made": (
        """main () => (float[a] y, bool[2, 1, b] z) <bool[2, 1, 4] rows = {1, 0, 1, 1, 0, 1, 1, 1}, float zero = {0}, int64 one = {1}, bool yes = {1}> {
  y, z = Loop (one, yes, zero, rows) <body = b (int64 i, bool go, float[...] s, bool[...] r) => (bool on, float[...] t, bool[...] wide) {
    wide, unread = Loop (one, , r, r) <body = c (int64 j, bool go2, bool[...] p, bool[...] q) => (bool on2, bool[...] next, bool[...] keep, bool[...] item) {
      on2 = Identity (go2)
      item = Concat <axis = 1> (q, rows, rows)
      next = Concat <axis = 2> (p, rows)
      keep = Identity (q)
    }>
    on = Constant <value = bool {0}> ()
    t = Constant <value = float[1] {0}> ()
  }>
}""",
        [({}, [[0], [[[1, 0, 1, 1, 1, 0, 1, 1]], [[0, 1, 1, 1, 0, 1, 1, 1]]]])],
    ),
    "a node whose rule is broken for the shapes that came again": (
        """main (float a, float[?, ?, ?] x) => (float[?, ?, ?] y) <int64 trips = {1}, float[2, 3, 3] rows = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}, int64 four = {4}> {
  y, unread = Loop (trips, , x) <body = b (int64 i, bool go, float[...] s) => (bool[...] on, float[...] t, bool[...] item) {
    end, item = Loop (, go, i) <body = c (int64 j, bool go2, int64[...] p) => (bool on2, int64[...] q, bool stacked) {
      on2 = Constant <value = bool {0}> ()
      q = Constant <value = int64[1] {0}> ()
      stacked = Constant <value = bool {0}> ()
    }>
    twice = Mul (x, a)
    t = Sub (rows, twice)
    on = Greater (end, four)
  }>
}""",
        [
            ({"a": np.float32(2), "x": np.ones((2, 3, 3), np.float32)}, [np.arange(18).reshape(2, 3, 3) - 2]),
            *[({"a": np.float32(2), "x": np.zeros((0, 3, 3), np.float32)}, None)] * 3,
        ],
    ),
    "a rule that is broken in trips that are certain for the shapes that came again": (
        """main (int64[n] x, bool given) => (bool[...] y) <bool yes = {1}> {
  count = Size (x)
  y = Loop (count, , given) <body = b (int64 i, bool go, bool[...] s) => (bool on, bool[...] t) {
    zeros = Loop (count, yes) <body = c (int64 j, bool go2) => (bool on2, int64 item) {
      on2 = Identity (go2)
      item = Constant <value = int64 {0}> ()
    }>
    pair = Constant <value = int64[2] {-2, 4}> ()
    t = Less (zeros, pair)
    on = Identity (go)
  }>
}""",
        [
            ({"x": np.zeros(2, np.int64), "given": np.bool_(True)}, [[False, True]]),
            *[({"x": np.zeros(3, np.int64), "given": np.bool_(True)}, None)] * 3,
            ({"x": np.zeros(0, np.int64), "given": np.bool_(True)}, [True]),
        ],
    ),
    "how many elements of a constant are chosen": (
        """main (float[k, m] x, int64 trips) => (float[a, b] y) <int64 none = {0}, int64 one = {1}, int64 two = {2}, bool yes = {1}> {
  chosen = Loop (trips, yes) <body = b (int64 i, bool go) => (bool on, float[...] item) {
    on = Identity (go)
    largest = ReduceMax (x)
    size = Size (largest)
    index = Range (none, size, one)
    below = Less (index, two)
    item = Compress (largest, below)
  }>
  y = MatMul (chosen, x)
}""",
        [
            ({"x": np.ones((1, 3), np.float32), "trips": np.int64(0)}, [np.zeros((0, 3))]),
            ({"x": np.ones((1, 3), np.float32), "trips": np.int64(2)}, [np.ones((2, 3))]),
        ],
    ),
    "the last row of a state of which an older row is cut off": (
        """main (float[a] rows, float[b] first) => (float[c] last) <bool yes = {1}, int64[1] end = {2147483648}, int64[1] one = {1}, int64[1] back = {-1}, int64[1] zero = {0}, float limit = {1}> {
  last = Loop (, yes, first) <body = b (int64 i, bool go, float[...] s) => (bool on, float[...] t) {
    rest = Slice (s, one, end, zero)
    t = Concat <axis = 0> (rest, rows)
    newest = Slice (t, back, end, zero)
    on = Greater (newest, limit)
  }>
}""",
        [
            ({"rows": np.zeros(0, np.float32), "first": np.array([-1, -2], np.float32)}, [[-2]]),
            ({"rows": np.zeros(0, np.float32), "first": np.array([7, 2, 1], np.float32)}, [[2, 1]]),
            ({"rows": np.zeros(1, np.float32), "first": np.array([5, 3], np.float32)}, [[3, 0]]),
        ],
    ),
    "the different elements of a constant that no trip stacks": (
        """main (int64 n) => (int64[a, b] y) <int64[3] some = {4, -3, -2}, bool yes = {1}> {
  s = Loop (n, yes) <body = b (int64 i, bool go) => (bool on, int64[...] item) <int64 one = {5}> {
    item = Unique (one)
    on = Identity (go)
  }>
  y = Mul (s, some)
}""",
        [({"n": np.int64(0)}, [np.zeros((0, 3))]), ({"n": np.int64(2)}, [[[20, -15, -10]] * 2])],
    ),
    "the first element of a list that is longer in each trip, of which there is none": (
        """main (bool[n] first, bool go) => (int64[2] shape) <int64[1] zero = {0}, int64[1] one = {1}, int64 two = {2}> {
  , s = Loop (, go, first) <body = b (int64 i, bool g, bool[...] list) => (bool on, bool[...] longer, bool[...] item) {
    more = Constant <value = bool[1] {1}> ()
    longer = Concat <axis = 0> (list, more)
    item = Slice (longer, zero, one, zero)
    on = Less (i, two)
  }>
  shape = Shape (s)
}""",
        [({"first": np.zeros(n, bool), "go": np.bool_(go)}, [[3 if go else 0, 1]]) for n in (0, 2) for go in (False, True)],
    ),
    "an item of a list that a loop makes longer, which another loop without trips stacks": (
        """main (int64 n) => (int64 length, int64[a, b] y) <int64[1] first = {5}, int64[0] none = {}, bool no = {0}> {
  list = SequenceConstruct (first)
  longer = Loop (n, , list) <body = b (int64 i, bool go, seq(int64[...]) s) => (bool on, seq(int64[...]) t) {
    t = SequenceInsert (s, none)
    on = Identity (go)
  }>
  length = SequenceLength (longer)
  y = Loop (n, no) <body = c (int64 j, bool go2) => (bool on2, int64[1] item) {
    one = SequenceLength (list)
    k = Mod (j, one)
    item = SequenceAt (list, k)
    on2 = Identity (go2)
  }>
}""",
        [({"n": np.int64(n)}, [n + 1, np.zeros((0, 1))]) for n in (0, 2)],
    ),
    "an item of an empty list, of which the model tells the shape": (
        """main (seq(string[3, 1]) list, bool go) => (string[a, b, c] y) {
  y = Loop (, go) <body = b (int64 i, bool go2) => (bool on, string[3, 1] item) {
    zero = Constant <value = int64 {0}> ()
    item = SequenceAt (list, zero)
    on = Constant <value = bool {0}> ()
  }>
}""",
        [
            ({"list": [], "go": np.bool_(False)}, [np.zeros((0, 3, 1), object)]),
            ({"list": [np.full((3, 1), "a", object)], "go": np.bool_(False)}, [np.zeros((0, 3, 1), object)]),
            ({"list": [np.full((3, 1), "a", object)], "go": np.bool_(True)}, [np.full((1, 3, 1), "a", object)]),
        ],
    ),
    "the outputs of no step of a recurrent cell whose input has no rank before the run": (
        """main (float[...] x, float[1, 12, 1] w, float[1, 12, 3] r) => (float[a, b, c, d] y) <bool no = {0}> {
  rows = Loop (, no) <body = b (int64 i, bool go) => (bool on, float[1, 1] item) {
    item = Identity (x)
    on = Identity (go)
  }>
  y = LSTM <hidden_size = 3> (rows, w, r)
}""",
        [({"x": np.zeros((1, 1), np.float32), "w": np.ones((1, 12, 1), np.float32), "r": np.ones((1, 12, 3), np.float32)}, [np.zeros((0, 1, 1, 3))])],
    ),
    "a sum over an axis that one branch of a loop does not have, exported": (
        """main (int64 x, float[n, k, m] rows) => (int64[q] y) {
  y = Scan <num_scan_inputs = 2, body = b (float[...] row, float[...] same) => (int64[...] item) <int64 one = {1}, int64[1] last = {-1}> {
    more = Greater (x, one)
    three = Constant <value = int64 {3}> ()
    some = If (more) <else_branch = e () => (int64[...] q) { q = Constant <value = int64[1] {3}> () },
                      then_branch = t () => (int64[...] p) { p = Identity (three) }>
    sum = ReduceSum (some, last)
    item = ReduceMax <keepdims = 0> (sum)
  }> (rows, rows)
}""",
        [({"x": np.int64(0), "rows": np.zeros((n, 3, 3), np.float32)}, [[3] * n]) for n in (0, 2)],
    ),
    "the last element of a window": (
        """main (float[n] x, int64 trips) => (float[m] y) <int64[1] last = {-1}, int64[1] back = {-3}, int64[1] end = {2147483648}, int64[1] zero = {0}, float two = {2}> {
  yes = Constant <value = bool {1}> ()
  y = Loop (trips, yes, x) <body = b (int64 i, bool go, float[...] s) => (bool[...] on, float[...] window) {
    more = Constant <value = float[2] {4, 1}> ()
    joined = Concat <axis = 0> (s, more)
    window = Slice (joined, back, end, zero)
    one = Slice (window, last, end, zero)
    on = Less (one, two)
  }>
}""",
        [({"x": np.zeros(n, np.float32), "trips": np.int64(3)}, [[1, 4, 1]]) for n in (0, 1, 5)],
    ),
    "a sum of an extent that wraps around": (
        """main (float[n] x) => (int64[...] y) <int64[1] large = {9223372036854775807}, int64[1] zero = {0}> {
  extent = Shape (x)
  sum = Add (extent, large)
  y = Min (zero, sum)
}""",
        [({"x": np.zeros(n, np.float32)}, [[want]]) for n, want in ((7, 6 - 2**63), (0, 0), (1, -(2**63)))],
    ),
    "parts of the first element of a state that grows by them": (
        """main (int64[n] a, int64[m] b, int64 trips) => (int64[...] x, int64[...] sizes) <int64[1] zero = {0}, int64[1] one = {1}, int64[1] end = {9223372036854775807}> {
  x, y, sizes = Loop (trips, "", a, b) <body = body (int64 i, bool go, int64[k] s, int64[l] t) => (bool on, int64[...] joined, int64[...] u, int64[...] size) {
    on = Identity (go)
    trip = Reshape (i, one)
    first = Slice (t, zero, one, zero)
    part = Slice (first, trip, end, zero)
    joined = Concat <axis = 0> (s, part)
    u = Identity (joined)
    size = Size (part)
  }>
}""",
        [({"a": np.arange(n), "b": np.array([7, 8]), "trips": np.int64(4)}, [[*range(n), 7], [1, 0, 0, 0]]) for n in (3, 1, 4)],
    ),
    "a power of an extent that wraps around": (
        """main (int8[n] x) => (int64[...] y) <int64[1] zero = {0}> {
  extent = Shape (x)
  square = Mul (extent, extent)
  power = Mul (square, square)
  y = Min (zero, power)
}""",
        [({"x": np.zeros(n, np.int8)}, [[want]]) for n, want in ((60000, 60000**4 - 2**64), (0, 0), (7, 0))],
    ),
    "an empty batch that keeps the extents behind it": (
        """main (float[n,6] x) => (float[...] y) <int64[3] shape = {0, -1, 3}> {
  y = Reshape (x, shape)
}""",
        [({"x": np.zeros((n, 6), np.float32)}, [np.zeros((n, 2, 3))]) for n in (2, 0, 1)],
    ),
    "columns of a list that two inserts and an erase let grow": (
        """main (int64 trips) => (float[...] y) {
  y = Loop (trips, "") <body = outer (int64 i, bool go) => (bool on, float[...] columns) {
    row = Constant <value = float[1,3] {8, 6, 7}> ()
    width = Constant <value = int64 {1}> ()
    start = SplitToSequence <axis = 1> (row, width)
    list = Loop (trips, "", start) <body = inner (int64 k, bool more, seq(float[...]) s) => (bool more2, seq(float[...]) t) {
      item = Constant <value = float[1,1] {4}> ()
      one = SequenceInsert (s, item)
      other = Constant <value = float[1,1] {0}> ()
      two = SequenceInsert (one, other)
      t = SequenceErase (two)
      more2 = Constant <value = bool {1}> ()
    }>
    columns = ConcatFromSequence <axis = -2> (list)
    on = Constant <value = bool {1}> ()
  }>
}""",
        [({"trips": np.int64(n)}, [np.float32([[[8], [6], [7], *[[4]] * n]] * n)]) for n in (2, 1, 5)],
    ),
    "a counter of 64 bits, whose end LLVM finds by a division of 128 bits": (
        """main (uint64 start, uint64 limit, int64 most) => (uint64 last, int64 trips) <bool yes = {1}, uint64 seven = {7}, int64 one = {1}, int64 zero = {0}> {
  last, trips = Loop (most, yes, start, zero) <body = b (int64 i, bool go, uint64 c, int64 n) => (bool on, uint64 c2, int64 n2) {
    c2 = Add (c, seven)
    past = Less (limit, c)
    on = Not (past)
    n2 = Add (n, one)
  }>
}""",
        [
            ({"start": np.uint64(start), "limit": np.uint64(limit), "most": np.int64(30)}, [np.uint64(start + 7 * trips), np.int64(trips)])
            for start, limit, trips in [(6, 100, 15), (2**64 - 400, 2**64 - 300, 16), (6, 2**63, 30)]
        ],
    ),
    # What the class tells of a branch, inference that evaluates nothing does not; it must not be trusted to find the fault.
    "rows of a branch that is taken": (
        """main (int64[r,c] shape_of, int64[m] x, int64 n) => (int64[k] sums) {
  sums = Scan <num_scan_inputs = 1, body = scan (int64 a) => (int64 sum) {
    zero = Constant <value = int64 {0}> ()
    some = Greater (n, zero)
    list = If (some) <then_branch = t () => (int64[...] filled) {
      one = Constant <value = int64[1] {1}> ()
      rows = Reshape (n, one)
      filled = Expand (n, rows)
    }, else_branch = e () => (int64[...] none) { none = Constant <value = int64[0] {}> () }>
    extents = Shape (shape_of)
    table = Reshape (list, extents)
    total = ReduceSum <keepdims = 0> (table)
    sum = Add (total, a)
  }> (x)
}""",
        [
            ({"shape_of": np.zeros((rows, columns), np.int64), "x": np.array([-4, 2]), "n": np.int64(n)}, want)
            for rows, columns, n, want in [(1, 1, 1, [np.int64([-3, 3])]), (2, 1, 1, None), (2, 1, 2, [np.int64([0, 6])]), (5, 1, 1, None), (3, 2, 6, [np.int64([32, 38])])]
        ],
    ),
    "a product of rows of a slice": (
        """main (float[a, b, c] xs, float s) => (float r) {
  r = Scan <num_scan_inputs = 1, scan_input_axes = [2], body = b (float p, float[...] x) => (float q) {
    q = Scan <num_scan_inputs = 1, body = c (float t, float[...] row) => (float u) {
      d = MatMul (row, row)
      u = Add (t, d)
    }> (p, x)
  }> (s, xs)
}""",
        [({"xs": np.arange(12, dtype=np.float32).reshape(2, 3, 2), "s": np.float32(1)}, [507])],
    ),
    "an item beside a product that could not run": (
        """main (float[n, m] x, float[k] z, int64 two, int64 most) => (float[a, b, c, d] y, float[e] sums) {
  y, sums = Loop (two, "") <body = b (int64 i, bool go) => (bool on, float[...] items, float sum) {
    zero = Constant <value = float {0}> ()
    sum, items = Loop (most, , zero) <body = c (int64 j, bool go2, float s) => (bool on2, float t, float[...] item) {
      on2 = Identity (go2)
      item = Neg (x)
      product = MatMul (x, z)
      more = ReduceMax <keepdims = 0> (product)
      t = Add (s, more)
    }>
    on = Identity (go)
  }>
}""",
        [
            ({"x": np.ones((2, 1), np.float32), "z": np.float32([3]), "two": np.int64(2), "most": np.int64(1)}, [np.full((2, 1, 2, 1), -1), [3, 3]]),
            ({"x": np.ones((2, 1), np.float32), "z": np.float32([3, 4]), "two": np.int64(2), "most": np.int64(0)}, [np.zeros((2, 0, 2, 1)), [0, 0]]),
        ],
    ),
    "an empty stack whose items would not fit": (
        """main (float[?, ?] x, bool[f] more, bool first, int64 none) => (float[a, b, c, d] y) <int64 two = {2}> {
  y = Loop (two, first) <body = b (int64 i, bool go) => (bool on, float[...] empty) {
    s = Loop ("", go) <body = c (int64 t, bool d) => (bool on2, float[...] row) {
      shifted = Add (t, i)
      k = Mod (shifted, two)
      row = Gather (x, k)
      on2 = Gather (more, t)
    }>
    empty = Loop (none, "") <body = e (int64 j, bool go2) => (bool on3, float[...] p) {
      on3 = Identity (go2)
      p = Mul (s, x)
    }>
    on = Identity (go)
  }>
}""",
        [
            ({"x": np.ones((2, 1), np.float32), "more": np.arange(rows) < rows - 1, "first": np.bool_(True), "none": np.int64(0)}, [np.zeros(shape)])
            for rows, shape in [(3, (2, 0, 0, 0)), (1, (2, 0, 2, 1)), (2, (2, 0, 2, 1))]
        ],
    ),
    "a stack of no products of a matrix of which the model tells no rank": (
        """main (float[...] a, float[2, 3] b, int64 n) => (float[d, e, f] y) {
  y = Loop (n, "") <body = b (int64 i, bool go) => (bool on, float[...] product) {
    on = Identity (go)
    product = Gemm (a, b)
  }>
}""",
        [({"a": np.ones((1, 2), np.float32), "b": np.ones((2, 3), np.float32), "n": np.int64(n)}, [np.full((n, 1, 3), 2)]) for n in (1, 0)],
    ),
    "a table of indices that is longer than what it reads": (
        """main (float[n, 2] x, int64 trips) => (float[2, 2] y) <int64[2, 2] table = {0, 1, 1, 0}, float[2, 2] zeros = {0, 0, 0, 0}> {
  y = Loop (trips, , zeros) <body = b (int64 i, bool go, float[2, 2] s) => (bool on, float[2, 2] t) {
    on = Identity (go)
    picked = GatherElements <axis = 1> (x, table)
    t = Add (s, picked)
  }>
}""",
        [
            ({"x": np.float32([[1, 2], [3, 4]]), "trips": np.int64(2)}, [[[2, 4], [8, 6]]]),
            ({"x": np.float32([[1, 2]]), "trips": np.int64(0)}, [[[0, 0], [0, 0]]]),
        ],
    ),
    "every other element of a part, of every other element of a list": (
        """main (int64[n] x, int64 trips, int64[1] first) => (int64[k] last, int64[p] lengths) <int64[1] zero = {0}, int64[1] step = {2}, int64[1] end = {9223372036854775807}, int64 two = {2}> {
  last, lengths = Loop (trips, "", x) <body = b (int64 i, bool go, int64[...] s) => (bool on, int64[...] t, int64 length) {
    on = Identity (go)
    length = Size (s)
    before = Sub (i, two)
    at = Unsqueeze (before, zero)
    half = Slice (x, first, at, zero, step)
    t = Slice (half, at, end, zero, step)
  }>
}""",
        [
            ({"x": np.arange(1, 11), "trips": np.int64(2), "first": np.array([-9])}, [[8], [10, 1]]),
            ({"x": np.arange(1, 4), "trips": np.int64(1), "first": np.array([0])}, [[1], [3]]),
        ],
    ),
    "what both branches broadcast to": (
        """main (float[?] x, float[?] start, float least) => (float[?] last, float[?, ?] all) <int64 two = {2}, bool go = {1}> {
  last, all = Loop (two, go, start) <body = b (int64 i, bool d, float[?] s) => (bool on, float[?] t, float[?] item) {
    on = Identity (d)
    largest = ReduceMax <keepdims = 0> (s)
    low = Less (largest, least)
    y = If (low) <then_branch = v () => (float[?] p) { p = Max (s, x) }, else_branch = e () => (float[?] q) { q = Sub (s, x) }>
    item = Mul (y, y)
    t = Neg (item)
  }>
}""",
        [
            ({"x": np.float32([3]), "start": np.float32([1, 2]), "least": np.float32(1)}, [[-9, -9], [[4, 1], [9, 9]]]),
            ({"x": np.float32([1, -2, 3]), "start": np.float32([1]), "least": np.float32(-20)}, [[-1, -49, -49], [[0, 9, 4], [1, 49, 49]]]),
        ],
    ),
    "elements of what one of two branches gives, of which data cut columns off": (
        """main (float[?, ?] x, float[2, 3] y, int64[n, 1] ends, int64 m) => (float[k] all) <int64[1] zero = {0}, int64[1] one = {1}, int64[1] flat = {-1}, float[0] nothing = {}> {
  all = Loop (m, "", nothing) <body = b (int64 i, bool go, float[...] s) => (bool on, float[...] t) {
    on = Identity (go)
    odd = Cast <to = 9> (i)
    v = If (odd) <then_branch = p () => (float[?, ?] cut) { end = Gather (ends, i)  cut = Slice (x, zero, end, one) }, else_branch = q () => (float[?, ?] other) { other = Identity (y) }>
    r = Reshape (v, flat)
    t = Concat <axis = 0> (s, r)
  }>
}""",
        [
            ({"x": np.float32([[0, 1, 2], [3, 4, 5]]), "y": -np.ones((2, 3), np.float32), "ends": np.array([[1], [2], [3]]), "m": np.int64(3)},
             [[-1, -1, -1, -1, -1, -1, 0, 1, 3, 4, 0, 1, 2, 3, 4, 5]]),
        ],
    ),
    "as many trips as a list backwards from before its first element has elements": (
        """main (int64[1] x, bool go) => (int64[a, 1] y) <int64[1] zero = {0}, int64 one = {1}, int64[1] first = {-4}, int64[1] end = {-3}, int64[1] back = {-1}> {
  y = Loop ("", go) <body = b (int64 i, bool d) => (bool on, int64[1] item) {
    from = Unsqueeze (i, zero)
    next = Add (i, one)
    to = Unsqueeze (next, zero)
    part = Slice (x, from, to, zero)
    twice = Concat <axis = 0> (part, part)
    turned = Slice (twice, first, end, zero, back)
    trips = Size (turned)
    filled = Loop (trips, "") <body = c (int64 j, bool e) => (bool on2, bool t) {
      on2 = Identity (e)
      t = Identity (e)
    }>
    item = Shape (filled)
    on = Constant <value = bool {0}> ()
  }>
}""",
        [({"x": np.array([5]), "go": np.bool_(True)}, [[[1]]])],
    ),
    "an empty stack of items of which the model tells no rank": (
        """main (float[...] x, int64 trips, int64 none) => (float[a, b] y) {
  y = Loop (trips, "") <body = b (int64 i, bool go) => (bool on, float[...] empty) {
    f = Cast <to = 1> (i)
    empty = Loop (none, "") <body = c (int64 j, bool go2) => (bool on2, float[...] item) {
      on2 = Identity (go2)
      item = Mul (x, f)
    }>
    on = Identity (go)
  }>
}""",
        [({"x": np.ones((3, 2), np.float32), "trips": np.int64(trips), "none": np.int64(0)}, [np.zeros((trips, 0))]) for trips in (2, 1)],
    ),
    "a state that a part of itself is joined to, for as many trips as it has columns": (
        """main (float[a, b] x, int64 trips) => (float[c, d] y) <int64[1] zero = {0}, int64[1] one = {1}> {
  y = Loop (trips, "", x) <body = b (int64 i, bool go, float[p, q] s) => (bool on, float[p, r] t) {
    end = Unsqueeze (i, zero)
    part = Slice (s, zero, end, one)
    t = Concat <axis = 1> (part, s)
    on = Identity (go)
  }>
}""",
        [({"x": np.array([[1, 2], [3, 4]], np.float32), "trips": np.int64(2)}, [[[1, 1, 2], [3, 3, 4]]])],
    ),
    "a state whose growth by a window that slides takes many inequalities to prove": (
        """main (int64 trips, int64[a] x, int64[b] y) => (int64[c, d] all) <int64[1] one = {1}, int64[1] far = {2147483648}, int64[1] zero = {0}> {
  , all = Loop (trips, , x) <body = outer (int64 i, bool go, int64[?] s) => (bool on, int64[?] t, int64[?] item) {
    rest = Slice (s, one, far, zero)
    t = Concat <axis = 0> (rest, y)
    n = Shape (t)
    , item = Loop (n, , y, y) <body = inner (int64 j, bool go2, int64[?] u, int64[?] v) => (bool on2, int64[?] u2, int64[?] v2) {
      most = ReduceMax (u)
      limit = Constant <value = int64 {1}> ()
      small = Less (most, limit)
      u2, v2 = If (small) <then_branch = grow () => (longer, same) { longer = Concat <axis = 0> (u, x)  same = Identity (v) },
        else_branch = keep () => (short, fixed) { short = Identity (u)  fixed = Constant <value = int64[6] {3, 3, 3, 4, 4, 4}> () }>
      on2 = Identity (go2)
    }>
    on = Identity (go)
  }>
}""",
        [({"trips": np.int64(2), "x": np.array([1, 2]), "y": np.array([1, 2, 3])}, [[[3, 3, 3, 4, 4, 4]] * 2])],
    ),
    "a state that grows by the remainder of the trip number": (
        """main (float[?, ?] x, int64[1] rows, int64 trips) => (int64[?, 2] sizes)
  <int64[1] zero = {0}, int64 four = {4}> {
  sizes = Loop (trips, "") <body = outer (int64 i, bool go) => (bool on, int64[2] size) {
    on = Identity (go)
    , positions = TopK <axis = 0> (x, rows)
    last = Loop (trips, "", positions) <body = inner (int64 j, bool go2, int64[?, ?] s) => (bool on2, int64[?, ?] t) {
      on2 = Identity (go2)
      left = Mod (j, four)
      count = Unsqueeze (left, zero)
      , some = TopK <axis = 1> (s, count)
      t = Concat <axis = 1> (s, some)
    }>
    size = Shape (last)
  }>
}""",
        [
            ({"x": np.ones((3, 4), np.float32), "rows": np.array([2]), "trips": np.int64(3)}, [[[2, 7]] * 3]),
            ({"x": np.ones((3, 4), np.float32), "rows": np.array([0]), "trips": np.int64(6)}, [[[0, 11]] * 6]),
        ],
    ),
    "a slice that nothing bounds is tiled": (
        """main (int64 n, int64 k) => (bool[a, b] y) <int64[1] first = {0}, int64[1] last = {-1}, int64[1] one = {1}, int64[1] back = {-1}, int64[1] three = {-3}> {
  y = Loop (n, "") <body = outer (int64 i, bool go) => (bool on, bool[c] row) {
    on = Identity (go)
    stack = Loop (k, "") <body = inner (int64 j, bool g) => (bool on2, bool item) {
      on2 = Identity (g)
      item = Less (j, i)
    }>
    part = Slice (stack, first, last)
    turned = Slice (part, last, three, first, back)
    row = Tile (turned, one)
  }>
}""",
        [({"n": np.int64(2), "k": np.int64(4)}, [[[0, 0], [0, 0]]]), ({"n": np.int64(3), "k": np.int64(0)}, [np.zeros((3, 0))])],
    ),
}

EXTENTS, COUNTS = [0, 1, 1, 2, 3, 5], [0, 1, 1, 2, 3]


def model_of(text):
    """The model of a text in which `[...]` declares no rank."""
    made = model(text.replace("[...]", "[unranked]"))

    def clear(graph):
        for port in [*graph.input, *graph.output, *graph.value_info]:
            tensor = port.type.tensor_type
            if any(d.dim_param == "unranked" for d in tensor.shape.dim):
                tensor.ClearField("shape")
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    clear(attribute.g)

    clear(made.graph)
    return made


def results(graph, listed):
    """The results that are listed for feeds, in the dtypes of the graph's outputs."""
    dtypes = [helper.tensor_dtype_to_np_dtype(port.type.tensor_type.elem_type) for port in graph.output]
    return [np.asarray(value, dtype) for value, dtype in zip(listed, dtypes, strict=True)]


def feeds_like(rng, graph, feeds):
    """Feeds of the same types: extents that have one name stay equal, those that are numbers stay, and so do lists."""
    extents = {}

    def extent(dim, old):
        if dim is not None and dim.HasField("dim_value"):
            return dim.dim_value
        new = old if rng.random() < 0.5 else rng.choice(EXTENTS)
        return extents.setdefault(dim.dim_param, new) if dim is not None and dim.dim_param else new

    made = {}
    for port in graph.input:
        if port.name not in feeds:
            continue
        if not port.type.HasField("tensor_type"):
            made[port.name] = feeds[port.name]
            continue
        old, declared = np.asarray(feeds[port.name]), port.type.tensor_type.shape.dim
        shape = [extent(declared[k] if k < len(declared) else None, e) for k, e in enumerate(old.shape)]
        made[port.name] = _array(rng, old, shape)
    return made


def _array(rng, old, shape):
    """Small elements; a scalar that counts is small or stays."""
    if not shape and old.dtype.kind in "iu":
        return np.array(rng.choice([*COUNTS, old.item()]), old.dtype)
    numbers = np.array([rng.randint(-1, 4) for _ in range(int(np.prod(shape, dtype=int)))], np.int64).reshape(shape)
    return np.asarray(numbers > 0 if old.dtype == bool else np.abs(numbers) if old.dtype.kind == "u" else numbers, old.dtype)
