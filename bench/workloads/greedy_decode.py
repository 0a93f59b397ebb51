"""Greedy decoding: each trip a small transformer over one token, which reads its growing caches; data end it."""

import importlib.util

import numpy as np

from harness import Workload, by_hand, from_text
from workloads import transformer

TRIPS, LAYERS, WIDTH, HEADS, WORDS = 256, 2, 128, 4, 512
PART = WIDTH // HEADS
END = -1  # a word that never comes


def listed(pattern):
    return ", ".join(pattern.format(k=k) for k in range(LAYERS))


MODEL = f"""
decode (int64 most, int64 begin, int64 end, {listed("float[4,0,32] k0_{k}, float[4,0,32] v0_{k}")}) => (int64[T] words)
<int64[1] first = {{0}}, bool yes = {{1}}> {{
  last, {listed("k_{k}, v_{k}")}, words = Loop (most, yes, begin, {listed("k0_{k}, v0_{k}")}) <body = step
      (int64 i, bool go, int64 word, {listed("past_k{k}, past_v{k}")}) => (bool on, int64 next, {listed("now_k{k}, now_v{k}")}, int64 said) {{
    meaning = Gather (embedding, word)
    place = Gather (places, i)
    both = Add (meaning, place)
    x = Unsqueeze (both, first)
    {" ".join(transformer.block(k, f"x{k - 1}" if k else "x", caches=True) for k in range(LAYERS))}
    n = LayerNormalization (x{LAYERS - 1}, g, b)
    logits = MatMul (n, head)
    best = ArgMax <axis = 1, keepdims = 0> (logits)
    next = Squeeze (best, first)
    said = Identity (next)
    ends = Equal (next, end)
    on = Not (ends)
  }}>
}}
"""


def weights():
    random = np.random.default_rng(0)
    shapes = {"embedding": (WORDS, WIDTH), "places": (TRIPS, WIDTH), "g": WIDTH, "b": WIDTH, "head": (WIDTH, WORDS)}
    return {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()} | transformer.weights(LAYERS, WIDTH, HEADS)


def workload():
    empty = np.zeros((HEADS, 0, PART), np.float32)
    return Workload(
        name="greedy_decode",
        doc="a transformer of 2 layers d=128 with caches grown by Concat, 256 tokens",
        model=from_text(MODEL, **weights()),
        feeds={"most": np.array(TRIPS), "begin": np.array(1), "end": np.array(END)} | {f"{kind}0_{k}": empty for k in range(LAYERS) for kind in "kv"},
        trips=TRIPS,
        limit_by_hand=1.25,
        unspelled=("network",),  # its recurrences keep their shapes
        spelled=in_onnxscript,
        by_hand=in_cpp,
    )


def in_onnxscript():
    if importlib.util.find_spec("onnxscript") is None:
        return {}
    from workloads import decode_in_onnxscript

    return {"onnxscript": decode_in_onnxscript.model(weights())}


def in_cpp():
    given, words = weights(), np.empty(TRIPS, np.int64)
    order = ["embedding", "places", *(f"{name}{k}" for k in range(LAYERS) for name in transformer.NAMES), "g", "b", "head"]
    flat = np.concatenate([given[name].reshape(-1) for name in order])
    return by_hand("greedy_decode", TRIPS, flat, 1, END, words), [words]
