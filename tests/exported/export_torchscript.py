"""Writes models with loops as torch's older exporter writes them: torch.jit.script and torch.onnx.export(dynamo=False).

    pip install torch==2.15.0 onnx==1.23.2 onnxscript==0.7.2
    python export_torchscript.py
"""

import sys
import traceback
import warnings
from pathlib import Path
from typing import List

import torch
from torch import Tensor, nn

FOLDER = Path(__file__).parent / "torchscript"
HIDDEN, TOKENS = 16, 24


def log_add(a: Tensor, b: Tensor):
    return torch.logsumexp(torch.stack([a, b]), dim=0)


class Gru(nn.Module):
    """nn.GRUCell has no export in a script."""

    def __init__(self):
        super().__init__()
        self.x, self.h = nn.Linear(HIDDEN, 3 * HIDDEN), nn.Linear(HIDDEN, 3 * HIDDEN)

    def forward(self, x: Tensor, h: Tensor):
        xr, xz, xn = self.x(x).chunk(3, dim=-1)
        hr, hz, hn = self.h(h).chunk(3, dim=-1)
        r, z = torch.sigmoid(xr + hr), torch.sigmoid(xz + hz)
        return z * h + (1 - z) * torch.tanh(xn + r * hn)


class Newton(nn.Module):
    def forward(self, a: Tensor):
        x = torch.clamp(a, min=1.0)
        going = True
        while going:
            step = (x * x - a) / (2 * x)
            x = x - step
            going = bool(step.abs().max() > 1e-5)
        return x


class Bisection(nn.Module):
    def forward(self, a: Tensor):
        low, high = torch.zeros_like(a), torch.clamp(a, min=1.0)
        trips = 0
        while bool(((high - low) > 1e-4).any()) and trips < 60:
            middle = (low + high) / 2
            above = middle * middle > a
            low, high = torch.where(above, low, middle), torch.where(above, middle, high)
            trips += 1
        return low, torch.tensor(trips)


class GreedyGru(nn.Module):
    """A list of tokens; a `for` with `break`."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(TOKENS, HIDDEN)
        self.cell = Gru()
        self.out = nn.Linear(HIDDEN, TOKENS)

    def forward(self, h0: Tensor, most: Tensor):
        h = h0.unsqueeze(0)
        token = torch.ones([1], dtype=torch.long)
        tokens: List[Tensor] = []
        for i in range(int(most)):
            h = self.cell(self.embedding(token), h)
            token = torch.argmax(self.out(h), dim=-1)
            tokens.append(token)
            if bool(token[0] == 0):
                break
        return torch.cat(tokens), h[0]


class GreedyCache(nn.Module):
    """Tokens, keys and values grow by torch.cat."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(TOKENS, HIDDEN)
        self.query, self.key, self.value = (nn.Linear(HIDDEN, HIDDEN) for _ in range(3))
        self.out = nn.Linear(HIDDEN, TOKENS)

    def forward(self, prompt: Tensor, most: Tensor):
        x = self.embedding(prompt)
        tokens, keys, values = prompt, self.key(x), self.value(x)
        i, going = 0, True
        while going and i < int(most):
            x = self.embedding(tokens[-1:])
            weights = torch.softmax(self.query(x) @ keys.t() / 4.0, dim=-1)
            token = torch.argmax(self.out(x + weights @ values), dim=-1)
            x = self.embedding(token)
            tokens = torch.cat([tokens, token])
            keys, values = torch.cat([keys, self.key(x)]), torch.cat([values, self.value(x)])
            going = bool(token[0] != 0)
            i += 1
        return tokens


class BeamSearch(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(TOKENS, HIDDEN)
        self.cell = Gru()
        self.out = nn.Linear(HIDDEN, TOKENS)
        self.register_buffer("only_end", torch.tensor([0.0] + [-1e9] * (TOKENS - 1)))

    def forward(self, h0: Tensor, most: Tensor):
        h = h0.unsqueeze(0).expand(4, 16)
        scores = torch.tensor([0.0, -1e9, -1e9, -1e9])
        last = torch.ones([4], dtype=torch.long)
        ended = last == 0
        tokens, parents = torch.zeros([0, 4], dtype=torch.long), torch.zeros([0, 4], dtype=torch.long)
        i = 0
        while i < int(most) and not bool(ended.all()):
            h = self.cell(self.embedding(last), h)
            chances = torch.log_softmax(self.out(h), dim=-1)
            chances = torch.where(ended.unsqueeze(1), self.only_end.unsqueeze(0), chances)
            scores, flat = torch.topk((scores.unsqueeze(1) + chances).reshape(-1), 4)
            parent, last = torch.div(flat, 24, rounding_mode="floor"), flat % 24
            h, ended = h[parent], ended[parent] | (last == 0)
            tokens = torch.cat([tokens, last.unsqueeze(0)])
            parents = torch.cat([parents, parent.unsqueeze(0)])
            i += 1
        path = torch.zeros([0], dtype=torch.long)
        beam = torch.zeros([1], dtype=torch.long)
        for j in range(i):
            path = torch.cat([tokens[i - 1 - j].index_select(0, beam), path])
            beam = parents[i - 1 - j].index_select(0, beam)
        return path, scores


class BeamCache(nn.Module):
    """Beams as rows of sequences and caches, which are reordered and grow in each trip."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(TOKENS, HIDDEN)
        self.query, self.key, self.value = (nn.Linear(HIDDEN, HIDDEN) for _ in range(3))
        self.out = nn.Linear(HIDDEN, TOKENS)

    def forward(self, prompt: Tensor, most: Tensor):
        tokens = prompt.unsqueeze(0).expand(4, -1)
        x = self.embedding(tokens)
        keys, values = self.key(x), self.value(x)
        scores = torch.tensor([0.0, -1e9, -1e9, -1e9])
        for i in range(int(most)):
            x = self.embedding(tokens[:, -1:])
            weights = torch.softmax(torch.bmm(self.query(x), keys.transpose(1, 2)) / 4.0, dim=-1)
            chances = torch.log_softmax(self.out(x + torch.bmm(weights, values))[:, 0], dim=-1)
            scores, flat = torch.topk((scores.unsqueeze(1) + chances).reshape(-1), 4)
            parent, last = torch.div(flat, 24, rounding_mode="floor"), flat % 24
            x = self.embedding(last.unsqueeze(1))
            tokens = torch.cat([tokens[parent], last.unsqueeze(1)], dim=1)
            keys = torch.cat([keys[parent], self.key(x)], dim=1)
            values = torch.cat([values[parent], self.value(x)], dim=1)
        return tokens, scores


class CtcGreedy(nn.Module):
    """Best class of each frame; repeats and blanks (class 0) are left out of a list."""

    def forward(self, logits: Tensor):
        best = torch.argmax(logits, dim=-1)
        out: List[Tensor] = []
        last = torch.zeros([1], dtype=torch.long)
        for t in range(best.size(0)):
            token = best[t : t + 1]
            if bool(token != last) and bool(token != 0):
                out.append(token)
            last = token
        out.append(torch.zeros([1], dtype=torch.long))
        return torch.cat(out)


class CtcCat(nn.Module):
    """The same with a tensor that grows, and without an end mark."""

    def forward(self, logits: Tensor):
        best = torch.argmax(logits, dim=-1)
        out = torch.zeros([0], dtype=torch.long)
        last = 0
        for t in range(best.size(0)):
            token = int(best[t])
            if token != last and token != 0:
                out = torch.cat([out, best[t].unsqueeze(0)])
            last = token
        return out


class CtcForward(nn.Module):
    """The alpha recursion of the CTC loss: log of the probability of the labels."""

    def forward(self, logits: Tensor, labels: Tensor):
        chances = torch.log_softmax(logits, dim=-1)
        n = labels.size(0)
        extended = torch.stack([torch.zeros_like(labels), labels], 1).reshape(-1)
        extended = torch.cat([extended, torch.zeros([1], dtype=torch.long)])
        before = torch.cat([torch.full([2], -1, dtype=torch.long), extended[:-2]])
        skips = (extended != 0) & (extended != before)
        start = torch.arange(2 * n + 1) < 2
        alpha = torch.where(start, chances[0].index_select(0, extended), torch.full([1], -1e9))
        for t in range(1, logits.size(0)):
            one = torch.cat([torch.full([1], -1e9), alpha[:-1]])
            two = torch.where(skips, torch.cat([torch.full([2], -1e9), alpha[:-2]]), torch.full([1], -1e9))
            alpha = torch.logsumexp(torch.stack([alpha, one, two]), dim=0)
            alpha = alpha + chances[t].index_select(0, extended)
        return torch.logsumexp(alpha[-2:], dim=0)


class CtcPrefix(nn.Module):
    """Prefix beam search: beams are rows of padded prefixes; equal prefixes are merged by comparing all pairs."""

    def forward(self, logits: Tensor):
        chances = torch.log_softmax(logits, dim=-1)
        prefixes = torch.zeros([4, 1], dtype=torch.long)
        sizes = torch.zeros([4], dtype=torch.long)
        blank = torch.tensor([0.0, -1e9, -1e9, -1e9])
        label = torch.full([4], -1e9)
        for t in range(logits.size(0)):
            now = chances[t]
            ends = prefixes.gather(1, sizes.unsqueeze(1)).squeeze(1)
            total = log_add(blank, label)
            # A prefix stays by a blank or by a repeat of its last label.
            stay_blank = total + now[0]
            stay_label = torch.where(sizes > 0, label + now.index_select(0, ends), torch.full([1], -1e9))
            # A prefix grows by a label; a repeat needs a blank between.
            repeated = torch.arange(24).unsqueeze(0) == ends.unsqueeze(1)
            grow = torch.where(repeated, blank.unsqueeze(1), total.unsqueeze(1)) + now.unsqueeze(0)
            grow = torch.where((torch.arange(24) == 0).unsqueeze(0), torch.full([1, 1], -1e9), grow)
            # A prefix that grows into another beam's prefix is added to that one.
            longer = sizes.unsqueeze(1) + 1 == sizes.unsqueeze(0)
            place = torch.arange(prefixes.size(1)).unsqueeze(0) < sizes.unsqueeze(1)
            both = prefixes.unsqueeze(1) == prefixes.unsqueeze(0)
            same = torch.logical_and(torch.logical_or(both, ~place.unsqueeze(1)).all(dim=2), longer)
            moved = torch.where(same, grow.index_select(1, ends), torch.full([1, 1], -1e9))
            stay_label = log_add(stay_label, torch.logsumexp(moved, dim=0))
            into = torch.logical_and(torch.arange(24).view(1, 1, 24) == ends.view(1, 4, 1), same.unsqueeze(2))
            grow = torch.where(into.any(dim=1), torch.full([1, 1], -1e9), grow)
            stay = log_add(stay_blank, stay_label)
            candidates = torch.cat([stay.unsqueeze(1), grow], dim=1).reshape(-1)
            _, flat = torch.topk(candidates, 4)
            parent, choice = torch.div(flat, 25, rounding_mode="floor"), flat % 25
            stays = choice == 0
            token = torch.where(stays, torch.zeros([1], dtype=torch.long), choice - 1)
            best_grow = grow.reshape(-1).index_select(0, parent * 24 + token)
            blank = torch.where(stays, stay_blank.index_select(0, parent), torch.full([1], -1e9))
            label = torch.where(stays, stay_label.index_select(0, parent), best_grow)
            sizes = sizes.index_select(0, parent) + torch.where(stays, 0, 1)
            prefixes = prefixes.index_select(0, parent)
            prefixes = torch.cat([prefixes, torch.zeros([4, 1], dtype=torch.long)], dim=1)
            at = torch.arange(prefixes.size(1)).unsqueeze(0) == sizes.unsqueeze(1)
            prefixes = torch.where(torch.logical_and(at, ~stays.unsqueeze(1)), token.unsqueeze(1), prefixes)
        return prefixes[0, 1:], sizes[0], log_add(blank, label)


class Viterbi(nn.Module):
    def forward(self, emissions: Tensor, transitions: Tensor):
        score = emissions[0]
        back: List[Tensor] = []
        for t in range(1, emissions.size(0)):
            best, origin = (score.unsqueeze(1) + transitions).max(dim=0)
            back.append(origin)
            score = best + emissions[t]
        most, state = score.max(dim=0)
        path = [state]
        for k in range(len(back)):
            state = back[len(back) - 1 - k][state]
            path.append(state)
        return torch.stack(path).flip(0), most


class ViterbiTensor(nn.Module):
    """The same with back pointers in a tensor that is written by index."""

    def forward(self, emissions: Tensor, transitions: Tensor):
        frames = emissions.size(0)
        score = emissions[0]
        back = torch.zeros([frames, emissions.size(1)], dtype=torch.long)
        for t in range(1, frames):
            best, origin = (score.unsqueeze(1) + transitions).max(dim=0)
            back[t] = origin
            score = best + emissions[t]
        most, state = score.max(dim=0)
        path = torch.zeros([frames], dtype=torch.long)
        for k in range(frames):
            t = frames - 1 - k
            path[t] = state
            state = back[t].index_select(0, state.unsqueeze(0)).squeeze(0)
        return path, most


class Nms(nn.Module):
    def forward(self, boxes: Tensor, scores: Tensor):
        kept: List[Tensor] = []
        area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
        while bool((scores > 0.1).any()):
            best = torch.argmax(scores)
            box = boxes[best]
            width = torch.min(box[2], boxes[:, 2]) - torch.max(box[0], boxes[:, 0])
            height = torch.min(box[3], boxes[:, 3]) - torch.max(box[1], boxes[:, 1])
            inner = torch.clamp(width, min=0) * torch.clamp(height, min=0)
            overlap = inner / (area[best] + area - inner + 1e-9)
            scores = torch.where(overlap > 0.5, torch.full([1], -1.0), scores)
            scores = torch.where(torch.arange(scores.size(0)) == best, torch.full([1], -1.0), scores)
            kept.append(best)
        return torch.stack(kept)


class NmsShrinking(nn.Module):
    """Boxes that are left get fewer in each trip: the mask selects among them."""

    def forward(self, boxes: Tensor, scores: Tensor):
        order = torch.argsort(scores, descending=True)
        kept = torch.zeros([0], dtype=torch.long)
        while order.size(0) > 0:
            best = order[0:1]
            kept = torch.cat([kept, best])
            rest = order[1:]
            box, others = boxes[best], boxes[rest]
            size = torch.min(box[:, 2:], others[:, 2:]) - torch.max(box[:, :2], others[:, :2])
            inner = torch.clamp(size, min=0).prod(dim=1)
            area = (others[:, 2:] - others[:, :2]).prod(dim=1) + (box[:, 2:] - box[:, :2]).prod(dim=1)
            order = rest[inner / (area - inner) <= 0.5]
        return kept


class EditDistance(nn.Module):
    """Lists of integers."""

    def forward(self, a: Tensor, b: Tensor):
        n = b.size(0)
        row = torch.arange(n + 1)
        for i in range(a.size(0)):
            left = torch.zeros([1], dtype=torch.long) + (i + 1)
            fresh = [left]
            for j in range(n):
                cost = (a[i] != b[j]).long()
                left = torch.min(torch.min(row[j + 1] + 1, left + 1), row[j] + cost)
                fresh.append(left)
            row = torch.cat(fresh)
        return row[-1]


class EditTable(nn.Module):
    """The same with a table that is written by index."""

    def forward(self, a: Tensor, b: Tensor):
        table = torch.zeros([a.size(0) + 1, b.size(0) + 1], dtype=torch.long)
        table[0] = torch.arange(b.size(0) + 1)
        table[:, 0] = torch.arange(a.size(0) + 1)
        for i in range(a.size(0)):
            for j in range(b.size(0)):
                cost = (a[i] != b[j]).long()
                least = torch.min(table[i, j + 1] + 1, table[i + 1, j] + 1)
                table[i + 1, j + 1] = torch.min(least, table[i, j] + cost)
        return table[-1, -1]


class MaskedGru(nn.Module):
    """A list of the outputs, which are stacked."""

    def __init__(self):
        super().__init__()
        self.cell = Gru()

    def forward(self, x: Tensor, lengths: Tensor):
        h = torch.zeros([x.size(0), 16])
        outputs: List[Tensor] = []
        for t in range(x.size(1)):
            h = torch.where((t < lengths).unsqueeze(1), self.cell(x[:, t], h), h)
            outputs.append(h)
        return torch.stack(outputs, dim=1), h


class PackedGru(nn.Module):
    """nn.GRU over padded sequences, packed, which only tracing exports."""

    traced = True

    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(HIDDEN, HIDDEN, batch_first=True)

    def forward(self, x: Tensor, lengths: Tensor):
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
        out, h = self.gru(packed)
        return nn.utils.rnn.pad_packed_sequence(out, batch_first=True)[0], h


class PeepholeLstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.x, self.h = nn.Linear(HIDDEN, 4 * HIDDEN), nn.Linear(HIDDEN, 4 * HIDDEN, bias=False)
        self.peep = nn.Parameter(torch.randn(3, HIDDEN))

    def forward(self, x: Tensor):
        h, c = torch.zeros([x.size(1), 16]), torch.zeros([x.size(1), 16])
        outputs: List[Tensor] = []
        for t in range(x.size(0)):
            i, f, g, o = (self.x(x[t]) + self.h(h)).chunk(4, dim=-1)
            i, f = torch.sigmoid(i + c * self.peep[0]), torch.sigmoid(f + c * self.peep[1])
            c = f * c + i * torch.tanh(g)
            h = torch.sigmoid(o + c * self.peep[2]) * torch.tanh(c)
            outputs.append(h)
        return torch.stack(outputs), c


class Ragged(nn.Module):
    """Each segment's softmax, in a list."""

    def forward(self, values: Tensor, lengths: Tensor):
        out: List[Tensor] = []
        start = 0
        for k in range(lengths.size(0)):
            size = int(lengths[k])
            out.append(torch.softmax(values[start : start + size], dim=0))
            start += size
        return torch.cat(out)


VECTOR = {0: "n"}
PROGRAMS = [
    ("newton", Newton, {"a": (torch.rand(5) + 1, VECTOR)}),
    ("bisection", Bisection, {"a": (torch.rand(5) + 1, VECTOR)}),
    ("greedy_gru", GreedyGru, {"h0": (torch.rand(16), {}), "most": (torch.tensor(5), {})}),
    ("greedy_cache", GreedyCache, {"prompt": (torch.tensor([1, 2, 3]), VECTOR), "most": (torch.tensor(5), {})}),
    ("beam_search", BeamSearch, {"h0": (torch.rand(16), {}), "most": (torch.tensor(5), {})}),
    ("beam_cache", BeamCache, {"prompt": (torch.tensor([1, 2, 3]), VECTOR), "most": (torch.tensor(5), {})}),
    ("ctc_greedy", CtcGreedy, {"logits": (torch.rand(7, TOKENS), VECTOR)}),
    ("ctc_greedy-cat", CtcCat, {"logits": (torch.rand(7, TOKENS), VECTOR)}),
    ("ctc_prefix", CtcPrefix, {"logits": (torch.rand(7, TOKENS), VECTOR)}),
    ("ctc_forward", CtcForward, {"logits": (torch.rand(7, TOKENS), VECTOR), "labels": (torch.tensor([1, 2]), {0: "m"})}),
    ("viterbi", Viterbi, {"emissions": (torch.rand(7, 8), {0: "n", 1: "s"}), "transitions": (torch.rand(8, 8), {0: "s", 1: "s"})}),
    ("viterbi-tensor", ViterbiTensor, {"emissions": (torch.rand(7, 8), {0: "n", 1: "s"}), "transitions": (torch.rand(8, 8), {0: "s", 1: "s"})}),
    ("nms", Nms, {"boxes": (torch.rand(6, 4), VECTOR), "scores": (torch.rand(6), VECTOR)}),
    ("nms-shrinking", NmsShrinking, {"boxes": (torch.rand(6, 4), VECTOR), "scores": (torch.rand(6), VECTOR)}),
    ("edit_distance", EditDistance, {"a": (torch.tensor([1, 2, 3]), VECTOR), "b": (torch.tensor([1, 3]), {0: "m"})}),
    ("edit_distance-table", EditTable, {"a": (torch.tensor([1, 2, 3]), VECTOR), "b": (torch.tensor([1, 3]), {0: "m"})}),
    ("masked_gru", MaskedGru, {"x": (torch.rand(3, 5, 16), {0: "b", 1: "n"}), "lengths": (torch.tensor([1, 5, 2]), {0: "b"})}),
    ("masked_gru-packed", PackedGru, {"x": (torch.rand(3, 5, 16), {0: "b", 1: "n"}), "lengths": (torch.tensor([1, 5, 2]), {0: "b"})}),
    ("peephole_lstm", PeepholeLstm, {"x": (torch.rand(5, 2, 16), {0: "n", 1: "b"})}),
    ("ragged", Ragged, {"values": (torch.rand(9), VECTOR), "lengths": (torch.tensor([2, 3, 4]), {0: "k"})}),
]


def write(name, module, inputs):
    torch.manual_seed(7)
    program = module().eval()
    if not hasattr(module, "traced"):
        program = torch.jit.script(program)
    torch.onnx.export(
        program,
        tuple(value for value, _ in inputs.values()),
        FOLDER / f"{name}.onnx",
        input_names=list(inputs),
        dynamic_axes={name: axes for name, (_, axes) in inputs.items() if axes},
        opset_version=17,
        dynamo=False,
    )


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
