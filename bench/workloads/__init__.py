"""The workloads: one file each, with a function `workload()`; in the order of the table."""

import importlib

NAMES = (
    "scalar_loop",
    "elementwise_loop",
    "mandelbrot",
    "viterbi",
    "nested_loops",
    "collatz",
    "beam_search",
    "power_iteration",
    "conv_loop",
    "top_k_loop",
    "softmax_loop",
    "slice_loop",
    "short_loop",
    "growing_log",
    "growing_cache",
    "prefix_cache",
    "lstm_scan",
    "lstm_op",
    "knn_scan",
    "silero_vad",
)


def load(name):
    """The Workload of that name; raises ImportError when a package it needs is missing."""
    return importlib.import_module(f"workloads.{name}").workload()
