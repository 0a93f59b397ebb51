"""All ways to run a program that a user reaches, each compared with the oracle and with the interpreter.

Between Rondel's own ways results must agree bit for bit; with the oracle they must be equal (the sign of a zero is left open by Max and
Min). A set of feeds that the oracle refuses may be refused, or run: a failure in a value that nobody needs need not be reported. What the
interpreter refuses, native code refuses, too.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import threading
import warnings
from dataclasses import dataclass
from functools import cached_property

import rondel

from .comparing import difference

DEADLINE = 20.0  #: seconds of one run, which takes milliseconds
SAME_GRAPH = {"quick", "native", "warm", "tiered", "threads", "parallel", "checked"}  #: ways that run the graph that the interpreter runs
SOON = 1.0  #: the same for feeds that the oracle refuses: another loop may run first, and never end
#: The share of programs that run in a way; in the others, all do. These take the longest, or differ from another way in speed alone.
SHARES = {"native": 1 / 16, "tiered": 1 / 8, "parallel": 1 / 8, "trips": 1 / 2, "unoptimised": 1 / 4}


@dataclass
class Fault:
    """A way that is wrong: for which case, what the difference is, and a text that faults of the same kind share."""

    way: str
    case: int
    what: str
    output: str = ""

    @property
    def kind(self):
        """What faults of the same cause probably share."""
        words = self.what.split(" instead of ")[0] if not self.refusal else self.what
        if not self.refusal:
            words = "shape" if words.startswith("shape") else "dtype" if words.startswith("dtype") else "values"
        words = re.sub(r"'[^']*'|\"[^\"]*\"", "'_'", words)
        words = re.sub(r"\[[^\]]*\]", "[_]", words)
        words = re.sub(r"-?\d+", "0", words)
        return f"{self.way}: {words[:160]}"

    @property
    def refusal(self):
        return any(f"{word}: " in self.what for word in ("Error", "Exceeded", "NotImplemented", "InvalidProtobuf", "InvalidGraph"))

    def __str__(self):
        place = f"output {self.output}: " if self.output else ""
        return f"{self.way}, feeds {self.case}: {place}{self.what}"


class Found(Exception):
    """A fault was found."""

    def __init__(self, fault):
        super().__init__(str(fault))
        self.fault = fault


def drawn(seed, ways):
    """Those of the ways in which the program of this seed runs where many programs do: each in its share."""
    rng = random.Random(f"drawn {seed}")
    return [way for way, below in [(way, rng.random()) for way in WAYS] if way in ways and below < SHARES.get(way, 1)]


def check(program, ways=None):
    """Runs the program in these ways, by default in all; gives the first fault, or None."""
    runs = Runs(program)
    try:
        for way in ways or WAYS:
            run_in(way, runs)
    except Found as found:
        return found.fault
    return None


def run_in(way, runs):
    """Runs the program in one way. What the way draws does not depend on the others."""
    runs.random = random.Random(f"{way} {runs.program.seed}")
    WAYS[way](runs, way)


class Runs:
    """The program, its bytes, and the results of the interpreter."""

    def __init__(self, program):
        self.program = program
        self.bytes = program.model.SerializeToString()
        self.random = None  # of the way that runs
        self.interpreted = {}
        self.refusals = {}  # of the interpreter
        #: Sessions that may have made a graph for certain shapes, in which a node that fails may be one that nobody needs.
        self.stepped = set()
        self.not_exportable = 0

    @cached_property
    def quick(self):
        """A session that compiles at once without LLVM's optimisations, whose code several ways share."""
        return self.session("quick", "quick", verify=True)

    def session(self, way, jit, check=False, divide=False, verify=False, model=None, **fields):
        """A session of the model.

        jit: as RONDEL_JIT says it; check: of every native run; divide: threads share all loops, however small; verify: graphs after each
        pass and storage plans, which ways that have those of another need not prove again.
        """
        variables = {"RONDEL_JIT": str(jit), "RONDEL_CHECK": str(int(check)), "RONDEL_DIVIDE": str(int(divide)), "RONDEL_VERIFY": str(int(verify))}
        options = rondel.SessionOptions()
        for name, value in fields.items():
            setattr(options, name, value)
        with environment(**variables), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return rondel.InferenceSession(model or self.bytes, options)
            except rondel.Error as error:
                self.refused(way, 0, error, bool(fields))

    def refused(self, way, case, error, limited=False):
        """An error is a fault, unless the oracle refuses the case or is not certain of it (and the interpreter runs it no better), or the session has limits."""
        internal = isinstance(error, rondel.InternalError)
        if not internal and limited and isinstance(error, rondel.LimitExceeded):
            return
        against = self.program.cases[case]
        if not internal and case not in self.interpreted and (against.want is None or not against.sure):
            return
        # Another graph may know more of the shape of a stack without trips, which a reader may then refuse.
        if way not in SAME_GRAPH and not against.sure and isinstance(error, rondel.CallerError):
            return
        raise Found(Fault(way, case, f"{type(error).__name__}: {error}"))

    def run(self, session, way, case, limited=False, must_end=False):
        """Runs one case and compares it. Gives the error that ended it, or None. must_end: no limit may end it."""
        options = rondel.RunOptions()
        ends = self.program.cases[case].want is not None or case in self.interpreted
        options.deadline = DEADLINE if ends else SOON
        try:
            got = session.run(None, self.program.cases[case].feeds, options)
        except rondel.Error as error:
            if must_end and isinstance(error, rondel.LimitExceeded):
                raise Found(Fault(way, case, f"{type(error).__name__}: {error}, though the interpreter needs less")) from None
            self.refused(way, case, error, limited)
            if way == "interpreted" and not isinstance(error, (rondel.LimitExceeded, rondel.DeadlineExceeded)):
                self.refusals[case] = f"{type(error).__name__}: {error}"
            return error
        finally:
            how_it_ran = session.how_it_ran()
            if any(how.startswith("step by step") for how in how_it_ran.values()):
                self.stepped.add(id(session))
        if not limited:
            for node, how in how_it_ran.items():
                if "memory did not suffice" in how or "no size of its memory" in how:
                    raise Found(Fault(way, case, f"{node} ran {how}"))
        stepped = self.stepped if way == "threads" else id(session) in self.stepped  # another thread's run may hide it
        if case in self.refusals and way in SAME_GRAPH and not stepped:
            raise Found(Fault(way, case, f"it runs, where the interpreter refuses: {self.refusals[case]}"))
        self.compare(way, case, got)
        return None

    def compare(self, way, case, got):
        found, against = None, self.program.cases[case]
        names = self.program.outputs
        if self.program.exact and against.want is not None and against.sure:
            found = difference(got, against.want, bitwise=False)
        comparable = against.want is not None or not self.program.contracts
        if not found and comparable and case in self.interpreted:
            # Another graph may know more of the shape of a stack without trips.
            unknown = way not in SAME_GRAPH and not against.sure
            found = difference(got, self.interpreted[case], bitwise=True, unknown_extents=unknown)
        if found:
            raise Found(Fault(way, case, found[1], names[found[0]]))
        if way == "interpreted":
            self.interpreted[case] = got


@contextlib.contextmanager
def environment(**values):
    """Environment variables for the block; None unsets one."""
    before = {name: os.environ.get(name) for name in values}
    _set(values)
    try:
        yield
    finally:
        _set(before)


def _set(values):
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


# ---- the ways -----------------------------------------------------------------------------------------------


def _cases(runs, way, session, limited=False, rounds=1):
    """Each case, beginning with a random one, then that one again: after runs with other shapes."""
    if session is None:
        return
    count = len(runs.program.cases)
    first = 0 if way == "interpreted" else runs.random.randrange(count)
    for case in range(first, first + rounds * count + 1):
        runs.run(session, way, case % count, limited)


def _interpreted(runs, way):
    _cases(runs, way, runs.session(way, 0))


def _quick(runs, way):
    _cases(runs, way, runs.quick, rounds=2)  # exact shapes are compiled when they come again


def _native(runs, way):
    _cases(runs, way, runs.session(way, 2))


def _warm(runs, way):
    for case in range(len(runs.program.cases)) if runs.quick else ():
        for _ in range(3):
            runs.run(runs.quick, way, case)


def _tiered(runs, way):
    session = runs.session(way, 1)
    for _ in range(3):
        _cases(runs, way, session)


def _threads(runs, way):
    """Two threads that share a new session, each with all cases in another order."""
    session = runs.session(way, runs.random.choices([1, "quick"], [1, 31])[0])
    if session is None:
        return
    cases = list(range(len(runs.program.cases)))
    found, start = [], threading.Barrier(2)

    def work(order):
        start.wait()
        try:
            for case in order * 2:
                runs.run(session, way, case)
        except BaseException as error:  # raised again by the thread that waits
            found.append(error)

    workers = [threading.Thread(target=work, args=(order,)) for order in (cases, cases[::-1])]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if found:
        raise found[0]


def _parallel(runs, way):
    """Three threads share each loop and each product whose trips and elements are independent, however small it is."""
    jit, check = runs.random.choices([("quick", False), ("quick", True), (2, False)], [8, 1, 1])[0]
    _cases(runs, way, runs.session(way, jit, check=check, divide=True, verify=True, intra_op_num_threads=3))


def _memory(runs, way):
    """Under budgets from far too small to large enough: the right result, or LimitExceeded; afterwards as before."""
    budgets = [0, 64, 500, 1000, 2000, 4000, 8000, 20_000, 100_000, 1_000_000]
    for jit in (0, "quick"):
        _cases(runs, way, runs.session(way, jit, max_memory_bytes=runs.random.choice(budgets)), limited=True)


def _trips(runs, way):
    """Under a budget of trips: native code runs what the interpreter runs with fewer, and nothing that never ends. (It may make a trip before a loop.)"""
    budget = runs.random.choice([2, 3, 4, 7, 1000])
    few, native, many = (runs.session(way, jit, max_trips=most) for jit, most in ((0, budget - 2), ("quick", budget), (0, 1002)))
    for case in range(len(runs.program.cases)) if few and native and many else ():
        ends = runs.run(few, way, case, limited=True) is None
        for _ in range(2):
            refused = runs.run(native, way, case, limited=True, must_end=ends)
        if refused is None and isinstance(runs.run(many, way, case, limited=True), rondel.LimitExceeded):
            raise Found(Fault(way, case, f"{budget} trips suffice, where the interpreter needs more than 1002"))


def _exported(runs, way):
    """Written as ONNX and read back, once as it was read and once compiled."""
    for compiled in (False, True) if runs.random.random() < 0.3 else (False,):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                written = rondel.export(runs.bytes, compiled=compiled)
            except rondel.UnsupportedError:
                runs.not_exportable = 1  # the standard cannot express it
                continue
            except rondel.Error as error:
                runs.refused(way, 0, error)
                continue
        _cases(runs, way, runs.session(way, runs.random.choice([0, "quick"]), verify=True, model=written))


def _checked(runs, way):
    _cases(runs, way, runs.session(way, "quick", check=True))


def _unoptimised(runs, way):
    _cases(runs, way, runs.session(way, runs.random.choice([0, "quick"]), verify=True, graph_optimization_level=runs.random.choice([0, 1])))


WAYS = {
    "interpreted": _interpreted, "quick": _quick, "warm": _warm, "native": _native, "tiered": _tiered, "threads": _threads, "parallel": _parallel, "memory": _memory,
    "trips": _trips, "exported": _exported, "checked": _checked, "unoptimised": _unoptimised,
}  # fmt: skip
