"""Pools that round up, beside ONNX Runtime: windows longer than the padded axis, on its own and where the extents come with the run."""

import itertools

import numpy as np
import pytest
from models import in_onnxruntime, model, run, run_as

RNG = np.random.default_rng(11)
KINDS = {
    "MaxPool": "MaxPool <{}>", "AveragePool": "AveragePool <{}>", "AveragePool with padding": "AveragePool <count_include_pad = 1, {}>",
    "LpPool": "LpPool <p = 2, {}>",
}  # fmt: skip
#: Kernel, stride, padding before and after, dilation, extent.
WINDOWS = [
    (kernel, stride, pads, dilation, extent)
    for kernel, stride, pads, dilation, extent in itertools.product((1, 2, 3, 5), (1, 2, 3), ((0, 0), (1, 0), (1, 1)), (1, 2), (1, 2, 3, 4, 7))
    if -stride < extent + sum(pads) - (kernel - 1) * dilation - 1 <= 1 and max(pads) < kernel
]


def pool(kind, axes, number, kernel, stride, pads, dilation, extent):
    of = lambda name, *values: f"{name} = [{', '.join(map(str, values))}]"  # noqa: E731
    how = ", ".join([
        "ceil_mode = 1", of("kernel_shape", *[kernel] * axes), of("strides", *[stride] * axes), of("dilations", *[dilation] * axes),
        of("pads", *[pads[0]] * axes, *[pads[1]] * axes),
    ])  # fmt: skip
    return f"y{number} = {KINDS[kind].format(how)} (x{extent})"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("axes", [1, 2])
def test_windows_that_reach_beyond_the_padding(kind, axes):
    feeds = {f"x{extent}": RNG.standard_normal((2, 3, *[extent] * axes)).astype(np.float32) for extent in sorted({w[-1] for w in WINDOWS})}
    inputs = ", ".join(f"float[N, C, {', '.join(f'P{x}_{a}' for a in range(axes))}] {x}" for x in feeds)
    outputs = ", ".join(f"float[N, C, {', '.join(f'Q{k}_{a}' for a in range(axes))}] y{k}" for k in range(len(WINDOWS)))
    nodes = "  ".join(pool(kind, axes, number, *window) for number, window in enumerate(WINDOWS))
    text = f"f ({inputs}) => ({outputs}) {{ {nodes} }}"
    wants = in_onnxruntime(model(text, 22).SerializeToString(), feeds)
    for window, want, got in zip(WINDOWS, wants, run(text, feeds, 22), strict=True):
        alone = np.isnan(got) if "Average" in kind else want == np.finfo(np.float32).min  # windows of padding alone
        np.testing.assert_allclose(np.where(alone, 0, got), np.where(alone, 0, want), rtol=1e-5, atol=1e-6, err_msg=f"{kind} {window}")


@pytest.mark.parametrize("jit", ["0", "quick", "2"])
def test_a_signal_that_a_loop_halves_to_one_element(jit, monkeypatch):
    run_as(monkeypatch, jit)
    text = """f (float[1, 1, L] x, int64 n) => (float[1, 1, M] y) {
        y = Loop (n, , x) <body = b (int64 i, bool go, float[1, 1, P] s) => (bool on, float[1, 1, Q] t) {
          on = Identity (go)  t = MaxPool <kernel_shape = [2], strides = [2], ceil_mode = 1> (s)
        }>
    }"""
    x = np.array([3, 1, 7, 2, 5, 4], np.float32)
    for trips, want in enumerate(([3, 1, 7, 2, 5, 4], [3, 7, 5], [7, 5], [7], [7], [7])):
        assert run(text, {"x": x.reshape(1, 1, 6), "n": np.array(trips)}, 22)[0].ravel().tolist() == want
