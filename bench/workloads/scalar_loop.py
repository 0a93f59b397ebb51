"""b = b*a + c on f32 scalars: the cost of a nearly empty trip."""

import numpy as np

from harness import Workload, from_text

TRIPS = 1_000_000
MODEL = """
scalar_loop (int64 trips, float b, float a, float c) => (float last) {
  last = Loop (trips, "", b) <body = step (int64 i, bool go, float now)
                                 => (bool go_on, float next) {
    go_on = Identity (go)
    scaled = Mul (now, a)
    next = Add (scaled, c)
  }>
}
"""


def workload():
    return Workload(
        name="scalar_loop",
        doc="Loop, b = b*a + c on f32 scalars",
        model=from_text(MODEL),
        feeds={
            "trips": np.array(TRIPS),
            "b": np.array(1, np.float32),
            "a": np.array(0.999, np.float32),
            "c": np.array(0.5, np.float32),
        },
        trips=TRIPS,
        first={"trips": np.array(1)},
        limit_ns=3.0,
        tolerance=1e-4,  # a million trips; a fused multiply-add rounds half as often
        jax=in_jax,
    )


def in_jax():
    import jax
    import jax.numpy as jnp

    step = jax.jit(lambda b, a, c: jax.lax.fori_loop(0, TRIPS, lambda i, b: b * a + c, b))
    arguments = (jnp.float32(1), jnp.float32(0.999), jnp.float32(0.5))
    return lambda: [step(*arguments).block_until_ready()]
