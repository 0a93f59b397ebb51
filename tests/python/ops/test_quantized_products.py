"""Products of quantized operands: what they refuse, and loops. test_ops_against_onnxruntime.py compares results."""

import numpy as np
import pytest
import rondel
from models import in_onnxruntime, model, run


@pytest.mark.parametrize("bad", ["nan", "inf", "-1"])
@pytest.mark.parametrize("place", ["sa", "sb", "sy"])
def test_wrong_scales(place, bad):
    scales = {"sa": 0.5, "sb": 0.5, "sy": 1.0} | {place: float(bad)}
    listed = ", ".join(f"float {name} = {{1}}" for name in scales)
    source = model(f"""f (uint8[M, K] a, uint8[K, N] b) => (uint8[M, N] y) <{listed}, uint8 z = {{0}}> {{
        y = QLinearMatMul (a, sa, z, b, sb, z, sy, z) }}""")
    for initializer in source.graph.initializer:
        if initializer.name in scales:
            initializer.float_data[:] = [scales[initializer.name]]
    with pytest.raises(rondel.CallerError, match="the scale, input [146], has .*; expected a finite number"):
        rondel.InferenceSession(source)


def test_a_loop_of_quantized_products_runs_natively():
    text = """
    main (int64 n, uint8[1, 8] x, int8[8, 8] w) => (uint8[1, 8] y) <float sx = {0.1}, float sw = {0.05}, uint8 zx = {100}, int8 zw = {0}> {
      yes = Constant <value = bool {1}> ()
      y = Loop (n, yes, x) <body = trip (int64 i, bool go, uint8[1, 8] a) => (bool on, uint8[1, 8] c) {
        on = Identity (go)
        c = QLinearMatMul (a, sx, zx, w, sw, zw, sx, zx)
      }>
    }"""
    rng = np.random.default_rng(3)
    feeds = {"n": np.array(5), "x": rng.integers(0, 256, (1, 8)).astype(np.uint8), "w": rng.integers(-64, 64, (8, 8)).astype(np.int8)}
    (got,) = run(text, feeds)
    (want,) = in_onnxruntime(model(text).SerializeToString(), feeds)
    assert got.tolist() == want.tolist()
    assert {found["execution"] for found in rondel.inspect(model(text)).loops} == {"natively, as a whole"}
