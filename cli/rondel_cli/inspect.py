"""`rondel inspect`: what is in this model?"""

import argparse
import pathlib
import sys
import time

import rondel
from rondel.inspection import graph_html, schedule_text
from rondel.replacing import is_special
from rondel.texts import finding_text, render, report_text

from .exit_codes import UsageError
from .feeds import add_input_option, read_feeds
from .files import print_written, write_all
from .table import add_model_options, coloured, session_options


def add_to(commands):
    parser = commands.add_parser(
        "inspect",
        help="show inputs, outputs, ops, and what the loops carry",
        description="Prints inputs, outputs, opsets, op counts, and each loop with what it carries, what ends it and "
        "how it runs. For a model that will not run: what the file declares, and what is wrong.",
        epilog="exit codes: 0 it will run, 1 no model at all, 2 wrong command line, 3 it will not run\n\n"
        "examples:\n"
        "  rondel inspect model.onnx --ir | less\n"
        "  rondel inspect model.onnx --html graph.html                      a page that draws it\n"
        "  rondel inspect model.onnx --schedule                             each loop nest, and why it is so\n"
        "  rondel inspect model.onnx -i x=random:f32[1,512] -i rate=16000   how the loops run for these shapes",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_model_options(parser)
    add_input_option(parser, "; with inputs the model is run, to show how its loops and ifs run for these shapes")
    parser.add_argument("--ir", action="store_true", help="print the graph as imported, as text")
    parser.add_argument("--compiled", action="store_true", help="with --ir: as compiled rather than as imported")
    parser.add_argument("--passes", action="store_true", help="list the passes as they ran: time, what changed, and for each loop what was done and why no more")
    parser.add_argument(
        "--schedule",
        action="store_true",
        help="show each loop nest of the compiled model: which nodes it computes (fused, by rows, computed at, tiled), where results are "
        "stored, what is vectorised, unrolled or parallel, and why it is so",
    )
    parser.add_argument("--html", metavar="FILE.html", help="write a page that draws the graph, in which loops and ifs are boxes that open")
    parser.add_argument("--after", metavar="PASS", help="print the graph after each run of PASS that changed it, as text (--passes lists them; PIPELINE/PASS for one of several)")
    parser.set_defaults(act=act)


def act(options):
    _require_one_report(options)
    if options.html is not None and pathlib.Path(options.html).suffix != ".html" and not is_special(options.html):
        raise UsageError(f"--html {options.html}: expected a file that ends in .html, or a pipe")
    if options.ir:
        session = rondel.InferenceSession(options.model, session_options(options))
        print(session.ir_text(imported=not options.compiled), end="")
        return 0
    if options.schedule:
        print(schedule_text(options.model, session_options(options)), end="")
        return 0
    if options.passes or options.after is not None:
        return _print_passes(options)
    report = rondel.inspect(options.model, session_options(options))
    ran = _how_it_ran(options) if report.runs and options.input else {}
    for part in report.loops + report.branches:
        part["execution"] = ran.get(part["name"], "as part of the loop or If around it, or not reached" if ran else part["execution"])
    if options.html is not None and report.runs:
        _write_page(options, report)
        return 0
    print(report_text(report))
    if report.runs:
        return 0
    sys.stdout.flush()
    for finding in report.findings:
        print(finding_text(finding), file=sys.stderr)
    return 3


def _require_one_report(options):
    """Each of these options asks for a report of its own."""
    given = [f"--{name}" for name in ("ir", "passes", "after", "schedule", "html") if getattr(options, name) not in (None, False)]
    if len(given) > 1 and given != ["--passes", "--after"]:
        raise UsageError(f"{' and '.join(given)}: expected one of them")
    if options.compiled and not options.ir:
        raise UsageError("--compiled: expected --ir beside it")
    if options.input and given not in ([], ["--html"]):
        raise UsageError(f"{given[0]}: expected no --input beside it, since the model is not run")


def _write_page(options, report):
    text = graph_html(options.model, session_options(options), report)
    path = pathlib.Path(options.html)
    write_all({path: lambda file: file.write(text.encode(errors="replace"))}, {path: "--html"})
    print_written([path])


def _how_it_ran(options):
    """A loop that runs step by step at first may run natively when the same shapes come again: it is given a second for that."""
    session = rondel.InferenceSession(options.model, session_options(options))
    feeds = read_feeds(session, options.input, seed=0)
    session.run(None, feeds)
    end = time.monotonic() + 1
    again = True
    while again and any(how.startswith("step by step") for how in session.how_it_ran().values()):
        session.run(None, feeds)
        again = time.monotonic() < end
    return session.how_it_ran()


def _print_passes(options):
    runs = rondel.trace_passes(options.model, session_options(options), options.after or "")
    if options.passes:
        rows = [
            (r.pipeline, r.round, r.name, "yes" if r.changed else "", r.nodes, f"{r.seconds * 1e3:.3f}") for r in runs
        ]
        header = ("pipeline", "round", "pass", "changed", "nodes", "ms")
        print(render(header, rows, right=("round", "nodes", "ms")))
        _print_remarks(runs)
    with_text = [r for r in runs if r.text]
    for r in [r for r in with_text if r.changed] or with_text[:1]:
        print(f"// after {r.pipeline}/{r.name}, round {r.round}: {'changed' if r.changed else 'nothing changed'}")
        print(r.text, end="")
    return 0


def _print_remarks(runs):
    """For each loop, what each pass did to it and why it did no more: the reason of its last run holds."""
    loops = {}  # loop -> pass -> [(done, text)]
    for run in runs:
        for of_pass in loops.values():
            if run.name in of_pass:
                of_pass[run.name] = [said for said in of_pass[run.name] if said[0]]
        for loop, done, text in run.remarks:
            said = loops.setdefault(loop, {}).setdefault(run.name, [])
            if (done, text) not in said:
                said.append((done, text))
    width = max((len(name) for of_pass in loops.values() for name in of_pass), default=0)
    for loop, of_pass in loops.items():
        print(f"\nloop {loop}")
        for name, said in of_pass.items():
            for done, text in said:
                print(f"  {name:{width}}  {text if done else coloured(text, 2)}")
