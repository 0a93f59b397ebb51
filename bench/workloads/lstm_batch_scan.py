"""An LSTM cell over 32 sequences at once: the matrix product decides."""

from workloads.lstm import scans


def workload():
    return scans("lstm_batch_scan", batch=32, size=256, trips=64, limit_by_hand=1.1)
