"""A loop in a loop: for each row, the number of elements until their sum reaches a limit, and this sum.

The outer loop iterates over rows, with a trip count; the inner loop iterates over a row, with a test before each trip. The
nesting is not declared: it follows from the input of the inner iterator, which is a value of the outer loop. If a row never
reaches the limit, the trip count ends the inner loop.
"""

import numpy as np

from rondel.network import *  # noqa: F403


def build(rows, columns):
    n = Network()
    table = n.add_input("table", DataType.FLOAT, (rows, columns))
    limit = n.add_input("limit", DataType.FLOAT, ())

    def constant(number, dtype=np.float32):
        return n.add_constant((), np.array(number, dtype)).get_output(0)

    outer = n.add_loop()
    outer.name = "rows"
    outer.add_trip_limit(constant(rows, np.int64), TripLimit.COUNT)
    row = outer.add_iterator(table).get_output(0)

    inner = n.add_loop()
    inner.name = "elements"
    element = inner.add_iterator(row).get_output(0)
    total, taken = inner.add_recurrence(constant(0)), inner.add_recurrence(constant(0, np.int64))
    total.set_input(1, n.add_elementwise(total.get_output(0), element, ElementWiseOperation.SUM).get_output(0))
    taken.set_input(1, n.add_elementwise(taken.get_output(0), constant(1, np.int64), ElementWiseOperation.SUM).get_output(0))
    below = n.add_elementwise(total.get_output(0), limit, ElementWiseOperation.LESS).get_output(0)
    inner.add_trip_limit(below, TripLimit.WHILE)
    inner.add_trip_limit(constant(columns, np.int64), TripLimit.COUNT)

    for recurrence, name in ((taken, "taken"), (total, "sums")):
        last = inner.add_loop_output(recurrence.get_output(0), LoopOutput.LAST_VALUE).get_output(0)
        joined = outer.add_loop_output(last, LoopOutput.CONCATENATE).get_output(0)
        joined.name = name
        n.mark_output(joined)
    return n


def main():
    table = np.array([[1, 2, 3, 4], [5, 5, 5, 5], [0, 1, 0, 1], [9, 0, 0, 0]], np.float32)
    taken, sums = build(*table.shape).build_session().run(None, {"table": table, "limit": 6})
    for row, count, total in zip(table, taken, sums, strict=True):
        print(f"{row} -> {count} elements, sum {total}")


if __name__ == "__main__":
    main()
