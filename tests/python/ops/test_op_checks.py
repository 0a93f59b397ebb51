"""Ops that check what they are given when it is known only in the run, and that end when they are asked to."""

import time

import numpy as np
import pytest
import rondel
from models import model, refused, run, session

DEFORMED = """
main (float[a, b, c, d] x, float[e, f, g, h] w, float[i, j, k, l] offset, float[m] bias, float[n, o, p, q] mask) => (float[r, s, t, u] y) {
  y = DeformConv (x, w, offset, bias, mask)
}"""


@pytest.mark.parametrize(
    ("name", "shape", "words"),
    [
        ("offset", (1, 18, 5, 5), "the shape of offset"),
        ("offset", (1, 18, 9, 1), "the shape of offset"),
        ("mask", (1, 9, 9, 1), "the shape of mask"),
        ("mask", (1, 1, 9, 9), "the shape of mask"),
    ],
)
def test_offsets_and_masks_must_fit_also_if_no_extent_is_declared(name, shape, words):
    feeds = {"x": (1, 2, 5, 5), "w": (3, 2, 3, 3), "offset": (1, 18, 3, 3), "bias": (3,), "mask": (1, 9, 3, 3)}
    feeds = {k: np.ones(s, np.float32) for k, s in feeds.items()}
    assert run(DEFORMED, feeds, 19)[0].shape == (1, 3, 3, 3)
    with refused(rondel.CallerError, "DeformConv", words):
        run(DEFORMED, {**feeds, name: np.ones(shape, np.float32)}, 19)


def test_offsets_that_are_no_numbers_read_nothing():
    feeds = {"x": (1, 1, 3, 3), "w": (1, 1, 1, 1), "offset": (1, 2, 3, 3), "bias": (1,), "mask": (1, 1, 3, 3)}
    feeds = {k: np.ones(s, np.float32) for k, s in feeds.items()}
    feeds["offset"][0, 0, 1, 1] = np.nan
    y = run(DEFORMED, feeds, 19)[0][0, 0]
    assert y[1, 1] == feeds["bias"][0] and np.isfinite(y).all()


LISTED = """
main (float[2, 3] x, int64[a] list) => (float[b] y) {{
  y = {op}
}}"""


@pytest.mark.parametrize("shape", [(1, 0), (0, 1), (1, 2), (2, 1), (1, 1)], ids=str)
@pytest.mark.parametrize("op", ["Tile (x, list)", "Expand (x, list)", "Reshape (x, list)", "ConstantOfShape (list)", "Slice (x, list, list)", "Unsqueeze (x, list)", "Pad (x, list)"])
def test_a_list_has_one_axis_also_if_the_file_declares_no_rank(op, shape):
    made = model(LISTED.format(op=op))
    for v in (made.graph.input[1], made.graph.output[0]):
        v.type.tensor_type.ClearField("shape")
    with refused(rondel.CallerError, op.split()[0], "expected"):
        session(made).run(None, {"x": np.ones((2, 3), np.float32), "list": np.ones(shape, np.int64)})


LONG = """
main (float[a, b] x) => (float[c, d] y) <int64[{shape}] list = {{{numbers}}}, int64[1] first = {{0}}> {{
  y = {op}
}}"""


@pytest.mark.parametrize(
    ("op", "shape", "number", "words"),
    [
        ("Pad (x, list)", (66,), 0, ["66 pads for 2 axes"]),
        ("Pad (x, list)", (1, 66), 0, ["expected rank 1"]),
        ("Pad (x, list, \"\", first)", (2000,), 7, ["2000 pads for 1 axes"]),
        ("Pad (x, list)", (4,), 2**62, ["axis 0 is padded by 4611686018427387904"]),
        ("Tile (x, list)", (65,), 1, ["65 repeats for rank 2"]),
    ],
)
def test_a_list_must_have_a_number_for_each_axis_however_long_it_is(op, shape, number, words):
    numbers = ", ".join([str(number)] * int(np.prod(shape)))
    with refused(rondel.CallerError, op.split()[0], *words):
        session(model(LONG.format(op=op, shape=", ".join(map(str, shape)), numbers=numbers)))


@pytest.mark.parametrize("jit", ["0", "2"])
def test_a_tensor_of_many_axes_is_padded(jit, monkeypatch):
    monkeypatch.setenv("RONDEL_JIT", jit)
    axes, pads = 40, [0] * 80
    pads[3], pads[40] = 2, 1
    text = f"main (float[{', '.join('1' * axes)}] x) => (float[{', '.join(['?'] * axes)}] y) <int64[80] pads = {{{', '.join(map(str, pads))}}}> {{ y = Pad (x, pads) }}"
    (y,) = session(model(text)).run(None, {"x": np.ones([1] * axes, np.float32)})
    assert y.shape == (2, 1, 1, 3, *[1] * 36) and y.sum() == 1 and y[0, 0, 0, 2].sum() == 1


NGRAMS = """
main (int64[n] x) => (float[k] y) {{
  y = TfIdfVectorizer <mode = "TFIDF", min_gram_length = {shortest}, max_gram_length = {longest}, max_skip_count = {skipped},
    ngram_counts = {counts}, ngram_indexes = {columns}, pool_int64s = [1, 2, 1, 2, 2, 1], weights = {weights}> (x)
}}"""
GOOD = {"shortest": 1, "longest": 2, "skipped": 0, "counts": [0, 2], "columns": [0, 1, 2, 3], "weights": [1.0, 2.0, 3.0, 4.0]}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"counts": [0, 7]}, "ngram_counts"),
        ({"counts": [0, 3]}, "ngram_counts"),
        ({"columns": [0, 1, 2]}, "4 n-grams, and ngram_indexes 3 numbers"),
        ({"columns": [0, 1, 2, -5]}, "ngram_indexes has -5"),
        ({"columns": [0, 1, 2, 2**63 - 1]}, "ngram_indexes has 9223372036854775807"),
        ({"weights": [1.0]}, "1 weights for 4 n-grams"),
        ({"shortest": 3}, "n-grams from length 3 to 2"),
        ({"skipped": -1}, "max_skip_count is -1"),
    ],
)
def test_a_pool_of_ngrams_is_checked_before_it_runs(changed, words):
    made = model(NGRAMS.format(**{**GOOD, **changed}), 9)
    report = rondel.inspect(made)
    assert not report.runs and any(words in what for _, _, what in report.findings), report.findings


def test_ngrams_end_with_the_deadline():
    text = NGRAMS.format(**{**GOOD, "longest": 2**63 - 1, "skipped": 2**63 - 1})
    s = session(text, 9)
    x = np.array([1, 2, 1])
    assert s.run(None, {"x": x})[0].tolist() == [2, 2, 3, 4]
    limits = rondel.RunOptions()
    limits.deadline = 0.2
    begin = time.monotonic()
    with pytest.raises(rondel.DeadlineExceeded):
        s.run(None, {"x": np.tile(x, 100_000)}, limits)
    assert time.monotonic() - begin < 10


@pytest.mark.parametrize("length, words", [(-1, "negative"), (3, "the sequences have 2")])
def test_a_sequence_is_no_longer_than_the_steps(length, words):
    made = session("""main (float[t,1,1] x, float[1,1,1] w, float[1,1,1] r, int32[1] n) => (float[a,b,c,d] y) {
        y = RNN <hidden_size = 1> (x, w, r, , n) }""")
    ones = {"x": np.ones((2, 1, 1), np.float32), "w": np.ones((1, 1, 1), np.float32), "r": np.ones((1, 1, 1), np.float32)}
    for right in (0, 2):
        made.run(None, {**ones, "n": np.array([right], np.int32)})
    with refused(rondel.CallerError, "a sequence length is", words):
        made.run(None, {**ones, "n": np.array([length], np.int32)})


def test_gemm_with_beta_0_leaves_c_out():
    text = "main (float[2, 3] a, float[3, 2] b, float[2] c) => (float[2, 2] y) { y = Gemm <beta = 0.0> (a, b, c) }"
    a, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.ones((3, 2), np.float32)
    (got,) = run(text, {"a": a, "b": b, "c": np.array([np.inf, np.nan], np.float32)})
    np.testing.assert_array_equal(got, a @ b)


# What is refused with declared extents is refused in the run if no extent is declared.

UNFIT = {
    "MaxUnpool, cropped": ("MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (x, i, s)", {"x": (1, 1, 2, 2), "i": (1, 1, 2, 2), "s": [1, 1, 3, 3]}, "output_shape does not fit x"),
    "MaxUnpool, batch": ("MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (x, i, s)", {"x": (1, 1, 2, 2), "i": (1, 1, 2, 2), "s": [2, 1, 4, 4]}, "output_shape does not fit x"),
    "GroupNormalization": ("GroupNormalization <num_groups = 3> (x, s, b)", {"x": (1, 4, 3), "s": (4,), "b": (4,)}, "do not make 3 groups"),
    "GroupNormalization, scale": ("GroupNormalization <num_groups = 2> (x, s, b)", {"x": (1, 4, 3), "s": (1,), "b": (4,)}, "'scale' has extent 1"),
    "GridSample": ("GridSample (x, g)", {"x": (1, 1, 2, 2), "g": (1, 1, 2, 3)}, "2 coordinates along its last axis"),
    "Split": ("Split <axis = 1> (x)", {"x": (2, 5)}, "no 2 equal parts along axis 1"),
    "LayerNormalization": ("LayerNormalization (x, s)", {"x": (1, 3), "s": (4, 3)}, "'the result' has extent 4 on axis 0"),
    "LayerNormalization, one": ("LayerNormalization (x, s)", {"x": (2, 1), "s": (3,)}, "'the result' has extent 3 on axis 1"),
    "LayerNormalization, bias": ("LayerNormalization (x, s, b)", {"x": (2, 1), "s": (1,), "b": (3,)}, "'the result' has extent 3 on axis 1"),
    "RMSNormalization": ("RMSNormalization (x, s)", {"x": (2, 1), "s": (3,)}, "'the result' has extent 3 on axis 1"),
    "Gemm": ("Gemm (a, b, c)", {"a": (1, 3), "b": (3, 4), "c": (2, 4)}, "'the result' has extent 2 on axis 0"),
    "LSTM, directions": ("LSTM <hidden_size = 2> (x, w, r)", {"x": (2, 2, 3), "w": (2, 8, 3), "r": (1, 8, 2)}, "input 1 does not have directions 1"),
    "LSTM, biases": ("LSTM <hidden_size = 2> (x, w, r, b)", {"x": (2, 2, 3), "w": (1, 8, 3), "r": (1, 8, 2), "b": (1, 17)}, "input 3 does not have biases 16"),
    "LSTM, state": ("LSTM <hidden_size = 2> (x, w, r, , , h)", {"x": (2, 2, 3), "w": (1, 8, 3), "r": (1, 8, 2), "h": (2, 2, 2)}, "input 5 does not have directions 1"),
    "LSTM, lengths": ("LSTM <hidden_size = 2> (x, w, r, , n)", {"x": (2, 2, 3), "w": (1, 8, 3), "r": (1, 8, 2), "n": np.array([1], np.int32)}, "'sequence_lens' has extent 1"),
    "GRU, lengths": ("GRU <hidden_size = 2> (x, w, r, , n)", {"x": (2, 2, 3), "w": (1, 6, 3), "r": (1, 6, 2), "n": np.array([1], np.int32)}, "'sequence_lens' has extent 1"),
    "RNN, lengths": ("RNN <hidden_size = 2> (x, w, r, , n)", {"x": (2, 2, 3), "w": (1, 2, 3), "r": (1, 2, 2), "n": np.array([1], np.int32)}, "'sequence_lens' has extent 1"),
}


def fed(what):
    if isinstance(what, tuple):
        return np.ones(what, np.float32)
    return np.array(what)


@pytest.mark.parametrize("names", ["own", "one"])
@pytest.mark.parametrize("case", UNFIT)
def test_operands_must_fit_also_if_no_extent_is_declared(case, names):
    """With a symbol for each extent, and with one for all."""
    text, shapes, words = UNFIT[case]
    feeds = {k: fed(v) for k, v in shapes.items()}
    if "i" in feeds:
        feeds["i"] = np.arange(4).reshape(shapes["i"])
    types = {"float32": "float", "int64": "int64", "int32": "int32"}

    def declared(name, x):
        return f"{types[x.dtype.name]}[{','.join('N' if names == 'one' else f'{name}{a}' for a in range(x.ndim))}] {name}"

    outputs = "y, z" if text.startswith("Split") else "y"
    op = f"main ({', '.join(declared(k, x) for k, x in feeds.items())}) => ({', '.join(f'float[] {y}' for y in outputs.split(', '))}) {{ {outputs} = {text} }}"
    with refused(rondel.CallerError, text.split()[0], words):
        session(op, 13 if case == "Split" else 23).run(None, feeds)


@pytest.mark.parametrize("at", ["int64[2] s", "int64[n] s", None], ids=str)
def test_reshape_has_no_extent_for_minus_one_beside_a_zero(at):
    given = ", " + at if at else ""
    constant = "" if at else " <int64[2] s = {-1, 0}>"
    text = f"main (float[a, b] x{given}) => (float[c, d] y){constant} {{ y = Reshape <allowzero = 1> (x, s) }}"
    feeds = {"s": np.array([-1, 0])} if at else {}
    with refused(rondel.Error, "Reshape", "-1 beside a 0"):
        session(text).run(None, {"x": np.ones((0, 3), np.float32)} | feeds)


HEADS = {"q": (2, 2, 2, 4), "k": (2, 2, 3, 4), "v": (2, 2, 3, 4)}
TURNED = {"x": (2, 2, 2, 4), "c": (2, 2, 2), "s": (2, 2, 2)}
BROADCAST = {
    "mask, columns": ("Attention (q, k, v, m)", HEADS | {"m": (2, 5)}, "more columns than keys"),
    "mask, batch": ("Attention (q, k, v, m)", HEADS | {"m": (4, 1, 2, 3), "q": (1, 2, 2, 4), "k": (1, 2, 3, 4), "v": (1, 2, 3, 4)}, "'the scores with attn_mask' has extent 4 on axis 0 and 'the scores' has 1"),
    "keys, batch": ("Attention (q, k, v)", HEADS | {"k": (1, 2, 3, 4)}, "'K' has extent 1 on axis 0 and 'Q' has 2"),
    "values, batch": ("Attention (q, k, v)", HEADS | {"v": (1, 2, 3, 4)}, "'V' has extent 1 on axis 0 and 'Q' has 2"),
    "values, heads": ("Attention (q, k, v)", HEADS | {"v": (2, 1, 3, 4)}, "'V' has extent 1 on axis 1 and 'K' has 2"),
    "lengths": ("Attention (q, k, v, , , , n)", HEADS | {"q": (1, 2, 2, 4), "k": (1, 2, 3, 4), "v": (1, 2, 3, 4), "n": [3, 3]}, "'nonpad_kv_seqlen' has extent 2 on axis 0 and 'Q' has 1"),
    "cosines": ("RotaryEmbedding (x, c, s)", TURNED | {"c": (2, 2, 1), "s": (2, 2, 1)}, "a column for each pair"),
    "sines": ("RotaryEmbedding (x, c, s)", TURNED | {"s": (2, 2, 1)}, "'sin_cache' has extent 1 on axis 2 and 'cos_cache' has 2"),
    "cosines, length": ("RotaryEmbedding (x, c, s)", TURNED | {"c": (2, 1, 2), "s": (2, 1, 2)}, "'cos_cache' has extent 1 on axis 1 and 'X' has 2"),
    "positions, batch": ("RotaryEmbedding (x, c, s, p)", TURNED | {"c": (5, 2), "s": (5, 2), "p": [[0, 1]]}, "'position_ids' has extent 1 on axis 0 and 'X' has 2"),
    "state": ("CausalConvWithState (x, w, , p)", {"x": (1, 2, 5), "w": (2, 1, 3), "p": (1, 2, 3)}, "one column less than the kernel"),
}


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("text, shapes, words", BROADCAST.values(), ids=BROADCAST)
def test_what_a_body_would_broadcast(text, shapes, words, known):
    """Ops that are read as graphs, whose bodies in ONNX broadcast more than the text allows; ONNX Runtime refuses these, too."""
    feeds = {k: fed(v) for k, v in shapes.items()}

    def extents(name, x):
        fixed = known or name in "xw" and text.startswith("Causal")  # its body depends on their shapes
        return ",".join(str(e) if fixed else f"{name}{a}" for a, e in enumerate(x.shape))

    inputs = ", ".join(f"{'int64' if x.dtype == np.int64 else 'float'}[{extents(k, x)}] {k}" for k, x in feeds.items())
    outputs = "y, z" if text.startswith("Causal") else "y"
    declared = ", ".join(f"float[] {y}" for y in outputs.split(", "))
    with refused(rondel.Error, text.split()[0], words):
        session(f"main ({inputs}) => ({declared}) {{ {outputs} = {text} }}", 27).run(None, feeds)


@pytest.mark.parametrize("number, name", [(27, "FLOAT6E2M3"), (28, "FLOAT6E3M2")])
def test_a_dtype_that_is_not_supported_has_a_name(number, name):
    with refused(rondel.UnsupportedError, f"element type {number} ({name}"):
        session(f"main (float[2] x) => (float[2] y) {{ z = Cast <to = {number}> (x)  y = Cast <to = 1> (z) }}", 25)
