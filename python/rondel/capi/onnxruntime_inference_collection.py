"""onnxruntime's module of sessions and values."""

from ..binding import IOBinding
from ..device import OrtDevice, OrtDeviceVendorId
from ..ort_value import OrtValue, copy_tensors
from ..providers import check_and_normalize_provider_args
from ..session import InferenceSession
from ..sparse import SparseTensor

__all__ = [
    "IOBinding", "InferenceSession", "OrtDevice", "OrtDeviceVendorId", "OrtValue", "SparseTensor",
    "check_and_normalize_provider_args", "copy_tensors",
]  # fmt: skip
