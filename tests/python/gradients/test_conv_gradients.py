"""Gradients of convolutions over extents that only the run knows, and their derivatives: against central differences in float64."""

import numpy as np
import pytest
import rondel
from models import run_as
from onnx import parser
from differences import central_differences, check_gradient, elsewhere

WINDOWS = {
    "1-d": ("Conv", "", (2, 3, 5), (4, 3, 2)),
    "padding and strides": ("Conv", "strides = [2, 1], pads = [1, 0, 2, 1]", (2, 2, 6, 5), (3, 2, 3, 2)),
    "groups, dilations and strides": ("Conv", "group = 2, dilations = [2, 1], strides = [1, 2]", (2, 4, 7, 6), (6, 2, 2, 3)),
    "a group for each channel, SAME_UPPER": ("Conv", 'group = 3, auto_pad = "SAME_UPPER", strides = [2, 2]', (2, 3, 4, 4), (3, 1, 3, 3)),
    "SAME_LOWER": ("Conv", 'auto_pad = "SAME_LOWER"', (1, 2, 5, 4), (2, 2, 2, 1)),
    "more padding than the kernel": ("Conv", "pads = [2, 2, 2, 2]", (1, 2, 3, 3), (2, 2, 1, 1)),
    "strides beyond the end": ("Conv", "strides = [5], pads = [3, 0]", (2, 2, 1), (2, 2, 1)),
    "3-d": ("Conv", 'auto_pad = "VALID", dilations = [3, 1, 1], strides = [1, 2, 1]', (2, 1, 4, 4, 3), (2, 1, 2, 2, 2)),
    "groups of no sample": ("Conv", "group = 2", (0, 4, 5), (6, 2, 2)),
    "transposed": ("ConvTranspose", "strides = [2, 1], pads = [1, 0, 2, 1]", (2, 2, 3, 4), (2, 3, 3, 2)),
    "transposed in groups": ("ConvTranspose", "group = 2, dilations = [2, 1], strides = [1, 2], output_padding = [0, 1]", (2, 4, 3, 3), (4, 2, 2, 3)),
    "transposed, 1-d": ("ConvTranspose", "strides = [3], output_padding = [2]", (2, 3, 4), (3, 2, 2)),
}  # fmt: skip


def convolution(name, x=None, w=None, bias=True):
    """The model of a convolution, its feeds and its outputs. `x`, `w`: declared extents, if not those of the feeds."""
    op, attributes, x_shape, w_shape = WINDOWS[name]
    rng = np.random.default_rng(len(name))
    group = 2 if "group = 2" in attributes else 1
    maps = w_shape[0] if op == "Conv" else w_shape[1] * group
    feeds = {"x": rng.uniform(-2, 2, x_shape), "w": rng.uniform(-2, 2, w_shape)}
    if bias:
        feeds["b"] = rng.uniform(-2, 2, maps)
    declared = [",".join(map(str, given or shape)) for given, shape in ((x, x_shape), (w, w_shape))]
    model = parser.parse_model(f"""
        <ir_version: 10, opset_import: ["" : 21]>
        f (double[{declared[0]}] x, double[{declared[1]}] w {", double[B] b" if bias else ""}) => (double[{",".join("PQRST"[: len(x_shape)])}] y) {{
          c = {op} {f"<{attributes}>" if attributes else ""} (x, w {", b" if bias else ""})  y = Tanh (c) }}""")
    return model, feeds, rng


def unknown(name, of="IJKLM"):
    return list(of[: len(WINDOWS[name][2])])


@pytest.mark.parametrize("name", WINDOWS)
def test_kernels_of_extents_of_the_run(name):
    model, feeds, rng = convolution(name, unknown(name), unknown(name, "STUVW"))
    made, fed, got = check_gradient(model.SerializeToString(), feeds, rng)
    for ours, other in zip(got, elsewhere(made, fed)[-len(got) :]):
        np.testing.assert_allclose(ours, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("known", ["all but the batch", "no extent of x", "no extent"])
@pytest.mark.parametrize("name", WINDOWS)
def test_along_directions(name, known):
    op, _, x_shape, w_shape = WINDOWS[name]
    x = ["N", *x_shape[1:]] if known == "all but the batch" else unknown(name)
    model, feeds, rng = convolution(name, x, unknown(name, "STUVW") if known == "no extent" else None)
    names = list(feeds)
    session = rondel.InferenceSession(rondel.jvp(model, names).SerializeToString())
    directions = {f"tangent_{n}": rng.standard_normal(feeds[n].shape) for n in names}
    (found,) = session.run(["tangent_y"], feeds | directions)
    plain, step = rondel.InferenceSession(model), 1e-5
    high, low = (plain.run(["y"], {n: feeds[n] + s * directions[f"tangent_{n}"] for n in names})[0] for s in (step, -step))
    np.testing.assert_allclose(found, (high - low) / (2 * step), atol=1e-7, rtol=1e-6)


@pytest.mark.parametrize("known", ["all but the batch", "no extent of x"])
@pytest.mark.parametrize("name", WINDOWS)
def test_second_derivatives(name, known):
    x = ["N", *WINDOWS[name][2][1:]] if known == "all but the batch" else unknown(name)
    model, feeds, rng = convolution(name, x)
    (y,) = rondel.InferenceSession(model.SerializeToString()).run(None, feeds)
    once = rondel.grad(model, list(feeds), ["y"], ["dy"], prefix="first_")
    check_gradient(once.SerializeToString(), feeds | {"dy": rng.standard_normal(y.shape)}, rng, outputs=[f"first_{n}" for n in feeds])


@pytest.mark.parametrize("name", ["padding and strides", "groups, dilations and strides", "transposed in groups"])
def test_third_derivatives(name):
    """The product of a direction and the Hessian, differentiated: a loss of a training step along a direction."""
    model, feeds, rng = convolution(name, unknown(name), bias=False)
    (y,) = rondel.InferenceSession(model.SerializeToString()).run(None, feeds)
    once = rondel.grad(model, ["x", "w"], ["y"], ["dy"])
    along = rondel.jvp(once, ["x", "w"], ["grad_w", "grad_x"])
    directions = {f"tangent_{n}": rng.standard_normal(feeds[n].shape) for n in feeds}
    fed = feeds | directions | {"dy": rng.standard_normal(y.shape)}
    first, step = rondel.InferenceSession(once.SerializeToString()), 1e-5
    run = lambda f: first.run(["grad_w", "grad_x"], {n: f[n] for n in ("x", "w", "dy")})  # noqa: E731
    found = rondel.InferenceSession(along.SerializeToString()).run(["tangent_grad_w", "tangent_grad_x"], fed)
    high, low = (run(fed | {n: feeds[n] + s * directions[f"tangent_{n}"] for n in feeds}) for s in (step, -step))
    for tangent, h, l in zip(found, high, low, strict=True):
        np.testing.assert_allclose(tangent, (h - l) / (2 * step), atol=1e-6, rtol=1e-6)
    third = rondel.grad(along, ["w"], ["tangent_grad_w", "tangent_grad_x"], ["s", "t"], prefix="third_")
    seeds = {"s": rng.standard_normal(found[0].shape), "t": rng.standard_normal(found[1].shape)}
    (got,) = rondel.InferenceSession(third.SerializeToString()).run(["third_w"], fed | seeds)
    session = rondel.InferenceSession(along.SerializeToString())
    run = lambda f: session.run(["tangent_grad_w", "tangent_grad_x"], f)  # noqa: E731
    want = central_differences(run, fed, "w", list(seeds.values()))
    np.testing.assert_allclose(got, want, atol=1e-5, rtol=1e-6)


def test_ranks_of_the_run():
    """Only the kernels, or only x, tell how many axes there are."""
    for x, w in [("", "[4,3,2]"), ("", "[A,B,C]"), ("[2,3,5]", ""), ("[A,B,C]", "")]:
        declared = [f"double{x or '[]'} x", f"double{w or '[]'} w"]
        model = parser.parse_model(f"""
            <ir_version: 10, opset_import: ["" : 21]>
            f ({", ".join(declared)}) => (double[P,Q,R] y) {{ c = Conv <strides = [2]> (x, w)  y = Tanh (c) }}""")
        for port, given in zip(model.graph.input, (x, w)):
            if not given:
                port.type.tensor_type.ClearField("shape")
        rng = np.random.default_rng(3)
        feeds = {"x": rng.uniform(-2, 2, (2, 3, 5)), "w": rng.uniform(-2, 2, (4, 3, 2))}
        seed = rng.standard_normal((2, 4, 2))
        plain = rondel.InferenceSession(model.SerializeToString())
        made = rondel.grad(model, ["x", "w"], ["y"], ["dy"])
        found = rondel.InferenceSession(made.SerializeToString()).run(["grad_x", "grad_w"], feeds | {"dy": seed})
        for name, got in zip("xw", found):
            np.testing.assert_allclose(got, central_differences(lambda f: plain.run(["y"], f), feeds, name, [seed]), atol=1e-7)


def test_native_code_agrees_with_the_interpreter(monkeypatch):
    model, feeds, rng = convolution("padding and strides", unknown("padding and strides"))
    made = rondel.jvp(model, list(feeds)).SerializeToString()
    fed = feeds | {f"tangent_{n}": rng.standard_normal(v.shape) for n, v in feeds.items()}
    values = []
    for jit in ("0", "quick"):
        run_as(monkeypatch, jit)
        values.append(rondel.InferenceSession(made).run(["tangent_y"], fed)[0])
    np.testing.assert_allclose(*values, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("first, words", [("[]", "known extents"), ("[A,B,C]", None)])
def test_transposed_kernels_with_automatic_padding(first, words):
    """Refused if the rank of x is not known: then the kernels would have to be."""
    model = parser.parse_model(f"""
        <ir_version: 10, opset_import: ["" : 21]>
        f (double{first} x, double[S,T,U] w) => (double[] y) {{ y = ConvTranspose <auto_pad = "SAME_UPPER", strides = [2]> (x, w) }}""")
    if words:
        with pytest.raises(rondel.UnsupportedError, match=words):
            rondel.grad(model, ["w"], ["y"], ["dy"])
        return
    rng = np.random.default_rng(5)
    check_gradient(model.SerializeToString(), {"x": rng.uniform(-2, 2, (2, 3, 4)), "w": rng.uniform(-2, 2, (3, 2, 3))}, rng)
