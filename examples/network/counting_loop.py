"""`for (i = j; i < last; i += k)`: a recurrence, a step and a test before each trip.

Then a matrix, sliced into rows or columns by an iterator, and joined again by a loop output.
"""

import numpy as np

from rondel.network import *  # noqa: F403

# ---- counting ----------------------------------------------------------------------------------------------
n = Network()
j, last, k = (n.add_input(name, DataType.INT64, ()) for name in ("j", "last", "k"))

loop = n.add_loop()
loop.name = "count"
i_rec = loop.add_recurrence(j)
i = i_rec.get_output(0)
i_next = n.add_elementwise(i, k, ElementWiseOperation.SUM).get_output(0)
i_rec.set_input(1, i_next)
loop.add_trip_limit(n.add_elementwise(i, last, ElementWiseOperation.LESS).get_output(0), TripLimit.WHILE)

n.mark_output(loop.add_loop_output(i, LoopOutput.CONCATENATE).get_output(0))
n.mark_output(loop.add_loop_output(i, LoopOutput.LAST_VALUE).get_output(0))
every, final = n.build_session().run(None, {"j": 3, "last": 20, "k": 5})
print("i goes through", every, "and ends as", final)

# ---- a matrix, sliced and joined ---------------------------------------------------------------------------
n = Network()
matrix = n.add_constant((2, 3), np.array([[2, 3, 5], [4, 6, 8]], np.float32)).get_output(0)


def through_a_loop(axis_in, kind, axis_out):
    """The matrix's slices along one axis, joined along another."""
    loop = n.add_loop()
    trips = n.add_constant((), np.array(matrix.shape[axis_in])).get_output(0)
    loop.add_trip_limit(trips, TripLimit.COUNT)
    slices = loop.add_iterator(matrix, axis_in).get_output(0)
    n.mark_output(loop.add_loop_output(slices, kind, axis_out).get_output(0))


through_a_loop(0, LoopOutput.CONCATENATE, 0)  # the matrix
through_a_loop(0, LoopOutput.CONCATENATE, 1)  # rows become columns: transposed
through_a_loop(1, LoopOutput.CONCATENATE, 1)  # columns stay columns: the matrix
through_a_loop(0, LoopOutput.REVERSE, 0)  # last row first
for what, result in zip(["rows", "transposed", "columns", "last row first"], n.build_session().run(None, {}), strict=True):
    print(f"{what}: {result.tolist()}")
