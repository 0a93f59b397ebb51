"""Writes decoder.onnx: a decoder with a loop, as torch exports it, with random weights.

    pip install torch==2.15.0 onnx==1.23.2 onnxscript==0.7.2
    python export_decoder.py
"""

import warnings
from pathlib import Path
from typing import List

import torch
from torch import Tensor, nn

HIDDEN, TOKENS = 32, 32


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(TOKENS, HIDDEN)
        self.x, self.h = nn.Linear(HIDDEN, 3 * HIDDEN), nn.Linear(HIDDEN, 3 * HIDDEN)
        self.out = nn.Linear(HIDDEN, TOKENS)

    def cell(self, token: Tensor, h: Tensor):
        xr, xz, xn = self.x(self.embedding(token)).chunk(3, dim=-1)
        hr, hz, hn = self.h(h).chunk(3, dim=-1)
        z = torch.sigmoid(xz + hz)
        return z * h + (1 - z) * torch.tanh(xn + torch.sigmoid(xr + hr) * hn)

    def forward(self, tokens: Tensor, most: Tensor):
        """What follows each token (logits [n, TOKENS]), and the most likely text after them, up to token 0."""
        h = before = torch.zeros([1, self.out.in_features])
        seen: List[Tensor] = []
        for i in range(tokens.size(0)):
            before = h
            h = self.cell(tokens[i : i + 1], h)
            seen.append(self.out(h))

        h, token = before, tokens[-1:]
        text: List[Tensor] = []
        for i in range(int(most)):
            h = self.cell(token, h)
            token = torch.argmax(self.out(h), dim=-1)
            text.append(token)
            if bool(token[0] == 0):
                break
        return torch.cat(seen), torch.cat(text)


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    torch.manual_seed(7)
    torch.onnx.export(
        torch.jit.script(Decoder().eval()),
        (torch.tensor([1, 2, 3]), torch.tensor(5)),
        Path(__file__).with_name("decoder.onnx"),
        input_names=["tokens", "most"],
        output_names=["logits", "text"],
        dynamic_axes={"tokens": {0: "n"}, "logits": {0: "n"}, "text": {0: "m"}},
        opset_version=17,
        dynamo=False,
    )
