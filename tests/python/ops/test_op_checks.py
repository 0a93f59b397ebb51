"""Ops that check what they are given when it is known only in the run, and that end when they are asked to."""

import time

import numpy as np
import pytest
import rondel
from models import model, refused, run, session

DEFORMED = """
main (float[a, b, c, d] x, float[e, f, g, h] w, float[i, j, k, l] offset, float[m] bias, float[n, o, p, q] mask) => (float[r, s, t, u] y) {
  y = DeformConv (x, w, offset, bias, mask)
}"""


@pytest.mark.parametrize(
    ("name", "shape", "words"),
    [
        ("offset", (1, 18, 5, 5), "the shape of offset"),
        ("offset", (1, 18, 9, 1), "the shape of offset"),
        ("mask", (1, 9, 9, 1), "the shape of mask"),
        ("mask", (1, 1, 9, 9), "the shape of mask"),
    ],
)
def test_offsets_and_masks_must_fit_also_if_no_extent_is_declared(name, shape, words):
    feeds = {"x": (1, 2, 5, 5), "w": (3, 2, 3, 3), "offset": (1, 18, 3, 3), "bias": (3,), "mask": (1, 9, 3, 3)}
    feeds = {k: np.ones(s, np.float32) for k, s in feeds.items()}
    assert run(DEFORMED, feeds, 19)[0].shape == (1, 3, 3, 3)
    with refused(rondel.CallerError, "DeformConv", words):
        run(DEFORMED, {**feeds, name: np.ones(shape, np.float32)}, 19)


def test_offsets_that_are_no_numbers_read_nothing():
    feeds = {"x": (1, 1, 3, 3), "w": (1, 1, 1, 1), "offset": (1, 2, 3, 3), "bias": (1,), "mask": (1, 1, 3, 3)}
    feeds = {k: np.ones(s, np.float32) for k, s in feeds.items()}
    feeds["offset"][0, 0, 1, 1] = np.nan
    y = run(DEFORMED, feeds, 19)[0][0, 0]
    assert y[1, 1] == feeds["bias"][0] and np.isfinite(y).all()


LISTED = """
main (float[2, 3] x, int64[a] list) => (float[b] y) {{
  y = {op}
}}"""


@pytest.mark.parametrize("shape", [(1, 0), (0, 1), (1, 2), (2, 1), (1, 1)], ids=str)
@pytest.mark.parametrize("op", ["Tile (x, list)", "Expand (x, list)", "Reshape (x, list)", "ConstantOfShape (list)", "Slice (x, list, list)", "Unsqueeze (x, list)"])
def test_a_list_has_one_axis_also_if_the_file_declares_no_rank(op, shape):
    made = model(LISTED.format(op=op))
    for v in (made.graph.input[1], made.graph.output[0]):
        v.type.tensor_type.ClearField("shape")
    with refused(rondel.CallerError, op.split()[0], "expected"):
        session(made).run(None, {"x": np.ones((2, 3), np.float32), "list": np.ones(shape, np.int64)})


NGRAMS = """
main (int64[n] x) => (float[k] y) {{
  y = TfIdfVectorizer <mode = "TFIDF", min_gram_length = {shortest}, max_gram_length = {longest}, max_skip_count = {skipped},
    ngram_counts = {counts}, ngram_indexes = {columns}, pool_int64s = [1, 2, 1, 2, 2, 1], weights = {weights}> (x)
}}"""
GOOD = {"shortest": 1, "longest": 2, "skipped": 0, "counts": [0, 2], "columns": [0, 1, 2, 3], "weights": [1.0, 2.0, 3.0, 4.0]}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"counts": [0, 7]}, "ngram_counts"),
        ({"counts": [0, 3]}, "ngram_counts"),
        ({"columns": [0, 1, 2]}, "4 n-grams, and ngram_indexes 3 numbers"),
        ({"columns": [0, 1, 2, -5]}, "ngram_indexes has -5"),
        ({"columns": [0, 1, 2, 2**63 - 1]}, "ngram_indexes has 9223372036854775807"),
        ({"weights": [1.0]}, "1 weights for 4 n-grams"),
        ({"shortest": 3}, "n-grams from length 3 to 2"),
        ({"skipped": -1}, "max_skip_count is -1"),
    ],
)
def test_a_pool_of_ngrams_is_checked_before_it_runs(changed, words):
    made = model(NGRAMS.format(**{**GOOD, **changed}), 9)
    report = rondel.inspect(made)
    assert not report.runs and any(words in what for _, _, what in report.findings), report.findings


def test_ngrams_end_with_the_deadline():
    text = NGRAMS.format(**{**GOOD, "longest": 2**63 - 1, "skipped": 2**63 - 1})
    s = session(text, 9)
    x = np.array([1, 2, 1])
    assert s.run(None, {"x": x})[0].tolist() == [2, 2, 3, 4]
    limits = rondel.RunOptions()
    limits.deadline = 0.2
    begin = time.monotonic()
    with pytest.raises(rondel.DeadlineExceeded):
        s.run(None, {"x": np.tile(x, 100_000)}, limits)
    assert time.monotonic() - begin < 10


@pytest.mark.parametrize("length, words", [(-1, "negative"), (3, "the sequences have 2")])
def test_a_sequence_is_no_longer_than_the_steps(length, words):
    made = session("""main (float[t,1,1] x, float[1,1,1] w, float[1,1,1] r, int32[1] n) => (float[a,b,c,d] y) {
        y = RNN <hidden_size = 1> (x, w, r, , n) }""")
    ones = {"x": np.ones((2, 1, 1), np.float32), "w": np.ones((1, 1, 1), np.float32), "r": np.ones((1, 1, 1), np.float32)}
    for right in (0, 2):
        made.run(None, {**ones, "n": np.array([right], np.int32)})
    with refused(rondel.CallerError, "a sequence length is", words):
        made.run(None, {**ones, "n": np.array([length], np.int32)})


def test_gemm_with_beta_0_leaves_c_out():
    text = "main (float[2, 3] a, float[3, 2] b, float[2] c) => (float[2, 2] y) { y = Gemm <beta = 0.0> (a, b, c) }"
    a, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.ones((3, 2), np.float32)
    (got,) = run(text, {"a": a, "b": b, "c": np.array([np.inf, np.nan], np.float32)})
    np.testing.assert_array_equal(got, a @ b)
