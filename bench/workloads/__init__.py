"""The workloads: one file each, with a function `workload()`; in the order of the table."""

import importlib

NAMES = (
    "scalar_loop",
    "elementwise_loop",
    "mandelbrot",
    "euler_field",
    "running_maximum",
    "selective_scan",
    "viterbi",
    "nested_loops",
    "collatz",
    "beam_search",
    "power_iteration",
    "conjugate_gradients",
    "runge_kutta",
    "conv_loop",
    "top_k_loop",
    "softmax_loop",
    "slice_loop",
    "short_loop",
    "range_items",
    "growing_log",
    "growing_append",
    "growing_read",
    "growing_cache",
    "greedy_decode",
    "prefix_cache",
    "repeated_heads",
    "attention_op",
    "lstm_small_scan",
    "lstm_small_op",
    "lstm_scan",
    "lstm_op",
    "lstm_batch_scan",
    "lstm_stack",
    "knn_scan",
    "silero_vad",
    "softmax_op",
    "layer_norm_op",
    "matmul_op",
    "conv_op",
    "transformer_blocks",
)

OF_MANY_RUNS = ("silero_vad",)  #: those a call of which makes several runs


def load(name):
    """The Workload of that name; raises ImportError when a package it needs is missing."""
    return importlib.import_module(f"workloads.{name}").workload()
