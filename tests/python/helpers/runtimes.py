"""Tests that run in Rondel and in ONNX Runtime alike: what they assert is that both behave the same."""

import onnxruntime
import onnxruntime.capi.onnxruntime_inference_collection
import onnxruntime.datasets
import pytest

import rondel

#: X times [[1, 2], [3, 4], [5, 6]], the model of most of ONNX Runtime's own tests
MUL = onnxruntime.datasets.get_example("mul_1.onnx")

both = pytest.mark.parametrize("ort", [rondel, onnxruntime], ids=["rondel", "onnxruntime"])
