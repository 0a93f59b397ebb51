"""Models as differentiable functions of torch tensors. Needs torch: python -m pip install torch."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

import numpy as np

try:
    import torch
except ModuleNotFoundError:
    raise ModuleNotFoundError("rondel.torch needs the package torch: python -m pip install torch", name="torch") from None

from .errors import CallerError
from .gradients import grad_bytes, is_of_floats
from .models import Model, model_source
from .options import RunOptions, SessionOptions
from .rewriting import without_changes
from .session import InferenceSession


class Function:
    """A model as a function of torch tensors that supports torch's autograd.

    model: path, bytes, ModelProto, session or network. wrt: names of the inputs that receive gradients; None: all inputs of floats. checkpoint,
    sess_options: as in `rondel.grad` and `rondel.InferenceSession`.

    It is called with tensors in the order of the model's inputs, or by name. It returns the model's output, or a tuple if there are
    several. Tensors are on the CPU; they are read in place, and results are returned without a copy (DLPack).
    Only outputs of floats have gradients; second derivatives are not supported. Each call draws the seed of the model's random ops from
    torch's generator, so `torch.manual_seed` makes them reproducible; backward draws the same numbers as forward. Backward runs the model
    once more, together with its gradient by the inputs that need one. That model is made and compiled when it is first needed.
    """

    def __init__(
        self,
        model: Model,
        wrt: str | Iterable[str] | None = None,
        *,
        checkpoint: str | int = "none",
        sess_options: SessionOptions | None = None,
    ) -> None:
        self._source = model_source(model)
        self._options, self._checkpoint = copy.deepcopy(sess_options), checkpoint
        self._session = InferenceSession(self._source, sess_options)
        self.inputs = [p.name for p in self._session.get_inputs()]
        self.outputs = [p.name for p in self._session.get_outputs()]
        floats = [p.name for p in self._session.get_inputs() if is_of_floats(p)]
        wanted = floats if wrt is None else [wrt] if isinstance(wrt, str) else list(wrt)
        for name in wanted:
            if name not in floats:
                raise CallerError(f"wrt names {name!r}, which is no input of floats; there are {', '.join(map(repr, floats)) or 'none'}")
        self.wrt = wanted
        self._seeded = {p.name: f"gradient of {p.name}" for p in self._session.get_outputs() if is_of_floats(p)}
        self._gradients = {}

    def __call__(self, *tensors: torch.Tensor, **named: torch.Tensor) -> Any:
        found = _Run.apply(self, *self._ordered(tensors, named))
        return found[0] if len(found) == 1 else found

    def _ordered(self, tensors, named):
        if len(tensors) > len(self.inputs):
            raise CallerError(f"the model has {len(self.inputs)} inputs, {', '.join(self.inputs)}; {len(tensors)} are given")
        given = dict(zip(self.inputs, tensors))
        for name, x in named.items():
            if name in given or name not in self.inputs:
                what = "given twice" if name in given else f"no input; the inputs are {', '.join(self.inputs)}"
                raise CallerError(f"'{name}' is {what}")
            given[name] = x
        missing = [name for name in self.inputs if name not in given]
        if missing:
            raise CallerError(f"input '{missing[0]}' is missing")
        return [x if isinstance(x, torch.Tensor) else torch.as_tensor(x) for x in (given[name] for name in self.inputs)]

    def _gradient(self, names):
        """A session that computes the gradient by these inputs, from seeds for all outputs of floats."""
        if names not in self._gradients:
            model = grad_bytes(
                self._source,
                names,
                list(self._seeded),
                list(self._seeded.values()),
                checkpoint=self._checkpoint,
                prefix="gradient by ",
                sess_options=self._options,
            )
            self._gradients[names] = InferenceSession(model, without_changes(self._options))
        return self._gradients[names]


class _Run(torch.autograd.Function):
    @staticmethod
    def forward(context, function, *tensors):
        context.function = function
        context.save_for_backward(*tensors)
        feeds = dict(zip(function.inputs, (x.detach() for x in tensors)))
        context.options = RunOptions()
        context.options.seed = int(torch.randint(2**62, ()))
        found = tuple(_tensor(y) for y in function._session.run(None, feeds, context.options))
        context.outputs = [(y.shape, y.dtype) for y in found]
        context.mark_non_differentiable(*(y for y, name in zip(found, function.outputs) if name not in function._seeded))
        return found

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(context, *adjoints):
        function, tensors = context.function, context.saved_tensors
        needed = context.needs_input_grad[1:]
        names = tuple(name for name, need in zip(function.inputs, needed) if need and name in function.wrt)
        gradients = {}
        if names:
            feeds = dict(zip(function.inputs, (x.detach() for x in tensors)))
            for name, adjoint, (shape, dtype) in zip(function.outputs, adjoints, context.outputs):
                if name in function._seeded:
                    seed = torch.zeros(shape, dtype=dtype) if adjoint is None else adjoint.detach()
                    feeds[function._seeded[name]] = seed
            made = function._gradient(names).run([f"gradient by {name}" for name in names], feeds, context.options)
            gradients = dict(zip(names, map(_tensor, made)))
        return (None, *(gradients.get(name) for name in function.inputs))


def _tensor(array):
    """A tensor over the memory of an array."""
    if not isinstance(array, np.ndarray):
        raise CallerError(f"an output is a {type(array).__name__}, which torch has no tensor for")
    if array.dtype.name == "bfloat16":  # NumPy does not export it through DLPack
        return torch.from_dlpack(array.view(np.int16)).view(torch.bfloat16)
    if array.dtype == np.bool_:  # torch before 2.1 does not import it
        return torch.from_dlpack(array.view(np.uint8)).view(torch.bool)
    return torch.from_dlpack(array)
