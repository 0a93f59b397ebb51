"""Nodes that ONNX has no op for, or not in their dtype: what is written of them runs elsewhere, too."""

import numpy as np
import onnx
import pytest
from models import agree, in_onnxruntime, session
from nets import I64, Net
from onnx.reference import ReferenceEvaluator
from rondel.network import PaddingMode, PoolingType


def elsewhere(written, feeds):
    """What the model gives here, in ONNX Runtime where it has the kernels, and in onnx's own evaluator."""
    onnx.checker.check_model(written, full_check=True)
    by_onnx = ReferenceEvaluator(onnx.load_from_string(written)).run(None, feeds)
    return [x for x in (session(written).run(None, feeds), in_onnxruntime(written, feeds), by_onnx) if x is not None]


@pytest.mark.parametrize("mode", [PaddingMode.EXPLICIT_ROUND_DOWN, PaddingMode.EXPLICIT_ROUND_UP, PaddingMode.SAME_UPPER])
@pytest.mark.parametrize("extents", [(2, 2, 5, 7), (-1, 2, -1, -1)], ids=["static", "dynamic"])
def test_pools_of_long_integers(extents, mode):
    """No float holds 2**62 + 1: the greatest of the elements under each window of 2 x 3, by steps of 1 x 2."""
    net = Net()
    layer = net.network.add_pooling_nd(net.input("x", extents, I64), PoolingType.MAX, (2, 3))
    layer.stride_nd, layer.pre_padding, layer.post_padding = (1, 2), (1, 0), (0, 1)
    layer.padding_mode = mode
    net.mark(layer.get_output(0))
    x = np.random.default_rng(0).integers(-9, 9, (2, 2, 5, 7)) + np.where(np.arange(7) % 3 == 0, 2**62, -(2**62))
    (got,) = net.run({"x": x}, oracle=False)
    padding = {PaddingMode.EXPLICIT_ROUND_DOWN: [(1, 0), (0, 1)], PaddingMode.EXPLICIT_ROUND_UP: [(1, 0), (0, 2)]}
    padded = np.pad(x, [(0, 0), (0, 0), *padding.get(mode, [(0, 1), (1, 1)])], constant_values=-(2**63))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (2, 3), (2, 3))[:, :, :, ::2]
    agree(got, np.ascontiguousarray(windows.max((4, 5))))
    results = elsewhere(net.network.to_onnx(), {"x": x})
    assert len(results) == 3
    for result in results:
        agree(result, [got])
