"""What onnxruntime's session wraps: the inner session that `session._sess` is."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

from ..binding import IOBinding
from ..metadata import ModelMetadata, NodeArg
from ..ort_value import OrtValue, OrtValueVector


class SessionHandle:
    """The inner session: the same runs, with arguments in another order."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def run(self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any], run_options: Any = None) -> list[Any]:
        return self._session.run(output_names, input_feed, run_options)

    def run_with_ort_values(
        self, input_feed: Mapping[str, OrtValue], output_names: Sequence[str] | None, run_options: Any = None
    ) -> OrtValueVector:
        return OrtValueVector(self._session.run_with_ort_values(output_names, input_feed, run_options))

    def run_with_iobinding(self, binding: IOBinding, run_options: Any = None) -> None:
        self._session.run_with_iobinding(binding, run_options)

    @property
    def inputs_meta(self) -> list[NodeArg]:
        return self._session.get_inputs()

    @property
    def outputs_meta(self) -> list[NodeArg]:
        return self._session.get_outputs()

    @property
    def overridable_initializers(self) -> list[NodeArg]:
        return self._session.get_overridable_initializers()

    @property
    def model_meta(self) -> ModelMetadata:
        return self._session.get_modelmeta()


def is_dlpack_uint8_tensor(capsule: Any) -> bool:
    """Whether a DLPack capsule says that its elements are uint8, as some libraries say of bool."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    code, bits = ctypes.string_at(pointer(capsule, b"dltensor") + 20, 2)  # DLTensor: data, device, ndim, then dtype
    return (code, bits) == (1, 8)
