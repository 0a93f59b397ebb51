"""onnxruntime's enumerations of options."""

import enum


class GraphOptimizationLevel(enum.IntEnum):
    """Values of SessionOptions.graph_optimization_level, by onnxruntime's names."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(enum.IntEnum):
    """onnxruntime's modes. Here one node runs after the other (ORT_SEQUENTIAL)."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class ExecutionOrder(enum.IntEnum):
    """onnxruntime's orders of nodes. Here the compiler orders them (DEFAULT)."""

    DEFAULT = 0
    PRIORITY_BASED = 1
    MEMORY_EFFICIENT = 2
