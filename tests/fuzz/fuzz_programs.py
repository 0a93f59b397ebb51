"""./dev fuzz programs: random programs in all ways to run them, beside an oracle."""

from __future__ import annotations

import contextlib
import pathlib
import random
import time
from collections import Counter

from . import pool, reducing, reporting, ways
from .__main__ import parser
from .progress import Progress
from .programs import Rejected, program

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "build" / "fuzz"
NATIVELY = ["interpreted", "quick", "native"]
KEPT = 3  #: examples of a kind of fault that are listed
FEEDS = {"compared": "compared with the oracle", "not certain": "among the ways alone", "refused": "refused by the oracle"}
LEAST_COMPARED = 0.6  #: of the sets of feeds; fewer, and the generator is no good

ABOUT = """Random programs of nested Loop, Scan and If, each in all ways to run it, beside an oracle that shares no code with Rondel.
A fault is a wrong or missing result, a crash, a hang or an InternalError. Faults are grouped by kind, and the smallest program of
each kind is made smaller; it is printed with its feeds and a test, and written to build/fuzz/."""
EXAMPLES = f"""examples:
  ./dev fuzz programs 600                   ten minutes
  ./dev fuzz programs --seed 7 --count 1    the program of one seed again
  ./dev fuzz programs --seed 7 --show       prints the program of a seed and what the oracle gives
  ./dev fuzz programs --natively --count 300000
  ./dev fuzz programs --ways interpreted,native 60

ways: {", ".join(way + (f" (one program in {1 / ways.SHARES[way]:.0f})" if way in ways.SHARES else "") for way in ways.WAYS)}
With --count 1, or with --ways, each program runs in each way."""


def main(arguments=None):
    options = _parsed(arguments)
    if options.show:
        return show(options.seed)
    first = options.seed if options.seed is not None else random.SystemRandom().randrange(10**9)
    seconds = options.seconds if options.seconds is not None or options.count is not None else 60.0
    chosen = NATIVELY if options.natively else options.ways.split(",") if options.ways else list(ways.WAYS)
    each = options.ways is not None or options.count == 1
    ways_of = lambda seed: chosen if each else ways.drawn(seed, chosen)  # noqa: E731
    print(f"seed {first}", flush=True)

    progress = Progress()
    found, times, seen = {}, Counter(), Counter()
    for seed, state, result in pool.run(lambda seed: attempt(seed, ways_of(seed)), first, options.count, seconds, options.jobs):
        if state == "did":
            fault, spent, kinds = result
            times.update(spent)
            seen.update(kinds)
            progress.count(passed=fault is None, thrown_away=fault == "thrown away")
            if fault is None or fault == "thrown away":
                progress.show()
                continue
            kind, size, text = fault
        else:
            kind, size, text = (f"{state}: {result.strip().splitlines()[-1]}", 1 << 20, result)
            progress.count(passed=False)
        said = text[:600] if state != "broke" else text[-700:]
        progress.line(f"seed {seed}: {said if kind not in found else f'again: {kind}'}")
        found.setdefault(kind, []).append((size, seed, text))
        progress.show()
        if options.first_fault:
            break
    progress.line(_times(times, progress))
    progress.line(_shares(seen))
    for kind, examples in sorted(found.items(), key=lambda item: -len(item[1])):
        listed = ", ".join(str(seed) for _, seed, _ in sorted(examples)[:KEPT])
        progress.line(f"{len(examples)} of this kind (seeds {listed}): {kind}")
    if not (options.keep_size or options.first_fault):
        for k, examples in enumerate(found.values()):
            _reduce(k, min(examples)[1], ways_of(min(examples)[1]), options.reduce_seconds, progress)
    failed = progress.close()
    if sum(seen[kind] for kind in FEEDS) > 100 and seen["compared"] < LEAST_COMPARED * sum(seen[kind] for kind in FEEDS):
        progress.line("too few results are compared with the oracle: the generator must change")
        return 1
    return failed


def _parsed(arguments):
    made = parser("programs", ABOUT, EXAMPLES)
    made.add_argument("--natively", action="store_true", help="only interpreted and compiled at once (one program in 16 with all optimisations), beside the oracle: for many programs")
    made.add_argument("--ways", metavar="WAY,...", help="only these ways, and every program in each")
    made.add_argument("--show", action="store_true", help="print the program of --seed")
    made.add_argument("--first-fault", action="store_true", help="end at the first fault")
    made.add_argument("--keep-size", action="store_true", help="do not make programs smaller")
    made.add_argument("--reduce-seconds", type=float, default=60, metavar="S", help="the most time for making one program smaller (default: 60)")
    options = made.parse_args(arguments)
    if options.show and options.seed is None:
        made.error("--show needs --seed")
    unknown = set((options.ways or "interpreted").split(",")) - set(ways.WAYS)
    if unknown:
        made.error(f"there is no way {', '.join(sorted(unknown))}; there are {', '.join(ways.WAYS)}")
    return options


def attempt(seed, chosen):
    """(None, "thrown away" or (kind, size, text) of a fault; seconds by what they were spent on; sets of feeds by what the oracle says)."""
    spent, begun = Counter(), time.monotonic()
    try:
        made = program(seed)
    except Rejected:
        return "thrown away", Counter({"writing": time.monotonic() - begun}), Counter()
    spent["writing"] = time.monotonic() - begun
    kinds = Counter("refused" if case.want is None else "compared" if case.sure and made.exact else "not certain" for case in made.cases)
    runs = ways.Runs(made)
    for way in chosen:
        begun = time.monotonic()
        try:
            ways.run_in(way, runs)
        except ways.Found as found:
            return (found.fault.kind, len(runs.bytes), str(found.fault)), spent, kinds
        finally:
            spent[way] += time.monotonic() - begun
    kinds["not exportable"] = runs.not_exportable
    return None, spent, kinds


def _times(times, progress):
    done = max(1, progress.total)
    return "milliseconds for one program: " + ", ".join(f"{name} {1000 * spent / done:.1f}" for name, spent in times.items())


def _shares(seen):
    total = max(1, sum(seen[kind] for kind in FEEDS))
    text = ", ".join(f"{100 * seen[kind] / total:.1f} % {words}" for kind, words in FEEDS.items())
    return f"{total} sets of feeds: {text}; {seen['not exportable']} programs that the standard cannot express"


def _reduce(number, seed, chosen, seconds, progress):
    """Makes the program of a seed smaller, and prints it."""
    with contextlib.closing(pool.Aside(_fault)) as aside, contextlib.suppress(Rejected):
        state, found = aside(seed, chosen)
        made = program(seed)
        if state != "did":  # it crashes or hangs: find the way
            fault = next((ways.Fault(way, 0, state) for way in chosen if aside(seed, ["interpreted", way])[0] == state), None)
            same = lambda outcome: outcome is not None and outcome[0] == state  # noqa: E731
        else:
            fault, same = found, None
        if fault is None:
            progress.line(f"seed {seed} did not fail again; it may depend on time or on threads")
            return
        model, feeds, again = reducing.reduced(made, fault, seconds, same, progress.note)
        if not again:
            progress.line(f"seed {seed} did not fail again; it may depend on time or on threads")
        wants = [case.want for case in reducing.assembled(seed, model, feeds, made.exact).cases]
        with contextlib.closing(pool.Aside(reducing.fault_of)) as last:
            state, now = last(model.SerializeToString(), feeds, made.exact, ["interpreted", fault.way], seed)
        text = reporting.report(now[1] if state == "did" and now else fault, fault.way, model, feeds, wants, seed)
        FOLDER.mkdir(parents=True, exist_ok=True)
        path = FOLDER / f"program_{number}_{seed}.txt"
        path.write_text(text)
        progress.line(f"{text}\nwritten to {path}")


def _fault(seed, chosen):
    return ways.check(program(seed), chosen)


def show(seed):
    """Prints the program of a seed."""
    import onnx.printer

    made = program(seed)
    print(onnx.printer.to_text(made.model))
    for k, case in enumerate(made.cases):
        print(f"feeds {k}: {reporting.feeds_text(case.feeds)}")
        for name, value in zip(made.outputs, case.want or [], strict=False):
            print(f"  {name} = {reporting.literal(value)}" + ("" if case.sure else "  (a shape is not certain)"))
        if case.want is None:
            print("  the oracle refuses them")
    return 0
