"""The time of a trip that runs step by step, of a step in such a trip, and of entering a native loop; one table.

    ./dev bench steps                every case
    ./dev bench steps --only loop    those whose names contain "loop" (may be given again)

Each figure is a slope: the same model is run with few and with many of the measured nodes in turn, so that the time of all
other nodes cancels out; the median of the rounds. Time is the CPU time of the calling thread, with one thread. The loop swaps two
sequences, so it runs step by step. Nodes are not fused (graph_optimization_level 0) and values have four elements, so that the
figures show the overhead of the engine.
"""

import sys
import time
from statistics import median

import numpy as np
import onnx.parser
from commands import Parser, Table, machine, require
from harness import session

TRIPS = 4000

MODEL = """
<ir_version: 10, opset_import: ["" : 21]>
steps (int64 trips, float[4] start, float[W] w) => (float[4] x, seq(float) first, seq(float) second)
<int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2}, int64[1] twelve = {12}, float half = {0.5}, int64 few = {3}, bool yes = {1}>
{
  none = SequenceEmpty <dtype = 1> ()
  one_element = SequenceConstruct (half)
  x, first, second = Loop (trips, , start, none, one_element) <body = trip
    (int64 i, bool go, float[4] before, seq(float) left, seq(float) right) =>
    (bool on, float[4] after, seq(float) next_left, seq(float) next_right) {
    on = Identity (go)
    next_left = Identity (right)
    next_right = Identity (left)
    LINES
  }>
}"""


def chain(link, count, first="before", last="after"):
    """A chain of `count` nodes from `first` to `last`. link: the text of a node with input {a}, output {b} and number {k}."""
    names = [first] + [f"y{k}" for k in range(count)]
    lines = [link.format(a=a, b=b, k=k) for k, (a, b) in enumerate(zip(names, names[1:]))]
    return "\n    ".join([*lines, f"{last} = Neg ({names[-1]})"])


def over_part(extent, count, link="{b} = Add ({a}, half)"):
    """A chain of `count` nodes (default: additions) on a part of w whose extent changes from trip to trip."""
    return f"""at = Unsqueeze (i, zero)
    {extent}
    part = Slice (w, zero, extent)
    {chain(link, count, "part", "end")}
    sum = ReduceSum <keepdims = 0> (end)
    after = Add (before, sum)"""


def top_k(count):
    """`count` TopK nodes on a part of w; k and the extent change from trip to trip."""
    links = "\n    ".join(
        f"r{k}, p{k} = TopK (part, few)\n    m{k} = ReduceMax <keepdims = 0> (r{k})\n    y{k + 1} = Add (y{k}, m{k})"
        for k in range(count)
    )
    return f"""at = Unsqueeze (i, zero)
    {TWELVE_IN_TURN}
    few = Add (rest, one)
    part = Slice (w, zero, extent)
    y0 = Neg (before)
    {links}
    after = Neg (y{count})"""


def slices(count):
    """`count` slices of w of one element, which begin at the trip index."""
    links = "\n    ".join(f"r{k} = Slice (w, at, next, zero)\n    y{k + 1} = Add (y{k}, r{k})" for k in range(count))
    return f"""at = Unsqueeze (i, zero)
    next = Add (at, one)
    y0 = Neg (before)
    {links}
    after = Neg (y{count})"""


ADD = "{b} = Add ({a}, half)"
VIEW = "{b}u = Unsqueeze ({a}, zero)\n    {b} = Squeeze ({b}u, zero)"
IN_TURN = "rest = Mod (at, two)\n    extent = Add (rest, two)"
TWELVE_IN_TURN = "rest = Mod (at, twelve)\n    extent = Add (rest, two)"
GROWING = "extent = Add (at, one)"
BRANCH = (
    "{b} = If (go) <then_branch = t{k} () => (float[4] p{k}) {{ p{k} = Add ({a}, half) }}, "
    "else_branch = e{k} () => (float[4] q{k}) {{ q{k} = Sub ({a}, half) }}>"
)
LOOP = (
    "{b} = Loop (few, , {a}) <body = l{k} (int64 j, bool c, float[4] u) => "
    "(bool d, float[4] v) {{ d = Identity (c) v = Mul (u, half) }}>"
)
LOOP_WITH_STACK = (
    "f{k}, s{k} = Loop (few, , {a}) <body = l{k} (int64 j, bool c, float[4] u) => (bool d, float[4] v, "
    "float[4] item) {{ d = Identity (c) v = Mul (u, half) item = Add (u, u) }}>\n"
    "    m{k} = ReduceMax <keepdims = 0> (s{k})\n    {b} = Add (f{k}, m{k})"
)
#: name: (the body with `count` measured nodes, as a function of count; the count)
CASES = {
    "a trip, with one step in it": None,
    "a step": (lambda count: chain(ADD, count), 20),
    "a step that gives a view": (lambda count: chain(VIEW, count // 2), 20),
    "a step, two shapes in turn": (lambda count: over_part(IN_TURN, count), 20),
    "a step, 12 shapes in turn": (lambda count: over_part(TWELVE_IN_TURN, count), 20),
    "a step, each trip another shape": (lambda count: over_part(GROWING, count), 20),
    "a slice and a step, each trip another start": (slices, 10),
    "a top-k of a changing k, and two steps": (top_k, 10),
    "an if, with one step in it": (lambda count: chain(BRANCH, count), 10),
    "entering a loop, and 3 trips": (lambda count: chain(LOOP, count), 10),
    "the same, 12 shapes in turn": (lambda count: over_part(TWELVE_IN_TURN, count, LOOP.replace("[4]", "[E]")), 10),
    "an if, 12 shapes in turn": (lambda count: over_part(TWELVE_IN_TURN, count, BRANCH.replace("[4]", "[E]")), 10),
    "entering a loop with a stack, and two steps": (lambda count: chain(LOOP_WITH_STACK, count), 10),
}


def main(arguments=None):
    options = Parser("steps", __doc__, CASES, rounds=9).parse_args(arguments)
    require("rondel")
    table = Table("", CASES, "ns each")
    for name in options.rows:
        table.add(name, f"{cost(CASES[name], options.rounds):.0f}")
    print(machine())
    return 0


def cost(measured, rounds):
    if measured is None:
        alone = warm(chain(ADD, 0))
        return median(a_trip(alone) for _ in range(rounds))
    body, more = measured
    few, many = warm(body(0)), warm(body(more))
    return median((a_trip(many) - a_trip(few)) / more for _ in range(rounds))


def warm(lines):
    """A session for the model whose body has these lines, after its programs have been compiled."""
    model = onnx.parser.parse_model(MODEL.replace("LINES", lines))
    made = session("rondel", model.SerializeToString(), graph_optimization_level=0)
    for _ in range(10):
        for _ in range(5):  # programs of a short body need many trips to get hot
            a_trip(made)
        time.sleep(0.05)  # hot programs are compiled in the background
    return made


def a_trip(made):
    feeds = {
        "trips": np.array(TRIPS, np.int64),
        "start": np.ones(4, np.float32),
        "w": np.zeros(TRIPS + 8, np.float32),
    }
    start = time.thread_time_ns()
    made.run(None, feeds)
    return (time.thread_time_ns() - start) / TRIPS


if __name__ == "__main__":
    sys.exit(main())
