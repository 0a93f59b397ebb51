"""Four LSTM layers, each a `Scan` over the items of the one below it."""

from workloads.lstm import scans


def workload():
    return scans("lstm_stack", batch=1, size=256, trips=128, layers=4, limit_by_hand=1.15)
