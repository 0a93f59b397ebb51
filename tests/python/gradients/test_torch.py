"""rondel.torch: models as functions that torch differentiates; tensors cross through DLPack. Only where torch is installed."""

import numpy as np
import pytest
import rondel
from onnx import parser

torch = pytest.importorskip("torch")
import rondel.torch  # noqa: E402

CELL = """
    <ir_version: 10, opset_import: ["" : 21]>
    f (float[B,3] h, float[T,B,3] x, float[3,3] w) => (float[B,3] y, float[T,B,3] z, int64 n) {
      y, z = Scan <num_scan_inputs = 1, body = b (float[B,3] s, float[B,3] e) => (float[B,3] t, float[B,3] o) {
        m = MatMul (s, w)  a = Add (m, e)  t = Tanh (a)  o = Mul (t, t) }> (h, x)
      n = Size (z) }"""


def in_torch(h, x, w):
    items = []
    for e in x:
        h = torch.tanh(h @ w + e)
        items.append(h * h)
    return h, torch.stack(items)


def tensors(*shapes):
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(shape, generator=generator).requires_grad_() for shape in shapes]


@pytest.mark.parametrize("checkpoint", ["none", "sqrt"])
def test_gradients_are_torchs(checkpoint):
    f = rondel.torch.Function(parser.parse_model(CELL), checkpoint=checkpoint)
    given = tensors((2, 3), (5, 2, 3), (3, 3))
    y, z, n = f(*given)
    want_y, want_z = in_torch(*given)
    assert n.item() == 30 and not n.requires_grad and y.requires_grad
    assert torch.allclose(y, want_y, atol=1e-6) and torch.allclose(z, want_z, atol=1e-6)
    got = torch.autograd.grad((y**2).sum() + z.exp().sum(), given)
    want = torch.autograd.grad((want_y**2).sum() + want_z.exp().sum(), given)
    assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(got, want))


def test_only_gradients_that_are_asked_for_are_made():
    f = rondel.torch.Function(parser.parse_model(CELL), wrt=["h", "w"])
    h, x, w = tensors((2, 3), (5, 2, 3), (3, 3))
    f(h=h.detach(), x=x, w=w)[0].sum().backward()
    want = torch.autograd.grad(in_torch(h, x, w)[0].sum(), w)[0]
    assert h.grad is None and x.grad is None and torch.allclose(w.grad, want, atol=1e-5)


def test_options_are_those_it_was_made_with_and_change_the_model_once():
    options = rondel.SessionOptions()
    options.add_initializer("W", rondel.OrtValue.ortvalue_from_numpy(np.array([5, 6], np.float32)))
    text = '<ir_version: 10, opset_import: ["" : 21]> f (float[2] x) => (float[2] y, float[2] z) <float[2] W = {1, 2}> { y = Mul (x, x)  z = Neg (W) }'
    f = rondel.torch.Function(parser.parse_model(text), sess_options=options)
    options.add_free_dimension_override_by_name("none", 1)
    x = tensors((2,))[0]
    f(x)[0].sum().backward()
    assert torch.allclose(x.grad, 2 * x)


def test_a_model_of_one_output_gives_a_tensor_that_gradcheck_accepts():
    f = rondel.torch.Function(
        parser.parse_model('<ir_version: 10, opset_import: ["" : 21]> f (double[N] x, int64 k) => (double[N] y) { y = Sin (x) }')
    )
    x = torch.rand(4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: f(x, torch.tensor(3)), [x])


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64", "int32", "bool", "uint8"])
def test_dtypes_cross_and_nothing_is_copied(dtype):
    onnx_name = {"float64": "double"}.get(dtype, dtype)
    f = rondel.torch.Function(
        parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> f ({onnx_name}[2,3] x) => ({onnx_name}[3,2] y) {{ y = Transpose (x) }}')
    )
    x = torch.arange(6).reshape(2, 3).to(getattr(torch, dtype))
    assert f(x).dtype == x.dtype and torch.equal(f(x), x.T)
    assert torch.equal(f(x.T.contiguous().T), x.T)


def test_sessions_take_torch_tensors():
    session = rondel.InferenceSession(parser.parse_model(CELL))
    h, x, w = (t.detach() for t in tensors((2, 3), (5, 2, 3), (3, 3)))
    (y,) = session.run(["y"], {"h": h, "x": x, "w": w})
    assert torch.allclose(torch.from_dlpack(y), in_torch(h, x, w)[0], atol=1e-6)
    with pytest.raises(rondel.CallerError, match="input 'h' is a Tensor that makes no array"):
        session.run(["y"], {"h": h.clone().requires_grad_(), "x": x, "w": w})


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda f: f(1.0, 2.0, 3.0, 4.0), "the model has 3 inputs, h, x, w; 4 are given"),
        (lambda f: f(1.0, h=2.0), "'h' is given twice"),
        (lambda f: f(q=2.0), "'q' is no input; the inputs are h, x, w"),
        (lambda f: f(1.0, w=2.0), "input 'x' is missing"),
        (lambda f: f(torch.ones(2, 3), torch.ones(5, 2, 4), torch.ones(3, 3)), "input 'x'"),
    ],
)
def test_wrong_calls_are_told(call, words):
    with pytest.raises(rondel.CallerError, match=words):
        call(rondel.torch.Function(parser.parse_model(CELL)))


def test_wrong_names_are_told():
    with pytest.raises(rondel.CallerError, match="wrt names 'q', which is no input of floats; there are 'h', 'x', 'w'"):
        rondel.torch.Function(parser.parse_model(CELL), wrt="q")
