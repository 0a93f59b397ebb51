"""The models of many tests of sessions."""

import numpy as np
from models import model, scalar

DOUBLE = "main (float[n] x) => (float[n] y) { y = Add (x, x) }"

# A model that tests of errors spoil, and its feeds.
GOOD = """
main (float[2, k] features, int64 shift) => (float[2, k] y) {
  one = Cast <to: int = 1> (shift)
  [adding] y = Add (features, one)
}"""

FEEDS = {"features": np.ones((2, 3), np.float32), "shift": scalar(1)}


def good_bytes():
    return model(GOOD).SerializeToString()
