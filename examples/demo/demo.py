"""Rondel on three real models with loops, each compared with ONNX Runtime.

    python examples/demo/demo.py                   all three
    python examples/demo/demo.py --only speech     one of: digits, heat, speech
    python examples/demo/demo.py --quick           smaller inputs, fewer rounds

Each part makes its data, builds or finds its model, runs it in Rondel, compares with a reference
that is independent of Rondel, and times Rondel and ONNX Runtime in turn.
Start reading at the part that is closest to your own model: digits_knn.py, heat.py or speech.py.

Exit code: 0 when every part agrees with its reference, 1 when one does not, 2 when one could not
run.
"""

import argparse
import importlib
import sys
import textwrap

from screen import WIDTH, bold, dim, duration, green, red, table, times

PARTS = {"digits": "digits_knn", "heat": "heat", "speech": "speech"}  #: name to module
TITLES = {
    "digits": "k nearest neighbours on handwritten digits (Scan)",
    "heat": "heat in a rod until it settles (Loop)",
    "speech": "where somebody speaks, by silero-vad (If, LSTM)",
}


def main(arguments=None):
    options = parse(arguments)
    chosen = [options.only] if options.only else list(PARTS)
    outcomes, could_not_run = [], []
    for number, name in enumerate(chosen, 1):
        try:
            outcomes.append(run_part(number, name, options.quick))
        except Exception as failure:  # the other parts may still run
            could_not_run.append(name)
            print(red(f"   could not run: {type(failure).__name__}: {failure}"), flush=True)
            if isinstance(failure, ImportError):
                print("   ./dev setup installs what the demo needs", flush=True)
            print()
    if outcomes:
        print_table(outcomes)
    if could_not_run:
        print(red(f"Could not run: {', '.join(could_not_run)}. The reasons stand above."))
        return 2
    return 0 if all(outcome.agrees for outcome in outcomes) else 1


def parse(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=PARTS, help="run one part alone")
    parser.add_argument("--quick", action="store_true", help="smaller inputs and fewer rounds")
    return parser.parse_args(arguments)


def run_part(number, name, quick):
    """Import a part when its turn comes (scikit-learn takes a second) and run it."""
    print(bold(f"{number}  {TITLES[name]}"), flush=True)
    part = importlib.import_module(PARTS[name])
    outcome = part.run(quick)
    verdict = green("agrees") if outcome.agrees else red("DISAGREES")
    print(
        f"   {verdict} with {outcome.reference}: largest difference {outcome.difference:.1e}, "
        f"allowed {outcome.tolerance:.0e}"
    )
    for fault in outcome.faults:
        print(red(f"   {fault}"))
    print(flush=True)
    return outcome


def print_table(outcomes):
    rows = [
        (
            outcome.part,
            outcome.result,
            f"{outcome.difference:.1e}" + ("" if outcome.agrees else " !"),
            outcome.reference,
            duration(outcome.rondel_seconds),
            duration(outcome.onnxruntime_seconds),
            times(outcome.ratio),
        )
        for outcome in outcomes
    ]
    head = ("part", "result", "difference", "from", "Rondel", "ONNX Runtime", "faster")
    for line in table(head, rows, right=(2, 4, 5, 6)):
        print(line)
    foot = (
        "difference: the largest from the reference. Times: medians of whole runs through Python, "
        "one thread each, Rondel and ONNX Runtime taking turns in one process, loading and first "
        "run not counted."
    )
    print(dim(textwrap.fill(foot, WIDTH)))
    if not all(outcome.agrees for outcome in outcomes):
        print(red("A reference disagrees: see above."))


if __name__ == "__main__":
    sys.exit(main())
