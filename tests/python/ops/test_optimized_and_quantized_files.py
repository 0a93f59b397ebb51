"""Models that ONNX Runtime's optimizer and its quantizer write: the ops in them, and the same results here."""

import models
import numpy as np
import onnx
import onnxruntime
import pytest
import rondel
from microsoft_cases import real
from microsoft_models import theirs


def optimized(model, folder):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(folder / "optimized.onnx")
    options.log_severity_level = 4
    onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return folder / "optimized.onnx"


def parsed(text, opset=17, **weights):
    model = models.model(text, opset)
    model.graph.initializer.extend(onnx.numpy_helper.from_array(v, k) for k, v in weights.items())
    onnx.checker.check_model(model)
    return model


def transformer():
    """One block: attention with two heads, then two layers with a gelu, each added and normalised."""
    text = """
    block (float[batch, length, 8] x) => (float[batch, length, 8] y) {
      apart = Constant <value_ints = [0, 0, 2, 4]> ()
      joined = Constant <value_ints = [0, 0, 8]> ()
      q0 = MatMul (x, wq)
      q1 = Add (q0, bq)
      q2 = Reshape (q1, apart)
      q = Transpose <perm = [0, 2, 1, 3]> (q2)
      k0 = MatMul (x, wk)
      k1 = Add (k0, bq)
      k2 = Reshape (k1, apart)
      k = Transpose <perm = [0, 2, 3, 1]> (k2)
      v0 = MatMul (x, wv)
      v1 = Add (v0, bq)
      v2 = Reshape (v1, apart)
      v = Transpose <perm = [0, 2, 1, 3]> (v2)
      s = MatMul (q, k)
      root = Constant <value = float {2.0}> ()
      scaled = Div (s, root)
      p = Softmax <axis = -1> (scaled)
      o = MatMul (p, v)
      o1 = Transpose <perm = [0, 2, 1, 3]> (o)
      o2 = Reshape (o1, joined)
      o3 = MatMul (o2, wo)
      o4 = Add (o3, bq)
      a = Add (o4, x)
      n = LayerNormalization <axis = -1, epsilon = 0.00001> (a, gamma, beta)
      h0 = MatMul (n, w1)
      h1 = Add (h0, b1)
      sqrt2 = Constant <value = float {1.4142135}> ()
      one = Constant <value = float {1.0}> ()
      half = Constant <value = float {0.5}> ()
      g1 = Div (h1, sqrt2)
      g2 = Erf (g1)
      g3 = Add (g2, one)
      g4 = Mul (h1, g3)
      h2 = Mul (g4, half)
      h3 = MatMul (h2, w2)
      h4 = Add (h3, bq)
      r = Add (h4, n)
      y = LayerNormalization <axis = -1, epsilon = 0.00001> (r, gamma, beta)
    }"""
    rng = np.random.default_rng(1)
    shapes = dict(wq=(8, 8), wk=(8, 8), wv=(8, 8), wo=(8, 8), bq=(8,), gamma=(8,), beta=(8,), w1=(8, 32), b1=(32,), w2=(32, 8))
    return parsed(text, **{k: rng.normal(0, 0.4, s).astype(np.float32) for k, s in shapes.items()})


def convolutions():
    text = """
    net (float[n, 3, 8, 8] x) => (float[n, 5] y) {
      a = Conv <pads = [1, 1, 1, 1]> (x, w1, b1)
      b = Relu (a)
      c = Conv <pads = [1, 1, 1, 1]> (b, w2, b2)
      d = Add (c, b)
      e = Relu (d)
      f = AveragePool <kernel_shape = [2, 2], strides = [2, 2]> (e)
      g = Sigmoid (f)
      h = GlobalAveragePool (g)
      i = Flatten (h)
      j = Gemm (i, w3, b3)
      y = LeakyRelu <alpha = 0.1> (j)
    }"""
    rng = np.random.default_rng(2)
    shapes = dict(w1=(6, 3, 3, 3), b1=(6,), w2=(6, 6, 3, 3), b2=(6,), w3=(6, 5), b3=(5,))
    return parsed(text, **{k: rng.normal(0, 0.4, s).astype(np.float32) for k, s in shapes.items()})


def same_results(path, tolerance=2e-5, **feeds):
    found, wanted = rondel.InferenceSession(str(path)).run(None, feeds), theirs(str(path), feeds)
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


def microsoft(*names):
    return {f"com.microsoft.{name}" for name in names}


def test_an_optimized_transformer_gives_the_same(tmp_path):
    path = optimized(transformer(), tmp_path)
    made = models.ops_of(onnx.load(path))
    assert microsoft("BiasGelu", "SkipLayerNormalization", "FusedMatMul") & made and "Erf" not in made
    same_results(path, x=real(2, 5, 8))


def test_optimized_convolutions_give_the_same(tmp_path):
    path = optimized(convolutions(), tmp_path)
    assert microsoft("FusedConv", "FusedGemm") <= models.ops_of(onnx.load(path))
    same_results(path, x=real(2, 3, 8, 8))


def test_a_layer_normalization_that_the_optimizer_made_before_opset_17_gives_the_same(tmp_path):
    """The optimiser makes LayerNormalization of its parts, in ONNX's domain, whatever the opset."""
    text = """
    net (float[n, 8] x) => (float[n, 8] y) {
      mean = ReduceMean <axes = [-1]> (x)
      d = Sub (x, mean)
      two = Constant <value = float {2.0}> ()
      square = Pow (d, two)
      variance = ReduceMean <axes = [-1]> (square)
      small = Constant <value = float {0.00001}> ()
      sum = Add (variance, small)
      root = Sqrt (sum)
      n = Div (d, root)
      scaled = Mul (n, gamma)
      y = Add (scaled, beta)
    }"""
    path = optimized(parsed(text, 13, gamma=real(8), beta=real(8)), tmp_path)
    assert models.ops_of(onnx.load(path)) == {"LayerNormalization"}
    same_results(path, x=real(3, 8))


@pytest.mark.parametrize("signed", [False, True])
def test_a_dynamically_quantized_transformer_gives_the_same(tmp_path, signed):
    from onnxruntime.quantization import QuantType, quantize_dynamic

    onnx.save(transformer(), tmp_path / "block.onnx")
    quantize_dynamic(tmp_path / "block.onnx", tmp_path / "q.onnx", weight_type=QuantType.QInt8 if signed else QuantType.QUInt8, reduce_range=signed)
    same_results(tmp_path / "q.onnx", 1e-3, x=real(2, 5, 8))
    path = optimized(onnx.load(tmp_path / "q.onnx"), tmp_path)
    assert microsoft("DynamicQuantizeMatMul") <= models.ops_of(onnx.load(path))
    same_results(path, 1e-3, x=real(2, 5, 8))


def test_statically_quantized_convolutions_give_the_same_but_for_a_step(tmp_path):
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

    class Data(CalibrationDataReader):
        def __init__(self):
            self.rows = iter([{"x": real(2, 3, 8, 8)} for _ in range(4)])

        def get_next(self):
            return next(self.rows, None)

    onnx.save(convolutions(), tmp_path / "net.onnx")
    quantize_static(tmp_path / "net.onnx", tmp_path / "q.onnx", Data(), quant_format=QuantFormat.QOperator, activation_type=QuantType.QUInt8, weight_type=QuantType.QUInt8)
    made = models.ops_of(onnx.load(tmp_path / "q.onnx"))
    assert {"QLinearConv"} | microsoft("QLinearAdd", "QLinearSigmoid", "QLinearAveragePool", "QLinearGlobalAveragePool", "QGemm") <= made
    x = real(2, 3, 8, 8)
    (found,), (wanted,) = (run(str(tmp_path / "q.onnx"), {"x": x}) for run in (lambda p, f: rondel.InferenceSession(p).run(None, f), theirs))
    step = max(onnx.numpy_helper.to_array(t).item() for t in onnx.load(tmp_path / "q.onnx").graph.initializer if t.name.endswith("y_scale"))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=2 * step)


def test_a_transformer_with_weights_of_four_bits_gives_the_same(tmp_path):
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

    quantiser = MatMulNBitsQuantizer(transformer(), block_size=16, is_symmetric=False)
    quantiser.process()
    onnx.save(quantiser.model.model, tmp_path / "q.onnx")
    assert microsoft("MatMulNBits") <= models.ops_of(onnx.load(tmp_path / "q.onnx"))
    same_results(tmp_path / "q.onnx", x=real(2, 5, 8))
