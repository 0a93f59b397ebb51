"""A program of a seed: a model, sets of feeds, and what the oracle gives for each of them."""

from __future__ import annotations

import contextlib
import random
from dataclasses import dataclass, field
from functools import cached_property

import machine
import numpy as np
from models import ops_of

from . import composed, control, declaring, growing, kept, listing, moving, ranking, straight
from .blocks import Block, Writer
from .moods import HUGE
from .values import BOOL, I64, STRING, Unfit

FAMILIES = {**straight.FAMILIES, **moving.FAMILIES, **growing.FAMILIES, **composed.FAMILIES, **listing.FAMILIES, **ranking.FAMILIES, **control.FAMILIES}
MOST_STEPS, LARGEST = 60_000, 1 << 16  #: nodes of one run, elements of one tensor
KEPT = 0.08  #: the share of programs that are kept ones with other feeds


class Feeds(dict):
    """The inputs of one run by name. other: whether the program was not written with them."""

    other = False


@dataclass
class Case:
    """Feeds, and the outputs that the oracle gives for them.

    want: None if the oracle refuses the feeds, also because results depend on the order of evaluation. sure: whether every shape in the
    run is certain (see machine/zero_trips.py). What a file declares of an item is true for the feeds that the program was written with;
    for others it may be wrong where there is no trip.
    """

    feeds: Feeds
    want: list | None
    sure: bool = True


@dataclass
class Program:
    """exact: whether results are compared with the oracle's bit for bit; else only among the ways to run it."""

    seed: int | str
    model: object
    cases: list = field(default_factory=list)
    exact: bool = True

    @property
    def outputs(self):
        return [o.name for o in self.model.graph.output]

    @cached_property
    def contracts(self):
        """Whether ways may round differently: the fast convolution contracts. It has the interpreter's bits where the oracle says that sums are exact."""
        return "Conv" in ops_of(self.model)


class Rejected(Exception):
    """The program of a seed does not run on the oracle."""


def program(seed):
    """The program of a seed. Raises Rejected if it is thrown away."""
    rng = random.Random(f"kept {seed}")
    with np.errstate(all="ignore"):
        return _kept(seed, rng) if rng.random() < KEPT else _written(seed)


def _kept(seed, rng):
    """A program that once showed a fault, with feeds of its own and others."""
    text, cases = rng.choice(list(kept.PROGRAMS.values()))
    model = kept.model_of(text)
    own = [case for case in cases if case[1] is not None]
    own = rng.sample(own, min(len(own), 3))
    made = Program(seed, model, [Case(Feeds(feeds), kept.results(model.graph, want)) for feeds, want in own])
    graph, functions = machine.read_model(model)
    for _ in range(rng.choice([1, 2])):
        feeds = Feeds(kept.feeds_like(rng, model.graph, rng.choice(own)[0]))
        feeds.other = True
        with contextlib.suppress(machine.TooLong):
            made.cases.append(_case(graph, functions, feeds)[0])
    return made


def _written(seed):
    writer = Writer(seed, FAMILIES)
    root = Block(writer)
    inputs = _inputs(writer, root)
    root.fill(writer.mood.length)
    for _ in range(3):
        if not any(node.op in control.FAMILIES or node.op in ("Loop", "Scan", "If") for node in root.nodes):
            _attempt(root, writer.random.choice([control.loop, control.loop, control.scan, control.if_]))
            root.fill(2)
    feeds = _feeds(writer, inputs)
    body = root.finish("main", _outputs(writer, root))
    alive = [*writer.alive, *range(len(feeds), len(feeds) + writer.mood.other_sets)]
    feeds += [_other_feeds(writer, inputs, feeds[0]) for _ in range(writer.mood.other_sets)]
    model = declaring.declared_model(writer, body, [feeds[k] for k in alive])
    return assembled(seed, model, feeds, writer.mood.exact, alive)


def _attempt(root, family):
    try:
        family(root)
    except Unfit:
        pass


def assembled(seed, model, feeds, exact=True, alive=None):
    """The program of a model: with the oracle's results for each set of feeds, of which the first must run.

    alive: the numbers of the sets for which the model's declarations are true, by default all; for others nothing is expected.
    """
    graph, functions = machine.read_model(model)
    made = Program(seed, model, exact=exact)
    for k, given in enumerate(feeds):
        if alive is not None and k not in alive:
            made.cases.append(Case(given, None))
            continue
        try:
            case, refusal = _case(graph, functions, given, exact)
        except machine.TooLong:
            continue
        if refusal and not made.cases:
            raise Rejected(refusal)
        made.cases.append(case)
    if not made.cases:
        raise Rejected("it takes too long")
    return made


def _case(graph, functions, feeds, exact=True):
    """(the case of these feeds with the oracle's results, why the oracle refuses them or ""). Raises TooLong."""
    runner = machine.Machine(functions, exact=exact, most=MOST_STEPS, largest=LARGEST)
    try:
        want = runner.run(graph, feeds)
    except machine.TooLong:
        raise
    except machine.WrongProgram as error:
        return Case(feeds, None), str(error) or type(error).__name__
    return Case(feeds, want, not runner.ambiguous and not (feeds.other and runner.presumed)), ""


def _inputs(writer, root):
    """The inputs, most of them with extents that differ between the sets of feeds: [(value, extents or None, default)]."""
    rng, mood = writer.random, writer.mood
    sets = mood.feed_sets
    writer.symbols = {name: [rng.choice(mood.extents)] for name in ("N", "M", "K")}
    for extents in writer.symbols.values():
        extents += [extents[0] if writer.chance(0.4) else rng.choice(mood.extents) for _ in range(sets - 1)]
    made = []
    for dtype in [*rng.choices(mood.dtypes, k=rng.randint(2, 5)), mood.dtypes[0]]:
        dims = [rng.choice(mood.extents) if writer.chance(mood.fixed) else rng.choice(list(writer.symbols)) for _ in range(rng.choice(mood.ranks))]
        samples = [writer.array(dtype, [writer.symbols[d][k] if isinstance(d, str) else d for d in dims]) for k in range(sets)]
        made.append((root.add_input("tensor", dtype, samples), dims))
    for dtype in (I64, I64, BOOL):
        values = [rng.choice(mood.counts) if dtype == I64 else writer.chance(0.8) for _ in range(sets)]
        if writer.chance(0.5):
            values = values[:1] * sets
        made.append((root.add_input("tensor", dtype, [np.array(v, dtype) for v in values]), []))
    if writer.chance(0.3):
        made.append((root.add_input("limit", I64, [np.array(rng.choice([HUGE, HUGE, 2**62, 2**50, 2**40, -1]), np.int64) for _ in range(sets)]), []))
    if writer.chance(0.1):
        dtype = rng.choice([d for d in mood.dtypes])
        samples = [[writer.array(dtype, writer.shape()) for _ in range(rng.randint(0, 3))] for _ in range(sets)]
        made.append((root.add_input("seq", dtype, samples), None))
    if writer.chance(mood.listed):
        made.append((listing.given(writer, root), None))
    return made


def _feeds(writer, inputs):
    """The feeds of each set. Some inputs get a default, which is an initializer, and are left out of some sets."""
    sets = [Feeds() for _ in range(writer.mood.feed_sets)]
    writer.dims = {v.name: dims for v, dims in inputs}
    for v, dims in inputs:
        default = v.kind == "tensor" and v.dtype != STRING and dims is not None and not any(isinstance(d, str) for d in dims) and writer.chance(0.06)
        if default:
            writer.root.constants[v.name] = v.samples[0]
            writer.defaults.add(v.name)
        for k, feeds in enumerate(sets):
            same = default and np.array_equal(v.samples[k], v.samples[0]) and v.samples[k].tobytes() == v.samples[0].tobytes()
            if not (same and writer.chance(0.7)):
                feeds[v.name] = v.samples[k]
    return sets


def _other_feeds(writer, inputs, feeds):
    """Feeds that no node was tried with, so that rules may fail anywhere: other counts and conditions, or other extents and elements."""
    rng, mood = writer.random, writer.mood
    extents = {name: values[0] if writer.chance(0.5) else rng.choice(mood.extents) for name, values in writer.symbols.items()}
    resized = writer.chance(mood.resized)
    made = Feeds()
    made.other = True
    for v, dims in inputs:
        if v.name not in feeds:
            continue
        value = feeds[v.name]
        if v.kind == "tensor" and dims == [] and v.dtype in (I64, BOOL):
            others = [n for n in mood.other_counts if n != value]
            value = np.array(rng.choice(others) if v.dtype == I64 else writer.chance(0.8), v.dtype)
        elif v.kind == "tensor" and dims and resized:
            value = writer.array(v.dtype, [extents[d] if isinstance(d, str) else d for d in dims])
        made[v.name] = value
    return made


def _outputs(writer, root):
    """A few results, the later ones rather than the earlier ones."""
    made = [v for v in root.values if v.name.startswith("v") and v.level == 0]
    if not made:
        raise Rejected("nothing was written")
    rng = writer.random
    chosen = made[-rng.choice([1, 2, 4, 6]) :]
    chosen += [v for v in made[: -len(chosen)] if rng.random() < (0.1 if v.read else 0.6)]
    return chosen
