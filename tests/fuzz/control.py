"""Families of control flow: Loop, Scan, If, and calls of functions of the model."""

from __future__ import annotations

import math

import numpy as np

from .blocks import LARGEST, Block
from .growing import Growth
from .listing import Holding, Listing
from .moods import HUGE
from .straight import partner
from .values import BOOL, ELEMENT_TYPES, I64, STORED, STRING, Unfit


def count(g):
    """A trip count: from data, an extent, or a constant."""
    w, rng = g.writer, g.writer.random
    small = lambda v: v.dtype == I64 and v.rank == 0 and all(s is None or s.item() < 400 for s in v.samples)  # noqa: E731
    if w.chance(w.mood.from_inputs):
        return g.pick(lambda v: small(v) and v.level == 0)
    if w.chance(w.mood.from_data):
        form = rng.choice(["found", "found", "mod", "extent", "size"])
        if form == "found":
            return g.pick(lambda v: small(v) and v.varies == 0 if w.chance(0.5) else small(v))
        if form == "mod":
            return g.emit("Mod", [g.scalar(), g.number(rng.choice([2, 3, 5]))])
        if form == "extent":
            a = g.pick(lambda v: v.rank > 0)
            return g.extent(a, rng.randrange(a.rank))
        return g.emit("Size", [g.pick(lambda v: v.sample.size < 12)])
    return g.number(rng.choice([*w.mood.counts, -1] if w.chance(0.1) else w.mood.counts))


# ---- states -------------------------------------------------------------------------------------------------


def _states(g, body, fixed):
    """[(initial value, the body's input, how it may change)]: kept, extents, rank, a Growth, a Listing, or other for sequences and optionals."""
    w, rng = g.writer, g.writer.random
    made = []
    for _ in range(rng.choice(w.mood.states)):
        if not fixed and w.chance(w.mood.growing):
            try:
                growth = Growth(g, body)
                made += [(initial, state, growth) for initial, state in zip(growth.initials, growth.states, strict=True)]
                continue
            except Unfit:
                pass
        if not fixed and w.chance(w.mood.listed):
            try:
                list_ = Holding(g, body) if w.chance(0.3) else Listing(g, body)
                made.append((list_.initial, list_.state, list_))
                continue
            except Unfit:
                pass
        if not fixed and w.chance(0.15):
            try:
                v = g.pick(kind=rng.choice(["seq", "seq", "opt", "optseq"]))
                made.append((v, body.add_input(v.kind, v.dtype, v.samples, varies=body.depth, wobble=body.depth), "other"))
                continue
            except Unfit:
                pass
        how = rng.choice(w.mood.changes) if not fixed and w.chance(w.mood.changing) else "kept"
        v = _initial(g, made, how)
        facts = {"kept": {"wobble": v.wobble, "shape_id": v.shape_id}, "extents": {"wobble": body.depth}, "rank": {"wobble": body.depth, "unranked": True}}
        made.append((v, body.add_input("tensor", v.dtype, v.samples, varies=body.depth, **facts[how]), how))
    return made


def _initial(g, made, how):
    """The first value of a state: often like that of the state before, or a state of the loop around, so that one may become the other."""
    w = g.writer
    if how == "kept" and w.chance(w.mood.moved):
        before = made[-1][0] if made and made[-1][2] == "kept" else None
        try:
            return g.pick(lambda v: _alike(v, before) if before else v in g.inputs and v.sample.size > 1)
        except Unfit:
            pass
    return g.pick(lambda v: how != "extents" or v.rank > 0)


def _alike(a, b):
    """Whether they have the same dtype, and the same shape in every trip."""
    return a.dtype == b.dtype and a.shape == b.shape and (a.shape_id == b.shape_id or a.wobble == 0 == b.wobble)


def _following(body, states):
    """What the states are in the next trip. Now and then those that are alike move up: each becomes what the one before was."""
    following = [_next(body, state, how) for _, state, how in states]
    if body.writer.chance(body.writer.mood.moved):
        for k in range(1, len(states)):
            (_, before, how_before), (_, state, how) = states[k - 1 : k + 1]
            if how == "kept" == how_before and _alike(before, state):
                following[k] = before
    return following


def _next(body, state, how):
    """What a state is in the next trip."""
    if isinstance(how, Growth | Holding | Listing):
        return how.next_of(body, state)
    for _ in range(3):
        try:
            return {"kept": _kept, "extents": _other_extents, "rank": _other_rank, "other": _other}[how](body, state)
        except Unfit:
            continue
    return state


def _kept(body, state):
    w = body.writer

    def same(v):
        return v is not state and _alike(v, state)

    if w.chance(w.mood.moved):
        from_whom = w.random.choice([lambda v: True, body.is_input_around, body.is_input_around])
        return body.pick(lambda v: same(v) and from_whom(v))
    if state.dtype not in (BOOL, STRING, *STORED) and w.chance(w.mood.summed):
        made = body.pick(lambda v: v.level == body.level and v.dtype not in (BOOL, STRING) and v.varies < body.depth)
        most = body.emit("ReduceMax", [made], {"keepdims": 0}, steady=True)
        most = most if most.dtype == state.dtype else body.emit("Cast", [most], {"to": ELEMENT_TYPES[state.dtype]})
        return body.bounded(body.emit("Add", [state, most], like=state))
    if w.chance(0.8):
        return body.pick(lambda v: same(v) and v.level == body.level and v.varies == body.depth and v not in body.inputs)
    if state.dtype in (BOOL, STRING):
        return body.pick(same)
    made = body.emit(w.random.choice(["Add", "Sub", "Max", "Mul"]), [state, partner(body, state)])
    if made.shape != state.shape:
        raise Unfit("another shape")
    return body.bounded(made)


def _other_extents(body, state):
    w, rng = body.writer, body.writer.random
    form = rng.choice(["found", "join", "join", "cut"])
    if form == "found":
        return body.pick(lambda v: v.dtype == state.dtype and v.rank == state.rank)
    if form == "cut":
        return body.emit("Slice", [state, body.list(1), body.list(2**31), body.list(rng.randrange(state.rank))])
    axis = rng.randrange(state.rank)

    def fits(v):
        return v.dtype == state.dtype and v.rank == state.rank and all(k == axis or e == state.shape[k] for k, e in enumerate(v.shape))

    parts = [state, body.pick(fits if w.chance(0.8) else lambda v: v is state)]
    rng.shuffle(parts)
    return body.emit("Concat", parts, {"axis": axis})


def _other_rank(body, state):
    form = body.writer.random.choice(["found", "found", "unsqueeze", "sum", "flat"])
    if form == "found":
        return body.pick(lambda v: v.dtype == state.dtype, unranked=True)
    if form == "unsqueeze":
        return body.emit("Unsqueeze", [state, body.list(0)])
    if form == "flat":
        return body.emit("Reshape", [state, body.list(-1)])
    return body.bounded(body.emit("ReduceSum", [state], {"keepdims": 0}, steady=True))


def _other(body, state):
    w = body.writer
    if w.chance(0.3):
        return body.pick(lambda v: v.dtype == state.dtype and v is not state, kind=state.kind)
    if state.kind == "seq":
        if w.chance(0.2):
            return body.emit("SequenceErase", [state], kind="seq", dtype=state.dtype)
        tensor = body.pick(lambda v: v.dtype == state.dtype, unranked=True)
        return body.emit("SequenceInsert", [state, tensor], kind="seq", dtype=state.dtype)
    inner = body.pick(lambda v: v.dtype == state.dtype, kind="tensor" if state.kind == "opt" else "seq")
    return body.emit("Optional", [inner], kind=state.kind, dtype=state.dtype)


def _items(body, least):
    """The values that are stacked: most of them are what nothing else reads, so that little of the body is for nothing."""
    w, rng = body.writer, body.writer.random
    made = []
    for _ in range(max(least, rng.choice(w.mood.items))):
        steady = lambda v: v.wobble < body.depth or w.risky()  # noqa: E731
        own = lambda v: steady(v) and v.level == body.level and v not in body.inputs  # noqa: E731
        unread = [v for v in body.values if not (v.read or v.unranked or v.kind != "tensor") and own(v) and v not in made]
        if unread and w.chance(0.85):
            made.append(rng.choices(unread, [(1 + v.work) ** 2 for v in unread])[0])
            continue
        if w.chance(0.7):
            try:
                made.append(body.pick(own))
                continue
            except Unfit:
                pass
        made.append(body.pick(steady))
    return made


def _results(g, op, inputs, attributes, facts, likes):
    """Emits the node; now and then one of several results is left out."""
    made = g.emit(op, inputs, attributes, outputs=len(facts), facts=facts)
    made = made if isinstance(made, list) else [made]
    for value, like in zip(made, likes, strict=True):
        if like is not None:
            value.shape_id = like.shape_id
            value.grows_like(like)
    if len(made) > 1 and g.writer.chance(0.05):
        left_out = g.writer.random.choice(made)
        g.values.remove(left_out)
        node = g.nodes[-1]
        node.outputs = [n if n != left_out.name else "" for n in node.outputs]
    return made


# ---- loops --------------------------------------------------------------------------------------------------


def _ending(g):
    """What ends a loop: a word of `Mood.endings`, or sure for one that makes trips whatever the feeds are; the trip count and the first condition, or None."""
    w, rng = g.writer, g.writer.random
    if g.depth == 0 and w.chance(w.mood.sure):
        return "sure", g.number(rng.choice([2, 2, 3])), None
    form = rng.choice(w.mood.endings)
    trips = None if form == "while" else _limit_of_all(g) if form == "huge" else count(g)
    if trips is not None and w.chance(0.04):
        trips = g.one(trips)
    if form == "ignored":
        return form, trips, None
    if form == "count":
        go = None if w.chance(0.4) else g.constant(np.array(True)) if w.chance(0.4) else g.condition()
    else:
        go = None if w.chance(0.1) and form == "both" else g.condition()
    return form, trips, g.one(go) if go is not None and w.chance(0.03) else go


def _chosen_by(body, going, states):
    """A state or another value of the trip, or one like it, as what the trip before has found says."""
    kept = [state for _, state, how in states if how == "kept"]
    try:
        a = body.writer.random.choice(kept) if kept and body.writer.chance(0.7) else body.pick(lambda v: v.level == body.level and v is not going)
        b = partner(body, a)
    except Unfit:
        return
    body.emit("Where", [going, a, b], like=a if a.shape_id == b.shape_id else None)


def loop(g):
    w, rng = g.writer, g.writer.random
    form, trips, go = _ending(g)
    body = Block(w, g, loop=True)
    sets = w.mood.feed_sets
    index = body.add_input("tensor", I64, [np.array(0, np.int64)] * sets, varies=body.depth)
    going = body.add_input("tensor", BOOL, [np.array(True)] * sets, varies=body.depth)
    states = _states(g, body, fixed=False)
    for growth in {id(how): how for _, _, how in states if isinstance(how, Growth | Holding | Listing)}.values():
        if w.chance(0.7):
            growth.step(body)
    body.fill(rng.randint(1, w.mood.body))
    if form == "ignored" and w.chance(0.7):
        _chosen_by(body, going, states)
    if form in ("count", "sure"):
        more = body.emit("Identity", [going]) if w.chance(0.7) else body.constant(np.array(True))
        stops = 0
    elif form in ("while", "huge"):
        more = body.emit("Less", [index, body.number(rng.randint(0, 4)) if w.chance(0.6) else _limit(body)])
        if w.chance(0.4):
            more = body.emit("And", [more, body.condition()])
        stops = body.depth
    else:
        more = body.emit("Not", [going]) if form == "ignored" and w.chance(0.5) else body.condition()
        stops = body.depth
    following = _following(body, states)
    items = _items(body, 0 if states else 1)
    graph = body.finish("loop", [more, *following, *items])

    given = [v for v in (trips, go, *(v for v, _, _ in states)) if v is not None]
    varies = max([min(body.reads, g.depth), *(v.varies for v in given)])
    ends = varies if stops else max([v.varies for v in (trips, go) if v is not None], default=0)
    facts = [_final(initial, how, varies) for initial, _, how in states]
    facts += [{"dtype": v.dtype, "varies": varies, "wobble": max(ends, v.wobble if v.wobble < body.depth else varies), "unranked": v.unranked} for v in items]
    likes = [v if how == "kept" else how if isinstance(how, Growth) else None for v, _, how in states] + [None] * len(items)
    _results(g, "Loop", [trips, go, *(v for v, _, _ in states)], {"body": graph}, facts, likes)


def _limit_of_all(g):
    """A trip count that is no size, as exporters write it: from data if the program has one."""
    try:
        return g.pick(kind="limit")
    except Unfit:
        return g.number(HUGE)


def _limit(body):
    """A small number from outside of the body."""
    return body.pick(lambda v: v.dtype == I64 and v.rank == 0 and v.level < body.level and all(s is None or s.item() < 300 for s in v.samples))


def _final(initial, how, varies):
    facts = {"kind": initial.kind, "dtype": initial.dtype, "varies": varies}
    facts["wobble"] = initial.wobble if how == "kept" else varies
    facts["unranked"] = how == "rank" and varies > 0
    facts["items"] = how.items if isinstance(how, Listing) else None
    return facts


def _scanned(g, test):
    """What a scan reads first: now and then what has other ranks in other trips."""
    if g.depth and g.writer.chance(0.6):
        try:
            return g.pick(lambda v: v.unranked and test(v), unranked=True)
        except Unfit:
            pass
    return g.pick(test)


def scan(g):
    w, rng = g.writer, g.writer.random
    if w.mood.opset == 8:
        return _scan_of_batches(g)
    first = _scanned(g, lambda v: v.rank > 0 and max(v.shape) < 400 and all(s is None or s.ndim == v.rank for s in v.samples))
    place = rng.randrange(first.rank)
    lengths = [s.shape[place] if s is not None else None for s in first.samples]

    def axes(v):
        """The axes of v that have the length of the first scan in every run."""
        rank = v.rank
        return [k for k in range(rank) if all(v.samples[i].ndim == rank and v.samples[i].shape[k] == lengths[i] for i in w.alive)]

    body = Block(w, g, loop=True)
    states = _states(g, body, fixed=True)
    scans, axes_in = [], []
    for j in range(rng.choice([1, 1, 2, 3])):
        x, axis = (first, place) if j == 0 else (None, None)
        if x is None:
            x = g.pick(lambda v: v.rank > 0 and bool(axes(v)) and g.steady_with(first)(v))
            axis = rng.choice(axes(x))
        samples = [_element(s, axis) if k in w.alive else None for k, s in enumerate(x.samples)]
        element = body.add_input("tensor", x.dtype, samples, varies=body.depth, wobble=x.wobble, unranked=x.unranked)
        if element.rank and not x.unranked and w.chance(0.6):
            w.focus = element
        scans.append(x)
        axes_in.append(axis - rng.choice([0, x.rank] if w.mood.opset >= 11 else [0]))
    body.fill(rng.randint(1, w.mood.body))
    following = _following(body, states)
    items = _items(body, 0 if states else 1)
    graph = body.finish("scan", [*following, *items])

    given = [*(v for v, _, _ in states), *scans]
    varies = max([min(body.reads, g.depth), *(v.varies for v in given)])
    facts = [_final(v, how, varies) for v, _, how in states]
    attributes = {"num_scan_inputs": len(scans), "body": graph, "scan_input_axes": axes_in, "scan_input_directions": [rng.randint(0, 1) for _ in scans]}
    if items:
        attributes["scan_output_axes"] = [rng.randint(-v.rank - 1 if w.mood.opset >= 11 else 0, v.rank) for v in items]
        attributes["scan_output_directions"] = [rng.randint(0, 1) for _ in items]
    for v in items:
        facts.append({"dtype": v.dtype, "varies": varies, "wobble": max(first.wobble, v.wobble if v.wobble < body.depth else varies), "unranked": v.unranked})
    likes = [v for v, _, _ in states] + [None] * len(items)
    _results(g, "Scan", given, attributes, facts, likes)


def _scan_of_batches(g):
    """Version 8: each sequence of a batch is scanned for itself, as far as its length goes."""
    w, rng = g.writer, g.writer.random
    alike = lambda v: v.wobble == 0 and not v.unranked and len({s.shape for s in v.samples if s is not None}) == 1  # noqa: E731
    first = g.pick(lambda v: v.rank > 1 and alike(v) and 0 not in v.shape and v.dtype != STRING)
    batch, steps = first.shape[:2]
    body = Block(w, g, loop=True)
    states = []
    for _ in range(rng.choice([0, 1, 1, 2])):
        v = g.pick(lambda v: v.rank > 0 and alike(v) and v.shape[0] == batch and v.dtype != STRING)
        states.append((v, body.add_input("tensor", v.dtype, [s[0] if s is not None else None for s in v.samples], varies=body.depth)))
    scans = [first]
    if w.chance(0.4):
        scans.append(g.pick(lambda v: v.rank > 1 and alike(v) and v.shape[:2] == first.shape[:2] and v.dtype != STRING))
    for x in scans:
        body.add_input("tensor", x.dtype, [s[0, 0] if s is not None else None for s in x.samples], varies=body.depth)
    body.fill(rng.randint(1, w.mood.body))
    following = [_next(body, state, "kept") for _, state in states]
    items = _items(body, 0 if states else 1)
    if any(v.wobble for v in items):
        raise Unfit("items of other shapes in each trip")
    graph = body.finish("scan", [*following, *items])
    lengths = g.constant(np.array([rng.randint(1, steps) for _ in range(batch)], np.int64)) if w.chance(0.5) else None
    given = [lengths, *(v for v, _ in states), *scans]
    varies = max([min(body.reads, g.depth), *(v.varies for v in given if v is not None)])
    facts = [{"dtype": v.dtype, "varies": varies, "wobble": 0} for v in (*(v for v, _ in states), *items)]
    attributes = {"num_scan_inputs": len(scans), "body": graph, "directions": [rng.randint(0, 1) for _ in scans]}
    _results(g, "Scan", given, attributes, facts, [v for v, _ in states] + [None] * len(items))


def _element(x, axis):
    """The first slice; zeros if there is none."""
    if x.shape[axis]:
        return np.asarray(np.take(x, 0, axis), x.dtype)
    shape = [int(e) for e in np.delete(x.shape, axis)]
    if math.prod(shape) > LARGEST:
        raise Unfit
    return np.zeros(shape, x.dtype)


# ---- If, functions ------------------------------------------------------------------------------------------


def if_(g):
    w, rng = g.writer, g.writer.random
    chosen = g.condition()
    if w.chance(0.03):
        chosen = g.one(chosen)
    form = rng.choice(["same", "same", "extents", "rank"])
    blocks = [Block(w, g) for _ in range(2)]
    for block in blocks:
        block.fill(rng.randint(1, max(1, w.mood.body - 1)))
    pairs = []
    for _ in range(rng.choice([1, 1, 2, 3])):
        kind = rng.choice(["tensor"] * 9 + ["seq", "opt"])
        a = blocks[0].pick(kind=kind, unranked=form == "rank")

        def fits(v, a=a):
            if kind != "tensor" or form == "rank":
                return v.dtype == a.dtype
            same = v.shape == a.shape and (v.shape_id == a.shape_id or v.wobble == 0 == a.wobble)
            return v.dtype == a.dtype and (same if form == "same" else v.rank == a.rank)

        own = lambda v: fits(v) and v.level == blocks[1].level  # noqa: E731, B023
        try:
            pairs.append((a, blocks[1].pick(own if w.chance(0.6) else fits, kind=kind, unranked=form == "rank")))
        except Unfit:
            pairs.append((a, blocks[1].pick(fits, kind=kind, unranked=form == "rank")))
    facts, likes = [], []
    for a, b in pairs:
        steady = a.kind == "tensor" and a.shape == b.shape and (a.wobble == 0 == b.wobble or a.shape_id == b.shape_id)
        wobble = max(a.wobble, b.wobble, 0 if steady else chosen.varies)
        other_rank = a.kind == "tensor" and a.rank != b.rank and chosen.varies > 0
        facts.append({
            "kind": a.kind, "dtype": a.dtype, "varies": max(chosen.varies, a.varies, b.varies), "wobble": wobble,
            "unranked": a.unranked or b.unranked or other_rank,
        })  # fmt: skip
        likes.append(a if a.kind == "tensor" and a.shape_id == b.shape_id else None)
    graphs = [block.finish("branch", [pair[k] for pair in pairs]) for k, block in enumerate(blocks)]
    _results(g, "If", [chosen], {"then_branch": graphs[0], "else_branch": graphs[1]}, facts, likes)


def function(g):
    """A call of a new function, or of one that the program has."""
    w, rng = g.writer, g.writer.random
    if w.functions and w.chance(0.4):
        name, body = rng.choice(list(w.functions.items()))
        arguments = [g.pick(lambda v, p=p: v.dtype == p.dtype and v.rank == p.rank, kind=p.kind) for p in body.input_values]
    else:
        arguments = [g.pick(kind="tensor") for _ in range(rng.randint(1, 3))]
        block = Block(w, g, isolated=True)
        for v in arguments:
            block.add_input(v.kind, v.dtype, v.samples, varies=v.varies, wobble=v.wobble, shape_id=v.shape_id)
        block.fill(rng.randint(1, 4))
        results = [block.pick(lambda v: v not in block.inputs and v.level == block.level) for _ in range(rng.choice([1, 1, 2]))]
        body = block.finish("f", results)
        name = ("local", body.name)
        if body.constants:
            raise Unfit("a function has no initializers")
        w.functions[name] = body
    facts = [{"kind": v.kind, "dtype": v.dtype, "varies": max(a.varies for a in arguments), "wobble": max(v.wobble, *(a.varies for a in arguments))} for v in body.output_values]
    g.emit(name[1], arguments, outputs=len(facts), domain="local", facts=facts)


FAMILIES = {"loop": loop, "scan": scan, "if": if_, "function": function}
