"""An LSTM cell whose matrices stay in the first-level cache, in a `Scan`."""

from workloads.lstm import scans


def workload():
    return scans("lstm_small_scan", batch=1, size=64, trips=256, limit_by_hand=1.2)
