"""Losses, which a Trainer appends to a model that computes predictions. Each loss is one or a few ONNX ops."""

from __future__ import annotations

import math

import numpy as np

from ..counts import argument_text, whole
from ..errors import CallerError
from . import checks
from .batches import extents

_REDUCTIONS = ("mean", "sum")


class Loss:
    """Base of the losses.

    output: the output of the model that is compared with the target; None: its only output.
    target: the name of the input for the target; a new input is added if the model has none of this name.
    """

    _labels = False  # whether targets are class numbers, int64, rather than tensors like the output

    def __init__(self, output: str | None, target: str, reduction: str) -> None:
        self.output = output
        self.target = target
        self.reduction = checks.choice("reduction", reduction, _REDUCTIONS)

    def _nodes(self, helper):
        """Nodes of opset 21 that compute `loss` from `output` and `target`."""
        raise NotImplementedError

    def _terms(self, batch):
        """The number of terms of a batch's mean, up to a factor that is the same for all batches; None: it is not known."""
        return math.prod(extents(batch[self.target])) if self.target in batch else None

    def _check(self, batch, classes):
        """Raises CallerError for targets that the ops would take for others, or refuse. classes: None if their number is not known."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"


class CrossEntropy(Loss):
    """The cross entropy of logits f32[N, C, ...] and labels i64[N, ...]: ONNX's SoftmaxCrossEntropyLoss.

    ignore_index: labels with this value do not contribute to the sum or to the mean. Other labels outside [0, C) are an error.
    """

    _labels = True
    _op = "SoftmaxCrossEntropyLoss"

    def __init__(self, output: str | None = None, target: str = "labels", reduction: str = "mean", *, ignore_index: int | None = None) -> None:
        super().__init__(output, target, reduction)
        self.ignore_index = None if ignore_index is None else whole(ignore_index)
        if ignore_index is not None and self.ignore_index is None:
            raise CallerError(f"train: ignore_index is {argument_text(ignore_index)}; expected an integer or None")

    def _nodes(self, helper):
        more = {} if self.ignore_index is None else {"ignore_index": self.ignore_index}
        return [
            helper.make_node("Shape", ["output"], ["rows"], end=1),
            helper.make_node("Shape", ["output"], ["rest"], start=2),
            helper.make_node("Concat", ["rows", "rest"], ["shape"], axis=0),
            # The op alone takes fewer labels than rows: Reshape refuses another number of them, and Max the same number in another shape.
            helper.make_node("Reshape", ["target", "shape"], ["shaped"], name=self.target),
            helper.make_node("Max", ["target", "shaped"], ["checked"], name=f"shape of {self.target}"),
            helper.make_node(self._op, ["output", "checked"], ["loss"], reduction=self.reduction, **more),
        ]

    def _terms(self, batch):
        if self.ignore_index is None or self.target not in batch:
            return super()._terms(batch)
        return int(np.count_nonzero(np.asarray(batch[self.target]) != self.ignore_index))

    def _check(self, batch, classes):
        """The op counts negative labels from the last class."""
        labels = np.asarray(batch.get(self.target, 0))
        if labels.dtype.kind not in "iu":
            return
        outside = (labels < 0) if classes is None else (labels < 0) | (labels >= classes)
        wrong = labels[outside & (labels != self.ignore_index)]
        if wrong.size:
            expected = "0 or more" if classes is None else f"0 to {classes - 1}, the classes of the output"
            ignored = "no label is ignored" if self.ignore_index is None else f"{self.ignore_index} is ignored"
            raise CallerError(f"train: {self.target!r} has the label {wrong[0]}; expected {expected} ({ignored}; see ignore_index)")


class NegativeLogLikelihood(CrossEntropy):
    """The same for log-probabilities, such as the output of LogSoftmax: ONNX's NegativeLogLikelihoodLoss."""

    _op = "NegativeLogLikelihoodLoss"


class MeanSquaredError(Loss):
    """The mean (or sum) of (output - target)^2 over all elements. The target has the dtype and the number of elements of the output."""

    def __init__(self, output: str | None = None, target: str = "target", reduction: str = "mean") -> None:
        super().__init__(output, target, reduction)

    def _nodes(self, helper):
        reduce = "ReduceMean" if self.reduction == "mean" else "ReduceSum"
        return [
            helper.make_node("Shape", ["output"], ["shape"]),
            helper.make_node("Reshape", ["target", "shape"], ["shaped"], name=self.target),  # a target of another size is an error, not broadcast
            helper.make_node("Sub", ["output", "shaped"], ["error"]),
            helper.make_node("Mul", ["error", "error"], ["square"]),
            helper.make_node(reduce, ["square"], ["loss"], keepdims=0),
        ]


BY_NAME = {
    "cross_entropy": CrossEntropy,
    "softmax_cross_entropy": CrossEntropy,
    "nll": NegativeLogLikelihood,
    "mse": MeanSquaredError,
}
