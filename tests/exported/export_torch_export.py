"""Writes models with loops as torch's newer exporter writes them: torch.export with while_loop, scan and cond.

    pip install torch==2.15.0 onnx==1.23.2 onnxscript==0.7.2
    python export_torch_export.py

States keep their shapes, so tokens, keys and values are rows of buffers that the trips fill.
"""

import sys
import traceback
import warnings
from pathlib import Path

import onnx
import torch
from torch import nn
from torch._higher_order_ops import cond, scan, while_loop
from torch.export import Dim

FOLDER = Path(__file__).parent / "torch_export"
HIDDEN, TOKENS, BEAMS, LONGEST = 16, 24, 4, 64


class Newton(nn.Module):
    def forward(self, a):
        def going(x, step):
            return step.abs().max() > 1e-5

        def body(x, step):
            step = (x * x - a) / (2 * x)
            return x - step, step

        x, _ = while_loop(going, body, (torch.clamp(a, min=1.0), torch.ones_like(a)))
        return x


class Bisection(nn.Module):
    def forward(self, a):
        def going(low, high, trips):
            return ((high - low) > 1e-4).any() & (trips < 60)

        def body(low, high, trips):
            middle = (low + high) / 2
            above = middle * middle > a
            return torch.where(above, low, middle), torch.where(above, middle, high), trips + 1

        low, _, trips = while_loop(going, body, (torch.zeros_like(a), torch.clamp(a, min=1.0), torch.tensor(0)))
        return low, trips


class GreedyGru(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(TOKENS, HIDDEN)
        self.cell = nn.GRUCell(HIDDEN, HIDDEN)
        self.out = nn.Linear(HIDDEN, TOKENS)

    def forward(self, h0, most):
        def going(i, token, h, tokens):
            return (i < most) & (token[0] != 0)

        def body(i, token, h, tokens):
            h = self.cell(self.embedding(token), h)
            token = torch.argmax(self.out(h), dim=-1)
            tokens = torch.where(torch.arange(LONGEST) == i, token, tokens)
            return i + 1, token, h, tokens

        start = torch.tensor(0), torch.ones([1], dtype=torch.long), h0.unsqueeze(0), torch.zeros([LONGEST], dtype=torch.long)
        n, _, h, tokens = while_loop(going, body, start)
        return tokens, n, h[0]


class GreedyCache(nn.Module):
    """Attention over a buffer of keys and values, masked to those written so far."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(TOKENS, HIDDEN)
        self.query, self.key, self.value = (nn.Linear(HIDDEN, HIDDEN) for _ in range(3))
        self.out = nn.Linear(HIDDEN, TOKENS)

    def forward(self, prompt, most):
        n = prompt.size(0)
        x = self.embedding(prompt)
        room = torch.zeros([LONGEST, HIDDEN])
        keys, values = torch.cat([self.key(x), room]), torch.cat([self.value(x), room])
        tokens = torch.cat([prompt, torch.zeros([LONGEST], dtype=torch.long)])
        places = torch.arange(n + LONGEST)

        def going(i, token, tokens, keys, values):
            return (i < most) & (token[0] != 0)

        def body(i, token, tokens, keys, values):
            x = self.embedding(token)
            scores = self.query(x) @ keys.t() / 4.0
            scores = scores.masked_fill(places >= n + i, float("-inf"))
            token = torch.argmax(self.out(x + torch.softmax(scores, dim=-1) @ values), dim=-1)
            x = self.embedding(token)
            here = (places == n + i).unsqueeze(1)
            tokens = torch.where(here[:, 0], token, tokens)
            return i + 1, token, tokens, torch.where(here, self.key(x), keys), torch.where(here, self.value(x), values)

        start = torch.tensor(0), prompt[-1:].clone(), tokens, keys, values
        trips, _, tokens, _, _ = while_loop(going, body, start)
        return tokens, trips


class BeamSearch(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(TOKENS, HIDDEN)
        self.cell = nn.GRUCell(HIDDEN, HIDDEN)
        self.out = nn.Linear(HIDDEN, TOKENS)
        self.register_buffer("only_end", torch.tensor([0.0] + [-1e9] * (TOKENS - 1)))

    def forward(self, h0, most):
        def going(i, last, ended, scores, h, tokens):
            return (i < most) & ~ended.all()

        def body(i, last, ended, scores, h, tokens):
            h = self.cell(self.embedding(last), h)
            chances = torch.log_softmax(self.out(h), dim=-1)
            chances = torch.where(ended.unsqueeze(1), self.only_end, chances)
            scores, flat = torch.topk((scores.unsqueeze(1) + chances).reshape(-1), BEAMS)
            parent, last = flat // TOKENS, flat % TOKENS
            tokens = tokens.index_select(0, parent)
            tokens = torch.where(torch.arange(LONGEST) == i, last.unsqueeze(1), tokens)
            return i + 1, last, ended[parent] | (last == 0), scores, h[parent], tokens

        start = (
            torch.tensor(0),
            torch.ones([BEAMS], dtype=torch.long),
            torch.zeros([BEAMS], dtype=torch.bool),
            torch.tensor([0.0] + [-1e9] * (BEAMS - 1)),
            h0.unsqueeze(0).repeat(BEAMS, 1),
            torch.zeros([BEAMS, LONGEST], dtype=torch.long),
        )
        n, _, _, scores, _, tokens = while_loop(going, body, start)
        return tokens, n, scores


class CtcGreedy(nn.Module):
    """Scans the best classes; a buffer gets those that are no repeats and no blanks."""

    def forward(self, logits):
        best = torch.argmax(logits, dim=-1)
        places = torch.arange(logits.size(0))

        def step(carry, token):
            out, n, last = carry
            keep = (token != last) & (token != 0)
            out = torch.where((places == n) & keep, token, out)
            return (out, n + keep.long(), token.clone()), n.clone()

        (out, n, _), _ = scan(step, (torch.zeros_like(best), torch.tensor(0), torch.tensor(0)), best)
        return out, n


class CtcForward(nn.Module):
    def forward(self, logits, labels):
        chances = torch.log_softmax(logits, dim=-1)
        extended = torch.stack([torch.zeros_like(labels), labels], 1).reshape(-1)
        extended = torch.nn.functional.pad(extended, (0, 1))
        before = torch.nn.functional.pad(extended[:-2], (2, 0), value=-1)
        skips = (extended != 0) & (extended != before)
        start = torch.arange(extended.size(0)) < 2
        alpha = torch.where(start, chances[0][extended], -1e9)

        def step(alpha, now):
            one = torch.nn.functional.pad(alpha[:-1], (1, 0), value=-1e9)
            two = torch.where(skips, torch.nn.functional.pad(alpha[:-2], (2, 0), value=-1e9), -1e9)
            alpha = torch.logsumexp(torch.stack([alpha, one, two]), dim=0) + now[extended]
            return alpha, alpha.clone()

        alpha, _ = scan(step, alpha, chances[1:])
        return torch.logsumexp(alpha[-2:], dim=0)


class Viterbi(nn.Module):
    """One scan forwards, one backwards."""

    def forward(self, emissions, transitions):
        def step(score, emission):
            best, origin = (score.unsqueeze(1) + transitions).max(dim=0)
            return best + emission, origin

        score, back = scan(step, emissions[0].clone(), emissions[1:])
        most, state = score.max(dim=0)

        def walk(state, origin):
            state = origin.index_select(0, state.unsqueeze(0)).squeeze(0)
            return state, state.clone()

        _, path = scan(walk, state, back, reverse=True)
        return torch.cat([path, state.unsqueeze(0)]), most


class Nms(nn.Module):
    def forward(self, boxes, scores):
        area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
        places = torch.arange(boxes.size(0))

        def going(n, scores, kept):
            return (scores > 0.1).any()

        def body(n, scores, kept):
            best = torch.argmax(scores)
            box = boxes.index_select(0, best.unsqueeze(0))[0]
            width = torch.minimum(box[2], boxes[:, 2]) - torch.maximum(box[0], boxes[:, 0])
            height = torch.minimum(box[3], boxes[:, 3]) - torch.maximum(box[1], boxes[:, 1])
            inner = torch.clamp(width, min=0) * torch.clamp(height, min=0)
            overlap = inner / (area.index_select(0, best.unsqueeze(0)) + area - inner + 1e-9)
            scores = torch.where((overlap > 0.5) | (places == best), -1.0, scores)
            return n + 1, scores, torch.where(places == n, best, kept)

        n, _, kept = while_loop(going, body, (torch.tensor(0), scores.clone(), torch.zeros_like(places)))
        return kept, n


class EditDistance(nn.Module):
    """A scan in a scan."""

    def forward(self, a, b):
        first = torch.arange(b.size(0) + 1)

        def row(before, x):
            def element(left, rest):
                y, up, corner = rest
                left = torch.minimum(torch.minimum(up, left) + 1, corner + (x != y).long())
                return left, left.clone()

            start = before[0] + 1
            _, rest = scan(element, start, (b, before[1:], before[:-1]))
            after = torch.cat([start.unsqueeze(0), rest])
            return after, start.clone()

        last, _ = scan(row, first, a)
        return last[-1]


class MaskedGru(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(HIDDEN, HIDDEN)

    def forward(self, x, lengths):
        steps = torch.arange(x.size(1))

        def step(h, inputs):
            t, now = inputs
            h = torch.where((t < lengths).unsqueeze(1), self.cell(now, h), h)
            return h, h.clone()

        h, outputs = scan(step, torch.zeros([x.size(0), HIDDEN]), (steps, x.transpose(0, 1)))
        return outputs.transpose(0, 1), h


class PeepholeLstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.x, self.h = nn.Linear(HIDDEN, 4 * HIDDEN), nn.Linear(HIDDEN, 4 * HIDDEN, bias=False)
        self.peep = nn.Parameter(torch.randn(3, HIDDEN))

    def forward(self, x):
        def step(carry, now):
            h, c = carry
            i, f, g, o = (self.x(now) + self.h(h)).chunk(4, dim=-1)
            i, f = torch.sigmoid(i + c * self.peep[0]), torch.sigmoid(f + c * self.peep[1])
            c = f * c + i * torch.tanh(g)
            h = torch.sigmoid(o + c * self.peep[2]) * torch.tanh(c)
            return (h, c), h.clone()

        zeros = torch.zeros([x.size(1), HIDDEN])
        (_, c), outputs = scan(step, (zeros, zeros.clone()), x)
        return outputs, c


class Ragged(nn.Module):
    """Each segment's softmax, by masks; cond leaves empty segments out."""

    def forward(self, values, lengths):
        places = torch.arange(values.size(0))

        def add(out, inside):
            weights = torch.softmax(values.masked_fill(~inside, float("-inf")), dim=0)
            return torch.where(inside, weights, out)

        def step(carry, size):
            start, out = carry
            inside = (places >= start) & (places < start + size)
            out = cond(inside.any(), add, lambda out, inside: out.clone(), (out, inside))
            return (start + size, out), size.clone()

        (_, out), _ = scan(step, (torch.tensor(0), torch.zeros_like(values)), lengths)
        return out


N, M, B = Dim("n", min=1), Dim("m", min=1), Dim("b", min=1)
PROGRAMS = [
    ("newton", Newton, {"a": (torch.rand(5) + 1, {0: N})}),
    ("bisection", Bisection, {"a": (torch.rand(5) + 1, {0: N})}),
    ("greedy_gru", GreedyGru, {"h0": (torch.rand(16), {}), "most": (torch.tensor(5), {})}),
    ("greedy_cache", GreedyCache, {"prompt": (torch.tensor([1, 2, 3]), {0: N}), "most": (torch.tensor(5), {})}),
    ("beam_search", BeamSearch, {"h0": (torch.rand(16), {}), "most": (torch.tensor(5), {})}),
    ("ctc_greedy", CtcGreedy, {"logits": (torch.rand(7, TOKENS), {0: N})}),
    ("ctc_forward", CtcForward, {"logits": (torch.rand(7, TOKENS), {0: N}), "labels": (torch.tensor([1, 2]), {0: M})}),
    ("viterbi", Viterbi, {"emissions": (torch.rand(7, 8), {0: N}), "transitions": (torch.rand(8, 8), {})}),
    ("nms", Nms, {"boxes": (torch.rand(6, 4), {0: N}), "scores": (torch.rand(6), {0: N})}),
    ("edit_distance", EditDistance, {"a": (torch.tensor([1, 2, 3]), {0: N}), "b": (torch.tensor([1, 3]), {0: M})}),
    ("masked_gru", MaskedGru, {"x": (torch.rand(3, 5, 16), {0: B, 1: N}), "lengths": (torch.tensor([1, 5, 2]), {0: B})}),
    ("peephole_lstm", PeepholeLstm, {"x": (torch.rand(5, 2, 16), {0: N, 1: B})}),
    ("ragged", Ragged, {"values": (torch.rand(9), {0: N}), "lengths": (torch.tensor([2, 3, 4]), {0: M})}),
]


def write(name, module, inputs):
    torch.manual_seed(7)
    program = torch.onnx.export(
        module().eval(),
        tuple(value for value, _ in inputs.values()),
        input_names=list(inputs),
        dynamic_shapes=tuple(axes for _, axes in inputs.values()),
        opset_version=20,
        dynamo=True,
        verbose=False,
    )
    model = program.model_proto
    forget_origins(model)
    onnx.save(model, FOLDER / f"{name}.onnx")


def forget_origins(model):
    """Removes what the exporter notes about each node: most of the file, with stack traces of whoever ran this."""
    graphs = [model.graph, *model.functions]
    while graphs:
        graph = graphs.pop()
        del graph.metadata_props[:]
        for part in [*graph.node, *graph.value_info, *getattr(graph, "input", [])]:
            if hasattr(part, "metadata_props"):
                del part.metadata_props[:]
        for node in graph.node:
            node.ClearField("doc_string")
            graphs += [a.g for a in node.attribute if a.HasField("g")]


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    FOLDER.mkdir(exist_ok=True)
    for name, module, inputs in PROGRAMS:
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        try:
            write(name, module, inputs)
            print("wrote", name)
        except Exception:
            print("cannot export", name)
            traceback.print_exc(limit=-1)
