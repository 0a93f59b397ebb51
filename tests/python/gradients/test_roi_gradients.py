"""Gradients of RoiAlign and MaxRoiPool with respect to the image, against central differences and torchvision's definition."""

import numpy as np
import onnx
import pytest
import rondel
from differences import central_differences
from gradient_cases import i64
from onnx import TensorProto, helper, numpy_helper

RNG = np.random.default_rng(5)
X = RNG.uniform(-2, 3, (2, 3, 7, 6))
#: (left, top, right, bottom): inside, beyond the image, of no extent, turned around, outside.
REGIONS = np.array([[0.7, 1.1, 4.3, 5.2], [-3, -2, 9, 10], [2, 3, 2, 3], [4, 5, 1, 2], [20, 20, 30, 30], [0, 0, 5.9, 6.8]])
BATCH = i64(0, 1, 1, 0, 1, 1)


def model(op, constants, dtype=TensorProto.DOUBLE, opset=22, **attributes):
    names = ["x", *(f"c{k}" for k in range(len(constants)))]
    graph = helper.make_graph(
        [helper.make_node(op, names, ["y"], name="pool", **attributes)],
        "g",
        [helper.make_tensor_value_info("x", dtype, ["n", "c", "h", "w"])],
        [helper.make_tensor_value_info("y", dtype, None)],
        [numpy_helper.from_array(c, name) for c, name in zip(constants, names[1:])],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def check(made, x, tolerance=1e-6):
    session = rondel.InferenceSession(made)
    seed = RNG.standard_normal(session.run(None, {"x": x})[0].shape).astype(x.dtype)
    adjoint = rondel.grad(made, wrt=["x"], outputs=["y"], seed=["seed"])
    onnx.checker.check_model(adjoint, full_check=True)
    (got,) = rondel.InferenceSession(adjoint.SerializeToString()).run(["grad_x"], {"x": x, "seed": seed})
    assert got.shape == x.shape and got.dtype == x.dtype
    want = central_differences(lambda f: session.run(["y"], f), {"x": x}, "x", [seed])
    assert np.abs(want).max() > 0.1
    np.testing.assert_allclose(got, want, atol=tolerance * (1 + np.abs(want).max()), rtol=0)


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("coordinates", ["half_pixel", "output_half_pixel"])
@pytest.mark.parametrize("samples", [0, 1, 3])
def test_roi_align(mode, coordinates, samples):
    attributes = dict(mode=mode, coordinate_transformation_mode=coordinates, sampling_ratio=samples)
    check(model("RoiAlign", [REGIONS, BATCH], output_height=3, output_width=2, spatial_scale=0.9, **attributes), X)


@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_max_roi_pool(scale):
    regions = np.concatenate([BATCH[:, None], REGIONS], 1)
    check(model("MaxRoiPool", [regions], pooled_shape=[3, 2], spatial_scale=scale), X)


def test_the_first_of_equal_elements_gets_the_adjoint():
    made = rondel.grad(model("MaxRoiPool", [np.float32([[0, 0, 0, 2, 2]])], TensorProto.FLOAT, pooled_shape=[1, 1]), wrt=["x"], outputs=["y"], seed=["seed"])
    x = np.float32([[[[1, 2, 2], [2, 0, 1], [0, 2, 2]]]])
    (got,) = rondel.InferenceSession(made).run(["grad_x"], {"x": x, "seed": np.float32([[[[3]]]])})
    np.testing.assert_array_equal(got, [[[[0, 3, 0], [0, 0, 0], [0, 0, 0]]]])


def test_infinities_are_elements_like_others():
    made = rondel.grad(model("MaxRoiPool", [np.float32([[0, 1, 1, 2, 2]])], TensorProto.FLOAT, pooled_shape=[1, 1]), wrt=["x"], outputs=["y"], seed=["seed"])
    for worst in (-np.inf, np.inf, np.nan):
        x = np.zeros((1, 1, 4, 4), np.float32)
        x[..., 1:3, 1:3] = worst
        (got,) = rondel.InferenceSession(made).run(["grad_x"], {"x": x, "seed": np.float32([[[[3]]]])})
        assert got[0, 0, 1, 1] == 3 and np.count_nonzero(got) == 1, (worst, got)


@pytest.mark.parametrize("count", [0, 1])
@pytest.mark.parametrize("op", ["RoiAlign", "MaxRoiPool"])
def test_no_regions_and_empty_bins(op, count):
    """Regions outside the image leave it without a gradient, as none do."""
    far = np.float32([[50, 50, 60, 60]])[:count]
    attributes = dict(output_height=2, output_width=2, mode="max") if op == "RoiAlign" else dict(pooled_shape=[2, 2])
    constants = [far, i64(0)[:count]] if op == "RoiAlign" else [np.concatenate([np.zeros((count, 1), np.float32), far], 1)]
    made = rondel.grad(model(op, constants, TensorProto.FLOAT, **attributes), wrt=["x"], outputs=["y"], seed=["seed"])
    x = X.astype(np.float32)
    (got,) = rondel.InferenceSession(made).run(["grad_x"], {"x": x, "seed": np.ones((count, 3, 2, 2), np.float32)})
    np.testing.assert_array_equal(got, np.zeros_like(x))
