"""IOBinding: inputs and outputs that stay bound to memory between runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .device import OrtDevice, need_cpu
from .errors import CallerError
from .ort_value import ElementType, OrtValue, OrtValueVector, array_at, check_target, content_of


class IOBinding:
    """Made by `session.io_binding()`; `session.run_with_iobinding` runs the session with it.

    Bound inputs are read in place in each run. A result is copied into the memory of a bound output at the end of the run, so
    input and output may be bound to the same memory; if a run fails, no bound memory changes.
    """

    def __init__(self, session: Any) -> None:
        if not hasattr(session, "get_inputs"):
            raise CallerError(f"IOBinding: session is a {type(session).__name__}; expected an InferenceSession")
        self._session = session
        self._inputs: dict[str, Any] = {}
        self._outputs: dict[str, OrtValue | None] = {}
        self._results: list[OrtValue] = []

    def bind_cpu_input(self, name: str, arr_on_cpu: Any) -> None:
        """Binds an input to an array, or to anything else that `run` takes."""
        self._inputs[self._checked(name, "input")] = arr_on_cpu

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        self._inputs[self._checked(name, "input")] = _ort_value(ortvalue, name)

    def bind_input(
        self, name: str, device_type: str | OrtDevice, device_id: int, element_type: ElementType, shape: Sequence[int], buffer_ptr: int
    ) -> None:
        """Binds an input to memory at an address. The caller keeps the memory alive.

        element_type: a NumPy dtype, or a number of onnx.TensorProto.DataType.
        """
        need_cpu(device_type, f"bind_input '{name}'", device_id)
        self._inputs[self._checked(name, "input")] = array_at(buffer_ptr, element_type, shape)

    def bind_output(
        self,
        name: str,
        device_type: str | OrtDevice = "cpu",
        device_id: int = 0,
        element_type: ElementType | None = None,
        shape: Sequence[int] | None = None,
        buffer_ptr: int | None = None,
    ) -> None:
        """Requests an output. With an element type, a shape and an address, each run copies the result there.

        Without an address, the element type and the shape have no effect: each run gives the result memory of its own.
        """
        need_cpu(device_type, f"bind_output '{name}'", device_id)
        self._checked(name, "output")
        if buffer_ptr is None:
            self._outputs[name] = None
            return
        if element_type is None or shape is None:
            raise CallerError(
                f"bind_output '{name}': `element_type` and `shape` are to be provided if pre-allocated memory is provided, as buffer_ptr is"
            )
        self._outputs[name] = OrtValue._of_array(array_at(buffer_ptr, element_type, shape))

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        """Requests an output; each run copies the result into the memory of a tensor."""
        value = _ort_value(ortvalue, name)
        if not value.is_tensor():
            raise CallerError(f"bind_ortvalue_output '{name}': the value is a {value.data_type()}; expected a tensor, whose memory a run writes")
        self._outputs[self._checked(name, "output")] = value

    def synchronize_inputs(self) -> None:
        """Nothing to wait for: there is only the CPU."""

    def synchronize_outputs(self) -> None:
        """Nothing to wait for: a run has ended when it returns."""

    def get_outputs(self) -> list[OrtValue]:
        """The outputs of the last run, in the order in which they were bound. A bound OrtValue is itself in the list."""
        return list(self._results)

    def get_outputs_as_ortvaluevector(self) -> OrtValueVector:
        return OrtValueVector(self._results)

    def copy_outputs_to_cpu(self) -> list[Any]:
        """The outputs of the last run as `run` returns them, copied."""
        return [np.copy(v.numpy()) if v.is_tensor() else content_of(v) for v in self._results]

    def clear_binding_inputs(self) -> None:
        self._inputs.clear()

    def clear_binding_outputs(self) -> None:
        self._outputs.clear()
        self._results = []

    @property
    def _iobinding(self) -> Any:
        """onnxruntime's inner binding, which packages read: the same inputs, outputs and results."""
        return SessionIOBinding.over(self)

    def _run(self, run_options):
        """Runs the session. All targets are checked before the first is written."""
        names = list(self._outputs)
        if not names:
            raise CallerError("no output is bound; bind_output(name) requests one")
        results = self._session._run_to_values(names, self._inputs, run_options)
        bound = [(k, target) for k, target in enumerate(self._outputs.values()) if target is not None]
        for k, target in bound:
            if not results[k].is_tensor():
                raise CallerError(f"the output '{names[k]}' is {results[k].data_type()}, which has no memory to copy; bind it without memory")
            check_target(target.numpy(), results[k].numpy(), f"what is bound to the output '{names[k]}'")
        for k, target in bound:
            target.update_inplace(results[k])
            results[k] = target
        self._results = results

    def _checked(self, name, kind):
        """The name, if the session has such an input or output."""
        ports = self._session.get_outputs() if kind == "output" else self._session.get_inputs() + self._session.get_overridable_initializers()
        known = [p.name for p in ports]
        if name not in known:
            raise CallerError(f"there is no {kind} {name!r}; the {kind}s are {', '.join(map(repr, known)) or 'none'}")
        return name


class SessionIOBinding(IOBinding):
    """The inner binding: made from `session._sess`, with devices in place of their names."""

    def __init__(self, session: Any) -> None:
        super().__init__(session._session)

    @classmethod
    def over(cls, binding: IOBinding) -> SessionIOBinding:
        """The inner binding of a binding, whose state both share."""
        made = cls.__new__(cls)
        made.__dict__ = binding.__dict__
        return made

    def bind_input(self, name: str, source: OrtDevice | Any, element_type: ElementType = "f4", shape: Sequence[int] = (), buffer_ptr: int = 0) -> None:  # type: ignore[override]
        """bind_input(name, device, element type, shape, address), or bind_input(name, array)."""
        if isinstance(source, OrtDevice):
            super().bind_input(name, source, 0, element_type, shape, buffer_ptr)
        else:
            self.bind_cpu_input(name, source)

    def bind_output(self, name: str, device: OrtDevice | str = "cpu", *place: Any) -> None:  # type: ignore[override]
        """bind_output(name, device), or bind_output(name, device, element type, shape, address)."""
        super().bind_output(name, device, 0, *place)

    def get_outputs(self) -> OrtValueVector:
        return self.get_outputs_as_ortvaluevector()


def _ort_value(value, name):
    if not isinstance(value, OrtValue):
        raise CallerError(f"'{name}' is bound to a {type(value).__name__}; expected an OrtValue; OrtValue.ortvalue_from_numpy makes one of an array")
    return value
