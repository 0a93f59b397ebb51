"""Next states, and results of branches, that lie in the memory that another one goes to: all of them move at once."""

import numpy as np
import pytest
from models import run

# What is made of a slice that stays in the first state's memory, beside the whole value, which is the next second state.
MADE = ["Neg (part)", "Mul (part, half)", "Concat <axis = 0> (part, part)", "Concat <axis = 0> (part, q)", "Identity (part)"]
BODY = """
    whole = Mul (p, half)
    part = Slice (whole, zero, minus, zero)
    a = {made}
"""
CONSTANTS = "int64[1] zero = {0}, int64[1] minus = {-1}, float half = {0.5}, bool yes = {1}"
FEEDS = {"n": np.array(3), "x": np.arange(1, 7, dtype=np.float32), "w": np.arange(2, 8, dtype=np.float32)}


@pytest.mark.parametrize("trips", [0, 1, 2, 3])
@pytest.mark.parametrize("made", MADE)
def test_next_states_move_at_once(made, trips):
    text = f"""
main (int64 n, float[N] x, float[N] w) => (float[?] y, float[?] z) <{CONSTANTS}> {{
  y, z = Loop (n, yes, x, w) <body = step (int64 i, bool go, float[?] p, float[?] q) => (bool on, float[?] a, float[?] whole) {{
    on = Identity (go)
    {BODY.format(made=made)}
  }}>
}}"""
    p, q = FEEDS["x"], FEEDS["w"]
    for _ in range(trips):
        whole = p * np.float32(0.5)
        part = whole[:-1]
        made_of = {"Neg": -part, "Mul": part * np.float32(0.5), "Identity": part}
        p, q = made_of[made.split()[0]] if made.split()[0] in made_of else np.concatenate([part, q if "q" in made else part]), whole
    y, z = run(text, {**FEEDS, "n": np.array(trips)})
    np.testing.assert_array_equal(y, p)
    np.testing.assert_array_equal(z, q)


@pytest.mark.parametrize("taken", [True, False])
@pytest.mark.parametrize("made", MADE)
def test_results_of_branches_move_at_once(made, taken):
    text = f"""
main (int64 n, float[N] x, float[N] w, bool take) => (float[?] y, float[?] z) <{CONSTANTS}> {{
  y, z = Loop (n, yes, x, w) <body = step (int64 i, bool go, float[?] p, float[?] q) => (bool on, float[?] c, float[?] d) {{
    on = Identity (go)
    c, d = If (take) <then_branch = then () => (float[?] a, float[?] whole) {{ {BODY.format(made=made)} }},
                      else_branch = other () => (float[?] e, float[?] f) {{ e = Neg (q) f = Abs (p) }}>
  }}>
}}"""
    run(text, {**FEEDS, "take": np.array(taken)})
