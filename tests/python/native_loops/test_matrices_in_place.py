"""Products that read repeated, split or added axes of a value where it lies: the same bits as copies give, in all ways of running."""

import machine
import numpy as np
import pytest
import rondel
from models import in_all_ways, interpreter, model, session

RNG = np.random.default_rng(11)
SMALL = "int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2}, int64[1] three = {3}"


def decoder(groups, in_group, size):
    """Keys and values grow by a row in each trip, and are repeated for each head, as exporters write it."""
    heads = groups * in_group
    return f"""main (float[B,{heads},1,{size}] x, float[B,{groups},P,{size}] k, float[B,{groups},P,{size}] v, int64 n)
      => (float[B,{heads},1,{size}] y, float[B,{groups},e,{size}] ks, float[B,{groups},f,{size}] vs)
      <{SMALL}, int64[1] groups = {{{groups}}}, int64[1] times = {{{in_group}}}, int64[1] heads = {{{heads}}}, int64[1] size = {{{size}}}> {{
      y, ks, vs = Loop (n, , x, k, v) <body = b (int64 i, bool go, float[B,{heads},1,{size}] h, float[B,{groups},p,{size}] k1, float[B,{groups},p,{size}] v1)
        => (bool on, float[B,{heads},1,{size}] h2, float[B,{groups},q,{size}] k2, float[B,{groups},q,{size}] v2) {{
        on = Identity (go)
        kn = Slice (h, zero, groups, one)
        vn = Sin (kn)
        k2 = Concat <axis = 2> (k1, kn)
        v2 = Concat <axis = 2> (v1, vn)
        shape = Shape (k2)
        batch = Slice (shape, zero, one)
        length = Slice (shape, two, three)
        repeated = Concat <axis = 0> (batch, groups, times, length, size)
        joined = Concat <axis = 0> (batch, heads, length, size)
        ku = Unsqueeze (k2, two)
        ke = Expand (ku, repeated)
        kr = Reshape (ke, joined)
        vu = Unsqueeze (v2, two)
        ve = Expand (vu, repeated)
        vr = Reshape (ve, joined)
        kt = Transpose <perm = [0, 1, 3, 2]> (kr)
        s = MatMul (h, kt)
        a = Softmax (s)
        h2 = MatMul (a, vr)
      }}>
    }}"""


def agree(sessions, feeds, want, **tolerance):
    first = None
    for way, s in sessions.items():
        got = s.run(None, feeds)
        for g, w in zip(got, want, strict=True):
            np.testing.assert_allclose(g, w, err_msg=str(way), **tolerance)
        first = first or got
        assert all(a.tobytes() == b.tobytes() for a, b in zip(got, first, strict=True)), way


@pytest.mark.parametrize("groups, in_group, size", [(2, 3, 4), (1, 4, 8), (3, 1, 16)])
def test_a_decoder_that_repeats_its_heads(groups, in_group, size, monkeypatch):
    made = model(decoder(groups, in_group, size), 18)
    sessions = in_all_ways(made, monkeypatch)
    for batch, past, trips in [(1, 4, 5), (2, 0, 3), (1, 1, 1), (0, 3, 2), (1, 30, 40)]:
        shapes = {"x": (batch, groups * in_group, 1, size), "k": (batch, groups, past, size), "v": (batch, groups, past, size)}
        feeds = {name: RNG.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()} | {"n": np.array(trips)}
        agree(sessions, feeds, machine.run_model(made, feeds), rtol=1e-3, atol=1e-4)
    assert sessions["2", "0"].how_it_ran() == {"node 'y' (Loop)": "natively, as a whole"}
    assert "reads in place: 'ku' (Unsqueeze), 'ke' (Expand), 'kr' (Reshape)" in schedule_of(made)


def schedule_of(made):
    return rondel.inspection.schedule_text(made)


def loop(body, inputs="float[B,C,D,E] x, float[F,G] w"):
    """A loop whose trips multiply by views of x, which is captured."""
    return f"""main ({inputs}, int64[N] shape, int64 n) => (float[r, s, t, u] y) <{SMALL}, float half = {{0.5}}> {{
      y = Loop (n, , w) <body = b (int64 i, bool go, float[p, q] a) => (bool on, float[p, q] c, float[...] item) {{
        on = Identity (go)
        c = Mul (a, half)
        {body}
        item = MatMul (a, view)
      }}>
    }}""".replace("y = Loop", ", y = Loop").replace("float[...]", "float[v, o, z]")


VIEWS = {
    "axes joined": ("view = Reshape (x, shape)", (2, 3, 4, 5), [6, 4, 5], 4),
    "an axis split": ("flat = Reshape (x, shape)  view = Squeeze (flat, one)", (6, 1, 4, 5), [6, 1, 4, 5], 4),
    "axes split and joined": ("view = Reshape (x, shape)", (4, 3, 2, 5), [12, 2, 5], 2),
    "an axis inferred": ("view = Reshape (x, shape)", (4, 3, 2, 5), [-1, 2, 5], 2),
    "rows split": ("view = Reshape (x, shape)", (2, 3, 4, 6), [12, 2, 6], 2),
    "columns joined": ("view = Reshape (x, shape)", (2, 3, 4, 5), [6, 1, 20], 1),
    "other rows and columns": ("view = Reshape (x, shape)", (2, 3, 4, 5), [6, 2, 10], 2),
    "one matrix for all": ("e = Squeeze (x, zero)  view = Expand (e, shape)", (1, 1, 4, 5), [3, 4, 5], 4),
    "rows expanded": ("e = Squeeze (x, zero)  view = Expand (e, shape)", (1, 3, 1, 5), [3, 4, 5], 4),
    "other numbers of empty matrices": ("view = Reshape <allowzero = 1> (x, shape)", (2, 3, 0, 5), [7, 0, 5], 0),
    "empty matrices of no matrices": ("view = Reshape <allowzero = 1> (x, shape)", (2, 0, 0, 5), [7, 0, 5], 0),
    "no matrices": ("view = Reshape (x, shape)", (0, 3, 4, 5), [0, 4, 5], 4),
    "of what the trip computes": ("d = Neg (x)  view = Reshape (d, shape)", (2, 3, 4, 5), [6, 4, 5], 4),
    "of a beginning": ("d = Slice (x, zero, two)  view = Reshape (d, shape)", (3, 3, 4, 5), [6, 4, 5], 4),
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("known", [False, True])
def test_views_that_a_product_reads(view, known, monkeypatch):
    body, shape, wanted, depth = VIEWS[view]
    x = RNG.standard_normal(shape).astype(np.float32)
    inputs = f"float[{','.join(map(str, shape))}] x, float[F,G] w" if known else "float[B,C,D,E] x, float[F,G] w"
    made = model(loop(body, inputs), 18)
    sessions = in_all_ways(made, monkeypatch)
    for rows in (1, 3):
        feeds = {"x": x, "w": RNG.standard_normal((rows, depth)).astype(np.float32), "shape": np.array(wanted), "n": np.array(3)}
        agree(sessions, feeds, machine.run_model(made, feeds), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shape", [[6, 4, 5], [3, 2, 4, 5], [3, 2, 2, 10], [2, 3, 10, 2], [2, 3, 2, 10]], ids=str)
def test_reshapes_of_what_a_trip_computes(shape, monkeypatch):
    """All extents are numbers in the file: as many matrices as before, and of the same rows and columns only in the first two."""
    constant = f"to = Constant <value = int64[{len(shape)}] {{{', '.join(map(str, shape))}}}> ()"
    made = model(f"""main (float[2,3,4,5] x, float[3,{shape[-2]}] w, int64 n) => (float[2,3,4,5] last, float[{", ".join("rstuv"[: len(shape) + 1])}] y) {{
      last, y = Loop (n, , x) <body = b (int64 i, bool go, float[2,3,4,5] s) => (bool on, float[2,3,4,5] t, float[{", ".join("abcd"[: len(shape)])}] item) {{
        on = Identity (go)
        t = Cos (s)
        {constant}
        view = Reshape (t, to)
        item = MatMul (w, view)
      }}>
    }}""")
    sessions = in_all_ways(made, monkeypatch)
    feeds = {"x": RNG.standard_normal((2, 3, 4, 5)).astype(np.float32), "w": RNG.standard_normal((3, shape[-2])).astype(np.float32), "n": np.array(3)}
    agree(sessions, feeds, machine.run_model(made, feeds), rtol=1e-4, atol=1e-5)
    assert ("reads in place: 'view' (Reshape)" in schedule_of(made)) == (shape[-2:] == [4, 5])


@pytest.mark.parametrize("extents", [(1, 1, 1), (1, 2, 2), (2, 1, 3), (3, 2, 1)], ids=str)
@pytest.mark.parametrize("known", [False, True])
def test_views_of_small_states(extents, known, monkeypatch):
    """Such states may be in registers."""
    inputs = f"float[{','.join(map(str, extents))}]" if known else "float[B,R,C]"
    made = model(f"""main ({inputs} x, float[G,R] w, int64[N] shape, int64 n) => (float[r, s, t] last, float[h, i, j, k, l] y) {{
      last, y = Loop (n, , x) <body = b (int64 i, bool go, {inputs} s) => (bool on, {inputs} t, float[v, o, z, m] item) {{
        on = Identity (go)
        t = Cos (s)
        view = Expand (s, shape)
        item = MatMul (w, view)
      }}>
    }}""")
    sessions = in_all_ways(made, monkeypatch)
    batch, rows, columns = extents
    x, w = (RNG.standard_normal(s).astype(np.float32) for s in (extents, (2, rows)))
    feeds = {"x": x, "w": w, "shape": np.array([2, batch, rows, columns]), "n": np.array(4)}
    agree(sessions, feeds, machine.run_model(made, feeds), rtol=1e-4, atol=1e-5)


def test_a_stack_of_rows_on_the_left(monkeypatch):
    """Its rows may be multiplied as one matrix, whose sums have another order than those of a row."""
    made = model("""main (float[B,C,D,E] x, float[G,E] w, int64[N] shape, int64 n) => (float[r, s, t, u] y) {
      , y = Loop (n, , w) <body = b (int64 i, bool go, float[G,E] a) => (bool on, float[G,E] c, float[v, o, z] item) {
        on = Identity (go)
        c = Neg (a)
        view = Reshape (x, shape)
        at = Transpose <perm = [1, 0]> (a)
        item = MatMul (view, at)
      }>
    }""")
    sessions = in_all_ways(made, monkeypatch)
    for rows, depth in [(1, 70), (2, 70), (5, 33)]:
        x, w = (RNG.standard_normal(s).astype(np.float32) for s in ((2, rows, 1, depth), (3, depth)))
        feeds = {"x": x, "w": w, "shape": np.array([2 * rows, 1, depth]), "n": np.array(2)}
        agree(sessions, feeds, machine.run_model(made, feeds), rtol=1e-3, atol=1e-4)


def test_reshapes_with_extents_that_only_the_run_knows(monkeypatch):
    """Any axes split and joined, with ones between them."""
    made = model("""main (float[A,B,C,D] x, int64[N] shape, int64 n) => (float[a, b, c, d, e, f] y) {
      , y = Loop (n, , x) <body = b (int64 i, bool go, float[A,B,C,D] s) => (bool on, float[A,B,C,D] t, float[p,q,r,u,v] item) {
        on = Identity (go)
        t = Neg (s)
        item = Reshape (s, shape)
      }>
    }""")
    sessions = in_all_ways(made, monkeypatch)
    plain = session(made, options=interpreter())
    for seed in range(60):
        rng = np.random.default_rng(seed)
        factors = rng.choice([1, 1, 2, 3, 5], 5)
        shape = [int(part.prod()) for part in np.split(factors, sorted(rng.integers(0, 6, 3)))]
        wanted = rng.permutation(factors) if rng.random() < 0.3 else factors
        feeds = {"x": np.arange(np.prod(shape), dtype=np.float32).reshape(shape), "shape": wanted.astype(np.int64), "n": np.array(2)}
        want = np.stack([feeds["x"].reshape(wanted), -feeds["x"].reshape(wanted)])
        np.testing.assert_array_equal(plain.run(None, feeds)[0], want)
        for way, s in sessions.items():
            np.testing.assert_array_equal(s.run(None, feeds)[0], want, err_msg=f"{way}, seed {seed}: {shape} to {wanted}")
