"""The bookkeeping of a beam search without its network: scores added, the best four of 200, nested Ifs."""

import numpy as np

from harness import Workload, by_hand, from_text

TRIPS, EOS = 10_000, 7
MODEL = """
beam_search (int64 most, float[4,50] table, int64 eos) => (float[4] scores, int64[4] last, int64 ended, int64[T,4] parents)
<bool yes = {1}, float[4] zeros = {0, -9, -9, -9}, int64[4] begin = {1, 2, 3, 4}, int64 none = {0}, int64 width = {50},
 int64[1] four = {4}, int64[1] last_axis = {-1}, int64 zero = {0}, int64 three = {3}, float half = {0.5}> {
  scores, last, ended, parents = Loop (most, yes, zeros, begin, none) <body = step
      (int64 i, bool go, float[4] score, int64[4] token, int64 count)
      => (bool on, float[4] next, int64[4] chosen, int64 total, int64[4] from) {
    on = Identity (go)
    rows = Mod (token, three)
    seen = Gather (table, rows)
    column = Unsqueeze (score, last_axis)
    sums = Add (column, seen)
    flat = Reshape (sums, last_axis)
    best, at = TopK (flat, four)
    from = Div (at, width)
    word = Mod (at, width)
    is_end = Equal (word, eos)
    ends = Cast <to = 7> (is_end)
    found = ReduceSum <keepdims = 0> (ends)
    some = Greater (found, zero)
    next, chosen, total = If (some) <
      then_branch = yes_ends () => (float[4] na, int64[4] ca, int64 ta) {
        ta = Add (count, found)
        many = Greater (ta, three)
        na, ca = If (many) <
          then_branch = most_end () => (float[4] nb, int64[4] cb) {
            nb = Mul (best, half)
            cb = Gather (token, from)
          },
          else_branch = few_end () => (float[4] nc, int64[4] cc) { nc = Where (is_end, score, best)  cc = Identity (word) }>
      },
      else_branch = none_ends () => (float[4] nd, int64[4] cd, int64 td) {
        nd = Identity (best)
        cd = Identity (word)
        td = Identity (count)
      }>
  }>
}
"""


def table():
    return np.random.default_rng(0).standard_normal((4, 50)).astype(np.float32)


def workload():
    return Workload(
        name="beam_search",
        doc="Loop, the bookkeeping of 4 beams of 50 words",
        model=from_text(MODEL),
        feeds={"most": np.array(TRIPS), "table": table(), "eos": np.array(EOS)},
        trips=TRIPS,
        first={"most": np.array(1)},
        limit_by_hand=3.0,
        by_hand=in_cpp,
    )


def in_cpp():
    scores, last = np.empty(4, np.float32), np.empty(4, np.int64)
    ended, parents = np.empty((), np.int64), np.empty((TRIPS, 4), np.int64)
    return by_hand("beam_search", TRIPS, table(), EOS, scores, last, ended, parents), [scores, last, ended, parents]
