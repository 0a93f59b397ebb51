"""Caches of fixed size in loops: TensorScatter writes into them in place, natively."""

import numpy as np
import pytest
import rondel
from models import in_onnxruntime, model, run, scalar, session

YES = "yes = Constant <value = bool {1}> ()"


def decoding(mode, at="at", step="step"):
    """Each trip stores a row for each sequence, and sums what is there."""
    return f"""
main (int64 n, float[B, T, D] cache, float[B, 1, D] row, int64[B] first) => (float[B, T, D] last, float[K, B, D] sums) {{
  {YES}
  last, sums = Loop (n, yes, cache) <body = trip (int64 i, bool go, float[B, T, D] x) => (bool on, float[B, T, D] y, float[B, D] sum) {{
    on = Identity (go)
    at = Add (first, i)
    scaled = CastLike (i, row)
    new = Add (row, scaled)
    y = TensorScatter <axis = 1, mode = "{mode}"> (x, new, at)
    sum = ReduceSum <keepdims = 0> (y, one)
  }}>
}}""".replace(YES, YES + "\n  one = Constant <value_ints = [1]> ()")


@pytest.mark.parametrize("mode", ["linear", "circular"])
def test_a_cache_is_written_in_place(mode):
    rng = np.random.default_rng(1)
    feeds = {"n": scalar(5, np.int64), "cache": rng.standard_normal((3, 9, 4)).astype(np.float32), "row": rng.standard_normal((3, 1, 4)).astype(np.float32)}
    feeds["first"] = np.array([0, 2, 4] if mode == "linear" else [0, 7, 100])
    text = decoding(mode)
    got = run(text, feeds, opset=24)
    want = in_onnxruntime(model(text, 24).SerializeToString(), feeds)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
    assert {found["execution"] for found in rondel.inspect(model(text, 24)).loops} == {"natively, as a whole"}


def test_a_cache_that_is_full_names_the_trip():
    feeds = {"n": scalar(5, np.int64), "cache": np.zeros((2, 3, 1), np.float32), "row": np.ones((2, 1, 1), np.float32), "first": np.array([0, 1])}
    with pytest.raises(rondel.CallerError, match=r"trip 2.*TensorScatter.*write index 3 is out of bounds; expected 0 to 2"):
        session(decoding("linear"), 24).run(None, feeds)
