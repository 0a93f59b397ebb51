"""Attention and its kin beyond what ONNX's own tests check: sizes of 0, several dtypes, graphs in attributes, operands that do not fit."""

import numpy as np
import pytest
import rondel
from models import f32, make_model, refused, run, same, session, value
from onnx import helper

RNG = np.random.default_rng(5)
PREVIEW = {"ai.onnx.preview": 1}
Q, K, V = (RNG.normal(size=s).astype(np.float32) for s in ((2, 4, 3, 4), (2, 2, 5, 4), (2, 2, 5, 6)))
Q_K_V = "float[2, 4, 3, 4] q, float[2, 2, 5, 4] k, float[2, 2, 5, 6] v"


def attended(q, k, v, score=lambda s: s):
    k, v = (np.repeat(x.astype(np.float64), q.shape[1] // x.shape[1], 1) for x in (k, v))
    s = score(q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[3]))
    e = np.exp(s - s.max(-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True)) @ v


def flex(modifier, captured="", q_k_v=Q_K_V, name="s"):
    graph = f"<score_mod = m (float[a, b, c, d] {name}) => (float[a, b, c, d] o) {{ {modifier} }}>" if modifier else ""
    return f"main ({q_k_v}{captured}) => (float[e, f, g, h] y) {{ y = ai.onnx.preview.FlexAttention {graph} (q, k, v) }}"


def flex_run(text, feeds, opset=24):
    return session(text, opset, domains=PREVIEW).run(None, {"q": Q, "k": K, "v": V} | feeds)[0]


@pytest.mark.parametrize("name", ["Q", "K", "V", "Score", "QScaled", "KAligned", "SoftmaxCast", "Prob"])
def test_a_modifier_captures_names_of_its_own_place(name):
    got = flex_run(flex(f"o = Mul (s, {name})", f", float {name}"), {name: np.array(3, np.float32)})
    np.testing.assert_allclose(got, attended(Q, K, V, lambda s: s * 3), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["q", "Score", "K"])
def test_a_modifier_names_its_input_freely(name):
    got = flex_run(flex(f"o = Add ({name}, {name})", name=name), {})
    np.testing.assert_allclose(got, attended(Q, K, V, lambda s: s * 2), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("flag", [False, True])
def test_a_branch_in_a_modifier_reads_its_input(flag):
    then, otherwise = "t () => (float[a, b, c, d] y) { y = Add (s, s) }", "f () => (float[a, b, c, d] z) { z = Identity (s) }"
    got = flex_run(flex(f"o = If (flag) <then_branch = {then}, else_branch = {otherwise}>", ", bool flag"), {"flag": np.array(flag)})
    np.testing.assert_allclose(got, attended(Q, K, V, lambda s: s * (1 + flag)), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("opset", [11, 12, 13, 14, 18, 24])
def test_a_modifier_in_old_opsets(opset):
    """Squeeze has an attribute before 13: the modifier is read in the opset of the model."""
    old = "u = Unsqueeze <axes = [0]> (s)  t = Squeeze <axes = [0]> (u)  o = Add (t, t)"
    new = "zero = Constant <value = int64[1] {0}> ()  u = Unsqueeze (s, zero)  t = Squeeze (u, zero)  o = Add (t, t)"
    got = flex_run(flex(old if opset < 13 else new), {}, opset)
    np.testing.assert_allclose(got, attended(Q, K, V, lambda s: s * 2), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("scale", [None, 0.5])
def test_a_modifier_reads_attributes_of_the_function_that_it_is_in(scale):
    """The function's `scale` is another one than FlexAttention's."""
    factor = helper.make_node("Constant", [], ["c"])
    factor.attribute.add(name="value_float", ref_attr_name="scale", type=1)
    modifier = helper.make_graph([factor, helper.make_node("Mul", ["s", "c"], ["o"])], "m", [value("s")], [value("o")])
    own = {} if scale is None else {"scale": scale}
    node = helper.make_node("FlexAttention", ["q", "k", "v"], ["y"], domain="ai.onnx.preview", score_mod=modifier, **own)
    imports = [helper.make_opsetid("", 24), helper.make_opsetid("ai.onnx.preview", 1)]
    function = helper.make_function("local", "F", ["q", "k", "v"], ["y"], [node], imports, ["scale"])
    call = helper.make_node("F", ["q", "k", "v"], ["y"], domain="local", scale=3.0)
    inputs = [value("q", shape=Q.shape), value("k", shape=K.shape), value("v", shape=V.shape)]
    made = make_model([call], inputs, [value("y")], opset=24, functions=[function], domains=PREVIEW | {"local": 1})
    got = rondel.InferenceSession(made.SerializeToString()).run(None, {"q": Q, "k": K, "v": V})[0]
    ratio = 1 if scale is None else scale * np.sqrt(Q.shape[3])
    np.testing.assert_allclose(got, attended(Q, K, V, lambda s: s * 3 * ratio), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["input_sequence", "additional_inputs_1", "SequenceMap_loop_body_itercount", "out_sequence_0"])
def test_the_body_of_a_sequence_map_captures_names_of_its_own_place(name):
    text = f"""main (float[n] x, float[n] z) => (float[m] y) {{
      {name} = SequenceConstruct (z, z)
      xs = SequenceConstruct (x, x)
      ys = SequenceMap <body = b (float[n] e, float[n] f) => (float[n] r) {{
        zero = Constant <value = int64 {{0}}> ()
        w = SequenceAt ({name}, zero)
        p = Mul (e, w)
        r = Add (p, f)
      }}> (xs, x)
      y = ConcatFromSequence <axis = 0> (ys)
    }}"""
    same(session(text).run(None, {"x": f32(1, 2), "z": f32(10, 10)})[0], f32(11, 22, 11, 22))


KINDS = {"bool": "bool", "float32": "float", "float16": "float16", "float64": "double", "int64": "int64"}


def declared(known, feeds):
    """The inputs in ONNX's text form, with their extents or with a name for each."""

    def extents(name, x):
        return ",".join(str(e) if known else f"{name}{a}" for a, e in enumerate(x.shape))

    return ", ".join(f"{KINDS[x.dtype.name]}[{extents(k, x)}] {k}" for k, x in feeds.items())


class Drawn:
    """A node of Attention with its inputs, and what it gives by ONNX's text in float64."""

    def __init__(self, rng, opset):
        self.opset, self.flat = opset, rng.random() < 0.4
        batch, groups, in_group, length, keys, size, wide = (int(rng.integers(1, n)) for n in (3, 3, 4, 4, 5, 5, 4))
        heads, past = groups * in_group, int(rng.integers(0, 4)) if rng.random() < 0.5 else None
        filled = opset >= 24 and past is None and rng.random() < 0.4
        self.feeds = {"q": rng.normal(size=(batch, heads, length, size)), "k": rng.normal(size=(batch, groups, keys, size))}
        self.feeds |= {"v": rng.normal(size=(batch, groups, keys, wide))}
        total = keys + (past or 0)
        if rng.random() < 0.6:
            shape = [int(rng.choice([1, n])) for n in (batch, heads, length)][int(rng.integers(0, 3)) :]
            columns = total if opset < 24 else int(rng.integers(1, total + 1))
            self.feeds["m"] = rng.random((*shape, columns)) < 0.6 if rng.random() < 0.6 else rng.normal(size=(*shape, columns))
        if past is not None:
            self.feeds |= {"a": rng.normal(size=(batch, groups, past, size)), "b": rng.normal(size=(batch, groups, past, wide))}
        if filled:
            self.feeds["n"] = rng.integers(0, keys + 1, batch)
        self.options = {"is_causal": int(rng.integers(0, 2)), "qk_matmul_output_mode": int(rng.integers(0, 4))}
        if rng.random() < 0.5:
            self.options |= {"scale": 0.7, "softcap": 1.5}
        if opset >= 25:
            self.options |= {"left_window_size": int(rng.integers(-1, 3)), "right_window_size": int(rng.integers(-1, 3))}
        self.in_group = in_group
        self.want = self.attended()
        if self.flat:
            self.options |= {"q_num_heads": heads, "kv_num_heads": groups}
            for name in "qkv":
                self.feeds[name] = in_rows(self.feeds[name])

    def attended(self):
        f, options = self.feeds, self.options
        keys, values = (np.concatenate([f[old], f[new]], 2) if old in f else f[new] for old, new in ("ak", "bv"))
        k, v = (np.repeat(x, self.in_group, 1) for x in (keys, values))
        steps = [f["q"] @ k.swapaxes(2, 3) * options.get("scale", f["q"].shape[3] ** -0.5)]
        cap = options.get("softcap")
        steps.append(cap * np.tanh(steps[0] / cap) if cap else steps[0])
        length, total = steps[0].shape[2:]
        before = f["n"][:, None, None, None] - length if "n" in f else f["a"].shape[2] if "a" in f else 0
        passed = np.arange(length)[:, None] + before - np.arange(total)
        left, right = (options.get(side, -1) for side in ("left_window_size", "right_window_size"))
        may = (passed >= 0) | (options["is_causal"] == 0)
        may = may & ((passed <= left) | (left < 0)) & ((passed >= -right) | (right < 0))
        if "n" in f:
            may = may & (np.arange(total) < f["n"][:, None, None, None])
        scores = steps[1]
        if "m" in f:
            missing = [(0, 0)] * (f["m"].ndim - 1) + [(0, total - f["m"].shape[-1])]
            mask = np.pad(f["m"], missing, constant_values=False if f["m"].dtype == bool else -np.inf)
            may, scores = (may & mask, scores) if mask.dtype == bool else (may, scores + mask)
        steps.append(np.where(may, scores, -np.inf))
        e = np.exp(steps[2] - np.maximum(steps[2].max(-1, keepdims=True), -1e300))
        steps.append(e / np.maximum(e.sum(-1, keepdims=True), 1e-300))
        y = steps[3] @ v
        return in_rows(y) if self.flat else y, keys, values, steps[options["qk_matmul_output_mode"]]

    def text(self, known):
        inputs = ", ".join(name if name in self.feeds else "" for name in "qkvmabn").rstrip(", ")
        options = ", ".join(f"{k} = {v}" for k, v in self.options.items())
        outputs = f"float[{'e, f, g' if self.flat else 'e, f, g, h'}] y, float[i, j, k, l] pk, float[m, n, o, p] pv, float[r, s, t, u] w"
        return f"main ({declared(known, self.as_f32())}) => ({outputs}) {{ y, pk, pv, w = Attention <{options}> ({inputs}) }}"

    def as_f32(self):
        return {k: x.astype(np.float32) if x.dtype == np.float64 else x for k, x in self.feeds.items()}


def in_rows(x):
    """[batch, heads, length, size] as [batch, length, heads * size]."""
    return np.ascontiguousarray(x.swapaxes(1, 2)).reshape(x.shape[0], x.shape[2], -1)


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("opset", [23, 24, 25])
def test_attention_with_all_options(opset, known):
    for seed in range(10):
        drawn = Drawn(np.random.default_rng([seed, opset]), opset)
        text = drawn.text(known)
        for got, want in zip(run(text, drawn.as_f32(), opset), drawn.want, strict=True):
            assert got.shape == want.shape and got.dtype == np.float32, text
            np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5, err_msg=f"seed {seed}: {text}")


@pytest.mark.parametrize("options, flat", [("", False), ("<q_num_heads = 4, kv_num_heads = 2>", True)])
def test_attention_of_ranks_that_only_the_run_knows(options, flat):
    """With numbers of heads there are 3 axes, without them 4 (1150003067)."""
    q, k, v = (in_rows(x) if flat else x for x in (Q, K, V))
    made = session(f"main (float[] q, float[] k, float[] v) => (float[] y) {{ y = Attention {options} (q, k, v) }}", 24)
    want = attended(Q, K, V)
    np.testing.assert_allclose(made.run(None, {"q": q, "k": k, "v": v})[0], in_rows(want) if flat else want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("opset", [23, 24, 25])
@pytest.mark.parametrize("dtype, rank", [("float", 2), ("float", 4), ("bool", 3)])
def test_a_mask_of_a_rank_that_only_the_run_knows(opset, dtype, rank):
    made = session(f"main (float[] q, float[] k, float[] v, {dtype}[] m) => (float[] y) {{ y = Attention (q, k, v, m) }}", opset)
    shape = (*Q.shape[:3], K.shape[2])[4 - rank :]
    mask = RNG.normal(size=shape).astype(np.float32) if dtype == "float" else np.ones(shape, bool)
    known = session(f"main (float[a,b,c,d] q, float[a,e,f,d] k, float[a,e,f,d] v, {dtype}[{','.join('ghij'[:rank])}] m) => (float[a,b,c,d] y) {{ y = Attention (q, k, v, m) }}", opset)
    feeds = {"q": Q, "k": K, "v": V, "m": mask}
    same(made.run(None, feeds)[0], known.run(None, feeds)[0])


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_a_decoder_of_attention_runs_natively(groups):
    """Keys and values are states of the loop that grow in each trip."""
    text = f"""main (float[b, s, 16] x, float[b, {groups}, p, 4] k, float[b, {groups}, p, 4] v, int64 n) => (float[b, s, 16] y, float[b, {groups}, e, 4] ks, float[b, {groups}, f, 4] vs) {{
      yes = Constant <value = bool {{1}}> ()
      start = Constant <value = int64[1] {{0}}> ()
      end = Constant <value = int64[1] {{{groups * 4}}}> ()
      two = Constant <value = int64[1] {{2}}> ()
      y, ks, vs = Loop (n, yes, x, k, v) <body = trip (int64 i, bool go, float[b, s, 16] h, float[b, {groups}, t, 4] k1, float[b, {groups}, t, 4] v1)
        => (bool more, float[b, s, 16] h2, float[b, {groups}, u, 4] k2, float[b, {groups}, u, 4] v2) {{
        more = Identity (go)
        some = Slice (h, start, end, two)
        turned = Sin (some)
        h2, k2, v2 = Attention <is_causal = 1, q_num_heads = 4, kv_num_heads = {groups}> (h, some, turned, , k1, v1)
      }}>
    }}"""
    x, past = RNG.normal(size=(2, 1, 16)).astype(np.float32), RNG.normal(size=(2, 2, groups, 3, 4)).astype(np.float32)
    feeds = {"x": x, "k": past[0], "v": past[1], "n": np.array(6)}
    made = session(text, 24)
    y, keys, values = made.run(None, feeds)
    assert made.how_it_ran() == {"node 'y' (Loop)": "natively, as a whole"}
    for got, want in zip((y, keys, values), run(text, feeds, 24), strict=True):
        same(got, want)
    h, k, v = x.astype(np.float64), *past.astype(np.float64)
    for _ in range(6):
        new = h[:, :, : groups * 4].reshape(2, 1, groups, 4).swapaxes(1, 2)
        k, v = np.concatenate([k, new], 2), np.concatenate([v, np.sin(new)], 2)
        h = in_rows(attended(h.reshape(2, 1, 4, 4).swapaxes(1, 2), k, v))
    np.testing.assert_allclose(y, h, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(keys, k, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("opset", [23, 24, 25])
def test_without_keys_attention_is_zero(opset, known):
    feeds = {"q": Q, "k": K[:, :, :0], "v": V[:, :, :0]}
    text = f"main ({declared(known, feeds)}) => (float[a, b, c, d] y, float[e, f, g, h] pk) {{ y, pk, pv = Attention (q, k, v) }}"
    y, keys = session(text, opset).run(None, feeds)
    same(y, np.zeros((2, 4, 3, 6), np.float32))
    assert keys.shape == (2, 2, 0, 4)


@pytest.mark.parametrize("known", [False, True])
def test_without_keys_flex_attention_is_zero(known):
    feeds = {"q": Q, "k": K[:, :, :0], "v": V[:, :, :0]}
    same(session(flex("", q_k_v=declared(known, feeds)), 24, domains=PREVIEW).run(None, feeds)[0], np.zeros((2, 4, 3, 6), np.float32))


@pytest.mark.parametrize("length", [0, 1, 5])
@pytest.mark.parametrize("known", [False, True])
def test_a_causal_convolution_of_any_length(length, known):
    x, w, p = (RNG.normal(size=s).astype(np.float32) for s in ((2, 3, length), (3, 1, 4), (2, 3, 3)))
    at = str(length) if known else "t"
    text = f"""main (float[b, 3, {at}] x, float[3, 1, 4] w, float[b, 3, 3] p) => (float[i, j, k] y, float[l, m, n] s) {{
      y, s = CausalConvWithState (x, w, , p)
    }}"""
    y, state = session(text, 27).run(None, {"x": x, "w": w, "p": p})
    whole = np.concatenate([p, x], 2)
    want = np.zeros((2, 3, length), np.float32)
    for t in range(length):
        want[:, :, t] = (whole[:, :, t : t + 4] * w[:, 0]).sum(-1)
    np.testing.assert_allclose(y, want, rtol=1e-5, atol=1e-6)
    same(state, whole[:, :, length:])


@pytest.mark.parametrize("widths", ["12", "w"])
@pytest.mark.parametrize("length", [0, 2])
def test_linear_attention_keeps_its_width_without_tokens(length, widths):
    wide = {"12": "12 6 10", "w": "u v w"}[widths].split()
    text = f"""main (float[b, t, {wide[0]}] q, float[b, t, {wide[1]}] k, float[b, t, {wide[2]}] v) => (float[i, j, l] y, float[m, n, o, p] s) {{
      y, s = LinearAttention <q_num_heads = 4, kv_num_heads = 2, update_rule = "linear"> (q, k, v)
    }}"""
    feeds = {n: np.ones((2, length, w), np.float32) for n, w in (("q", 12), ("k", 6), ("v", 10))}
    y, state = session(text, 27).run(None, feeds)
    assert y.shape == (2, length, 20) and state.shape == (2, 2, 3, 5)


@pytest.mark.parametrize(("keys", "values"), [(np.float16, np.float32), (np.float32, np.float16), (np.float64, np.float32)])
def test_values_of_another_dtype(keys, values):
    feeds = {"q": Q.astype(keys), "k": K.astype(keys), "v": V.astype(values)}
    a, b = (KINDS[np.dtype(t).name] for t in (keys, values))
    outputs = f"{a}[i, j, k, l] y, {a}[m, n, o, p] pk, {b}[r, s, t, u] pv"
    text = f"main ({declared(False, feeds)}) => ({outputs}) {{ y, pk, pv = Attention (q, k, v) }}"
    y, past_keys, past_values = session(text, 24).run(None, feeds)
    np.testing.assert_allclose(y, attended(*feeds.values()).astype(keys), rtol=2e-3, atol=1e-3)
    same(past_keys, feeds["k"])
    same(past_values, feeds["v"])


def test_heads_that_the_shapes_tell_may_be_attributes():
    feeds = {"q": Q, "k": K, "v": V}
    text = f"main ({Q_K_V}) => (float[a, b, c, d] y) {{ y = Attention <q_num_heads = 4, kv_num_heads = %d> (q, k, v) }}"
    np.testing.assert_allclose(session(text % 2, 25).run(None, feeds)[0], attended(Q, K, V), rtol=1e-4, atol=1e-5)
    with refused(rondel.Error, "Attention", "'kv_num_heads' is not the number of heads of K"):
        session(text % 4, 25)


ROWS = {"q": (2, 4, 12), "k": (2, 4, 6), "v": (2, 4, 10), "p": (2, 2, 3, 5), "d": (2, 4, 6), "b": (2, 4, 2)}
LINEAR = "LinearAttention <q_num_heads = 4, kv_num_heads = 2> (q, k, v, p, d, b)"
FLEX, HEADS = "ai.onnx.preview.FlexAttention", {"q": Q.shape, "k": K.shape, "v": V.shape}


def reducing(axis):
    return f"""{FLEX} <score_mod = m (float[a, b, c, d] s) => (float[e, f, g, h] o) {{
      axes = Constant <value = int64[1] {{{axis}}}> ()
      o = ReduceMax (s, axes)
    }}> (q, k, v)"""


UNFIT = {
    "flex, keys of one row": (f"{FLEX} (q, k, v)", HEADS | {"k": (1, 2, 5, 4)}, "'K' has extent 1 on axis 0 and 'Q' has 2"),
    "flex, values of one row": (f"{FLEX} (q, k, v)", HEADS | {"v": (1, 2, 5, 6)}, "'V' has extent 1 on axis 0 and 'Q' has 2"),
    "flex, values of one head": (f"{FLEX} (q, k, v)", HEADS | {"v": (2, 1, 5, 6)}, "'V' has extent 1 on axis 1 and 'K' has 2"),
    "flex, one value": (f"{FLEX} (q, k, v)", HEADS | {"v": (2, 2, 1, 6)}, "'V' has extent 1 on axis 2 and 'K' has 5"),
    "flex, heads": (f"{FLEX} (q, k, v)", HEADS | {"k": (2, 3, 5, 4), "v": (2, 3, 5, 6)}, "no multiple of"),
    "flex, modifier of the batch": (reducing(0), HEADS, "'the result of score_mod' has extent 1 on axis 0 and 'its input' has 2"),
    "flex, modifier of the keys": (reducing(3), HEADS, "'the result of score_mod' has extent 1 on axis 3 and 'its input' has 5"),
    "linear, decay": (LINEAR, ROWS | {"d": (2, 12, 2)}, "'decay' has extent 12 on axis 1 and 'query' has 4"),
    "linear, decays": (LINEAR, ROWS | {"d": (2, 4, 3)}, "decay has neither"),
    "linear, beta": (LINEAR, ROWS | {"b": (2, 8, 1)}, "'beta' has extent 8 on axis 1 and 'query' has 4"),
    "linear, betas": (LINEAR, ROWS | {"b": (2, 4, 6)}, "beta has neither"),
    "linear, state": (LINEAR, ROWS | {"p": (2, 1, 3, 5)}, "past_state does not have kv_num_heads heads"),
    "linear, rows of the state": (LINEAR, ROWS | {"p": (2, 2, 1, 5)}, "past_state does not have a row"),
    "linear, columns of the state": (LINEAR, ROWS | {"p": (2, 2, 3, 1)}, "past_state does not have a column"),
    "linear, keys": (LINEAR, ROWS | {"k": (2, 4, 4)}, "the heads of key"),
    "linear, values": (LINEAR, ROWS | {"v": (2, 8, 5), "p": (2, 2, 3, 5)}, "'value' has extent 8 on axis 1 and 'query' has 4"),
}


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("text, shapes, words", UNFIT.values(), ids=UNFIT)
def test_what_does_not_fit(text, shapes, words, known):
    feeds = {k: np.ones(s, np.float32) for k, s in shapes.items()}
    outputs = "y, z" if text == LINEAR else "y"
    results = ", ".join(f"float[] {y}" for y in outputs.split(", "))
    with refused(rondel.Error, text.split()[0].rsplit(".")[-1], words):
        session(f"main ({declared(known, feeds)}) => ({results}) {{ {outputs} = {text} }}", 27, domains=PREVIEW).run(None, feeds)


@pytest.mark.parametrize("length", [-2, 6])
def test_as_many_keys_as_there_are(length):
    feeds = {"q": Q, "k": K, "v": V, "n": np.array([5, length])}
    text = f"main ({declared(False, feeds)}) => (float[i, j, l, m] y) {{ y = Attention (q, k, v, , , , n) }}"
    with refused(rondel.Error, "Attention", f"nonpad_kv_seqlen has {length}; expected 0 to the number of keys, 5"):
        session(text, 24).run(None, feeds)


@pytest.mark.parametrize("position", [-1, 5])
def test_positions_are_rows(position):
    text = "main (float[2, 2, 2, 4] x, float[5, 2] c, float[5, 2] s, int64[a, b] p) => (float[i, j, l, m] y) { y = RotaryEmbedding (x, c, s, p) }"
    feeds = {k: np.ones(s, np.float32) for k, s in {"x": (2, 2, 2, 4), "c": (5, 2), "s": (5, 2)}.items()}
    feeds["p"] = np.array([[0, 4], [position, 0]])
    with refused(rondel.Error, "RotaryEmbedding", f"position_ids has {position}; expected 0 to 4"):
        session(text, 23).run(None, feeds)


QUERIES = {"q": (2, 4, 3, 4), "k": (2, 2, 5, 4), "v": (2, 2, 5, 6)}
FLAT = {"q": (2, 3, 16), "k": (2, 5, 8), "v": (2, 5, 12)}
IN_ROWS = "Attention <q_num_heads = 4, kv_num_heads = 2> (q, k, v)"
ILL_FITTING = {
    "keys of one row": ("Attention (q, k, v)", QUERIES | {"k": (1, 2, 5, 4)}, "'K' has extent 1 on axis 0 and 'Q' has 2"),
    "values of one row": ("Attention (q, k, v)", QUERIES | {"v": (1, 2, 5, 6)}, "'V' has extent 1 on axis 0 and 'Q' has 2"),
    "values of one head": ("Attention (q, k, v)", QUERIES | {"v": (2, 1, 5, 6)}, "'V' has extent 1 on axis 1 and 'K' has 2"),
    "one value": ("Attention (q, k, v)", QUERIES | {"v": (2, 2, 1, 6)}, "'V' has extent 1 on axis 2 and 'K' has 5"),
    "narrow keys": ("Attention (q, k, v)", QUERIES | {"k": (2, 2, 5, 1)}, "'K' has extent 1 on axis 3 and 'Q' has 4"),
    "heads": ("Attention (q, k, v)", QUERIES | {"k": (2, 3, 5, 4), "v": (2, 3, 5, 6)}, "no multiple of"),
    "narrow heads": (IN_ROWS, FLAT | {"k": (2, 5, 4)}, "the heads of K do not have the size of the heads of Q"),
    "fewer values": (IN_ROWS, FLAT | {"v": (2, 4, 12)}, "'V' has extent 4 on axis 1 and 'K' has 5"),
    "mask of more queries": ("Attention (q, k, v, m)", QUERIES | {"q": (2, 4, 1, 4), "m": (3, 5)}, "on axis 2"),
    "mask of more heads": ("Attention (q, k, v, m)", QUERIES | {"q": (2, 1, 3, 4), "k": (2, 1, 5, 4), "v": (2, 1, 5, 6), "m": (2, 3, 5)}, "on axis 1"),
    "mask of more keys": ("Attention (q, k, v, m)", QUERIES | {"m": (3, 6)}, "attn_mask has more columns than keys"),
    "two caches": ("Attention (q, k, v, , a, b, n)", QUERIES | {"a": (2, 2, 1, 4), "b": (2, 2, 1, 6), "n": (2,)}, "both given"),
}


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("text, shapes, words", ILL_FITTING.values(), ids=ILL_FITTING)
def test_operands_of_attention_are_not_broadcast(text, shapes, words, known):
    feeds = {k: np.ones(s, np.int64 if k == "n" else np.float32) for k, s in shapes.items()}
    with refused(rondel.Error, "Attention", words):
        session(f"main ({declared(known, feeds)}) => (float[] y) {{ y = {text} }}", 25).run(None, feeds)


ATTRIBUTES = {
    "Attention <softmax_precision = 6>": "'softmax_precision' is 6; expected 1, 10, 11 or 16",
    "Attention <qk_matmul_output_mode = 7>": "'qk_matmul_output_mode' is 7; expected 0 to 3",
    "Attention <left_window_size = -2>": "'left_window_size' is -2; expected -1 or more",
    f"{FLEX} <softmax_precision = 6>": "'softmax_precision' is 6; expected 1, 10, 11 or 16",
}


@pytest.mark.parametrize("text", ATTRIBUTES)
def test_attributes_out_of_range_are_named(text):
    with refused(rondel.Error, ATTRIBUTES[text]):
        session(f"main ({Q_K_V}) => (float[a, b, c, d] y) {{ y = {text} (q, k, v) }}", 25, domains=PREVIEW)


@pytest.mark.parametrize(("heads", "words"), [((3, 2), "3 heads of queries are no multiple of 2 heads"), ((0, 2), "'q_num_heads' = 0; expected 1")])
def test_heads_of_linear_attention(heads, words):
    text = f"""main (float[b, t, u] q, float[b, t, v] k, float[b, t, w] v) => (float[] y, float[] s) {{
      y, s = LinearAttention <q_num_heads = {heads[0]}, kv_num_heads = {heads[1]}, update_rule = "linear"> (q, k, v)
    }}"""
    with refused(rondel.Error, "LinearAttention", words):
        session(text, 27)


def test_what_onnx_makes_no_body_for_is_said():
    text = "main (float[] x, float[5, 2] c, float[5, 2] s, int64[2, 2] p) => (float[] y) { y = RotaryEmbedding (x, c, s, p) }"
    with refused(rondel.UnsupportedError, "ONNX makes no body for op RotaryEmbedding", "depends on the shape of its input 'x', declare its shape"):
        session(text, 23)
