"""Eight element-wise ops on an f32[256] state: the gain from fusing a small body.

The body is a contraction (it multiplies by at most 0.9, twice), so a difference in rounding stays small.
"""

import numpy as np

from harness import Workload, by_hand, from_text

TRIPS, SIZE = 100_000, 256
MODEL = f"""
elementwise_loop (int64 trips, float[{SIZE}] x, float[{SIZE}] a, float[{SIZE}] b, float[{SIZE}] low,
                  float[{SIZE}] high) => (float[{SIZE}] last) {{
  last = Loop (trips, "", x) <body = step (int64 i, bool go, float[{SIZE}] now)
                                 => (bool go_on, float[{SIZE}] next) {{
    go_on = Identity (go)
    v1 = Mul (now, a)
    v2 = Add (v1, b)
    v3 = Sub (v2, low)
    v4 = Abs (v3)
    v5 = Max (v4, low)
    v6 = Min (v5, high)
    v7 = Neg (v6)
    next = Mul (v7, a)
  }}>
}}
"""


def arrays():
    random = np.random.default_rng(0)
    return {
        "x": random.normal(size=SIZE).astype(np.float32),
        "a": random.uniform(0.5, 0.9, SIZE).astype(np.float32),
        "b": random.normal(size=SIZE).astype(np.float32),
        "low": random.uniform(0.05, 0.1, SIZE).astype(np.float32),
        "high": random.uniform(0.5, 1.0, SIZE).astype(np.float32),
    }


def workload():
    return Workload(
        name="elementwise_loop",
        doc="Loop, 8 element-wise ops on f32[256]",
        model=from_text(MODEL),
        feeds={"trips": np.array(TRIPS), **arrays()},
        trips=TRIPS,
        first={"trips": np.array(1)},
        limit_by_hand=1.2,
        by_hand=in_cpp,
        jax=in_jax,
    )


def in_cpp():
    last = np.empty(SIZE, np.float32)
    return by_hand("elementwise_loop", TRIPS, SIZE, *arrays().values(), last), [last]


def in_jax():
    import jax
    import jax.numpy as jnp

    def step(x, a, b, low, high):
        return -jnp.minimum(jnp.maximum(jnp.abs(x * a + b - low), low), high) * a

    values = {name: jnp.asarray(value) for name, value in arrays().items()}
    loop = jax.jit(lambda x, **rest: jax.lax.fori_loop(0, TRIPS, lambda i, x: step(x, **rest), x))
    return lambda: [loop(**values).block_until_ready()]
