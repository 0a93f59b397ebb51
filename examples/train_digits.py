"""Trains a small convolutional network on scikit-learn's handwritten digits, and writes the weights into its ONNX file.

The network is ONNX text; its loss, its gradient and the optimizer are one compiled graph. A third of the images is held out for testing.
"""

import argparse
from pathlib import Path

import numpy as np
import onnx.parser
from onnx import numpy_helper
from sklearn.datasets import load_digits

import rondel

NETWORK = """
<ir_version: 10, opset_import: ["" : 21]>
digits (float[N, 1, 8, 8] image) => (float[N, 10] logits) {
  c1 = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (image, filters1, bias1)
  r1 = Relu (c1)
  p1 = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (r1)
  c2 = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (p1, filters2, bias2)
  r2 = Relu (c2)
  flat = Flatten (r2)
  logits = Gemm (flat, weights, bias)
}"""
SHAPES = {"filters1": (16, 1, 3, 3), "bias1": (16,), "filters2": (32, 16, 3, 3), "bias2": (32,), "weights": (512, 10), "bias": (10,)}


def network(seed):
    """The network with random weights, scaled to preserve variances (He et al., 2015)."""
    model, random = onnx.parser.parse_model(NETWORK), np.random.default_rng(seed)
    for name, shape in SHAPES.items():
        inputs = shape[0] if name == "weights" else np.prod(shape[1:])
        values = random.normal(size=shape) * np.sqrt(2 / inputs) if len(shape) > 1 else np.zeros(shape)
        model.graph.initializer.append(numpy_helper.from_array(values.astype(np.float32), name))
    return model


def data(seed):
    """(images, labels) for training, and the same held out for testing."""
    digits = load_digits()
    order = np.random.default_rng(seed).permutation(len(digits.target))
    images = (digits.images[order, None] / 16).astype(np.float32)
    labels = digits.target[order].astype(np.int64)
    held_out = len(labels) // 3
    return (images[held_out:], labels[held_out:]), (images[:held_out], labels[:held_out])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=15, help="passes over the images (15)")
    parser.add_argument("--seed", type=int, default=0, help="of the first weights and of the split (0)")
    parser.add_argument("--model", type=Path, default=Path("digits.onnx"), help="the file to write (digits.onnx)")
    options = parser.parse_args()

    (images, labels), (unseen, wanted) = data(options.seed)
    onnx.save(network(options.seed), options.model)
    steps = options.epochs * -(-len(labels) // 32)
    trainer = rondel.train.Trainer(
        options.model,
        loss="cross_entropy",
        optimizer=rondel.train.AdamW(lr=5e-3, weight_decay=0.1),
        schedule=lambda step: 0.5 * (1 + np.cos(np.pi * step / steps)),
        seed=options.seed,
    )
    trainer.fit({"image": images, "labels": labels}, epochs=options.epochs, batch_size=32)
    trainer.write_model()

    (logits,) = rondel.InferenceSession(options.model).run(None, {"image": unseen})
    right = np.mean(logits.argmax(1) == wanted)
    print(f"{options.model}: {100 * right:.1f} % of {len(wanted)} held-out images are right")


if __name__ == "__main__":
    main()
