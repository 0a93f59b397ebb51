"""The small LSTM as one `LSTM` node."""

from workloads.lstm import op


def workload():
    return op("lstm_small_op", batch=1, size=64, trips=256, limit_by_hand=1.2)
