"""Trains a character-level LSTM on this project's documentation, and generates text with it.

For training, the LSTM is written out as an ONNX Scan. For generation, the same cell runs in an ONNX Loop, which samples one character
after another from the network's distribution. Both run in Rondel, with the same weight tensors.
"""

import argparse
from pathlib import Path

import numpy as np
import onnx.parser
from onnx import numpy_helper

import rondel

CELL = """
      from_input = Gather <axis = 0> (w, symbol)
      from_state = MatMul (h, r)
      sum = Add (from_input, from_state)
      gates = Add (sum, b)
      i_in, o_in, f_in, g_in = Split <axis = 1, num_outputs = 4> (gates)
      i = Sigmoid (i_in)
      o = Sigmoid (o_in)
      f = Sigmoid (f_in)
      g = Tanh (g_in)
      kept = Mul (f, c)
      added = Mul (i, g)
      c1 = Add (kept, added)
      shown = Tanh (c1)
      h1 = Mul (o, shown)
"""
# symbols: [time, batch]; logits: one row for each next symbol
READER = f"""
<ir_version: 10, opset_import: ["" : 21]>
reader (int64[T, B] symbols) => (float[N, V] logits) <int64[1] minus_one = {{-1}}, int64[1] one = {{1}}, int64[2] rows = {{-1, HIDDEN}}> {{
  size = Shape (symbols)
  batch = Gather (size, one)
  hidden = Constant <value_ints = [HIDDEN]> ()
  shape = Concat <axis = 0> (batch, hidden)
  zeros = ConstantOfShape (shape)
  h_last, c_last, states = Scan <num_scan_inputs = 1, body = cell (float[B, HIDDEN] h, float[B, HIDDEN] c, int64[B] symbol) => (float[B, HIDDEN] h1, float[B, HIDDEN] c1, float[B, HIDDEN] seen) {{
{CELL}
      seen = Identity (h1)
  }}> (zeros, zeros, symbols)
  flat = Reshape (states, rows)
  scores = MatMul (flat, out)
  logits = Add (scores, out_b)
}}"""
WRITER = f"""
<ir_version: 10, opset_import: ["" : 21]>
writer (int64 length, int64[1] start, float temperature) => (int64[length, 1] text) <bool yes = {{1}}> {{
  shape = Constant <value_ints = [1, HIDDEN]> ()
  zeros = ConstantOfShape (shape)
  h_last, c_last, symbol_last, text = Loop (length, yes, zeros, zeros, start) <body = write (int64 trip, bool go, float[1, HIDDEN] h, float[1, HIDDEN] c, int64[1] symbol) => (bool on, float[1, HIDDEN] h1, float[1, HIDDEN] c1, int64[1] next, int64[1] written) {{
{CELL}
      on = Identity (go)
      scores = MatMul (h1, out)
      logits = Add (scores, out_b)
      cooled = Div (logits, temperature)
      chances = LogSoftmax <axis = 1> (cooled)
      drawn = Multinomial <dtype = 7, sample_size = 1> (chances)
      flat = Constant <value_ints = [-1]> ()
      next = Reshape (drawn, flat)
      written = Identity (next)
  }}>
}}"""


def corpus():
    """The text of README.md and docs/."""
    root = Path(__file__).resolve().parents[1]
    pages = [root / "README.md", *sorted((root / "docs").glob("*.md"))]
    return "\n".join(page.read_text(encoding="utf-8") for page in pages)


def with_weights(text, hidden, weights):
    model = onnx.parser.parse_model(text.replace("HIDDEN", str(hidden)))
    model.graph.initializer.extend(numpy_helper.from_array(np.array(x, np.float32), name) for name, x in weights.items())
    return model


def initial_weights(symbols, hidden, seed):
    random = np.random.default_rng(seed)
    shapes = {"w": (symbols, 4 * hidden), "r": (hidden, 4 * hidden), "out": (hidden, symbols)}
    weights = {name: random.uniform(-1, 1, shape) / np.sqrt(hidden) for name, shape in shapes.items()}
    forget = np.repeat([0, 0, 1, 0], hidden)  # forget gates begin open
    return weights | {"b": forget, "out_b": np.zeros(symbols)}


def batches(text, steps, time, batch, seed):
    """Batches of random pieces of the text: characters, and the next character of each."""
    random = np.random.default_rng(seed)
    for _ in range(steps):
        places = random.integers(0, len(text) - time - 1, batch)
        piece = text[places[None, :] + np.arange(time + 1)[:, None]]
        yield {"symbols": piece[:-1], "labels": piece[1:].reshape(-1)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=800, help="steps of the optimizer (800)")
    parser.add_argument("--hidden", type=int, default=128, help="size of the LSTM's states (128)")
    parser.add_argument("--time", type=int, default=48, help="characters that the gradient goes back (48)")
    parser.add_argument("--batch", type=int, default=32, help="pieces of text in a step (32)")
    parser.add_argument("--length", type=int, default=400, help="characters to write (400)")
    parser.add_argument("--temperature", type=float, default=0.7, help="below 1: likely characters become likelier (0.7)")
    parser.add_argument("--seed", type=int, default=0, help="of the first weights, the pieces and the sampling (0)")
    options = parser.parse_args()

    text = corpus()
    alphabet = sorted(set(text))
    numbers = np.array([alphabet.index(c) for c in text], np.int64)
    weights = initial_weights(len(alphabet), options.hidden, options.seed)
    trainer = rondel.train.Trainer(
        with_weights(READER, options.hidden, weights),
        loss="cross_entropy",
        optimizer=rondel.train.Adam(lr=2e-2),
        clip_norm=1.0,
        schedule=lambda step: 1 - 0.9 * step / options.steps,
    )
    print(f"{len(text)} characters, {len(alphabet)} of them different")
    for step, batch in enumerate(batches(numbers, options.steps, options.time, options.batch, options.seed), 1):
        loss = trainer.step(batch)
        if step == 1 or step % 100 == 0 or step == options.steps:
            print(f"step {step}: {loss / np.log(2):.3f} bits a character", flush=True)

    writer = rondel.InferenceSession(with_weights(WRITER, options.hidden, trainer.parameters))
    how = rondel.RunOptions()
    how.seed = options.seed
    feeds = {"length": options.length, "start": [alphabet.index("\n")], "temperature": options.temperature}
    (written,) = writer.run(None, feeds, how)
    print("".join(alphabet[k] for k in written[:, 0]))


if __name__ == "__main__":
    main()
