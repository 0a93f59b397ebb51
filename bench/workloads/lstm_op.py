"""The same LSTM as one `LSTM` node: ONNX Runtime has a kernel of its own for it."""

from workloads.lstm import op


def workload():
    return op("lstm_op", batch=1, size=256, trips=128, limit_by_hand=1.15)
