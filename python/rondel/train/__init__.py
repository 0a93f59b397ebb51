"""Training of ONNX models: a Trainer, losses, optimizers.

>>> import rondel
>>> trainer = rondel.train.Trainer("model.onnx", loss="cross_entropy", optimizer=rondel.train.Adam(lr=1e-3))  # doctest: +SKIP
>>> trainer.fit({"x": images, "labels": labels}, epochs=10, batch_size=32)                                   # doctest: +SKIP
>>> trainer.write_model()                                                                                    # doctest: +SKIP

docs/training.md shows more. Building a trainer needs the package onnx.
"""

from .losses import CrossEntropy, Loss, MeanSquaredError, NegativeLogLikelihood
from .optimizers import SGD, Adagrad, Adam, AdamW, Optimizer
from .trainer import Gradients, Trainer

__all__ = [
    "SGD",
    "Adagrad",
    "Adam",
    "AdamW",
    "CrossEntropy",
    "Gradients",
    "Loss",
    "MeanSquaredError",
    "NegativeLogLikelihood",
    "Optimizer",
    "Trainer",
]
