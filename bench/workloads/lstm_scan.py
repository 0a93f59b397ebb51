"""An LSTM cell written out in a `Scan`, H=256, B=1: how users write custom cells."""

from workloads.lstm import scans


def workload():
    return scans("lstm_scan", batch=1, size=256, trips=128, limit_by_hand=1.15)
