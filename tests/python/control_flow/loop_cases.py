"""The model that several files of tests of ONNX Loop share, and what it gives."""

import numpy as np

# x doubles every trip; stacks carry the state before doubling and the trip index; stops when i == `last`.
DOUBLING = """
main (int64 m, bool c, int64 last, float[2] x) => (float[2] y, float[n, 2] before, int64[n] trips) {
  y, before, trips = Loop (m, c, x) <body: graph = body (int64 i, bool go, float[2] a)
      => (bool more, float[2] b, float[2] item, int64 index) {
    b = Add (a, a)
    item = Identity (a)
    index = Identity (i)
    stop = Equal (i, last)
    more = Not (stop)
  }>
}"""


def doubling(x, trips):
    states = [np.float32(x) * np.float32(2) ** k for k in range(trips + 1)]
    before = np.array(states[:-1], np.float32).reshape(trips, len(x))
    return [states[-1].astype(np.float32), before, np.arange(trips, dtype=np.int64)]
