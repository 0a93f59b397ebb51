"""`rondel check`: will this model run?"""

import rondel
from rondel.texts import render

from .table import add_model_options, coloured, session_options

_COLOUR = {"error": "31", "warning": "33", "note": "2"}


def add_to(commands):
    parser = commands.add_parser(
        "check",
        help="say whether a model will run",
        description="Says whether a model will run, names each op that will not, and warns where runtimes differ.",
        epilog="exit codes: 0 it will run, 1 no model at all, 2 wrong command line, 3 it will not run",
    )
    add_model_options(parser)
    parser.set_defaults(act=act)


def act(options):
    report = rondel.inspect(options.model, session_options(options))
    if report.findings:
        rows = [(level, where, message) for level, where, message in report.findings]
        text = render(("level", "where", "what"), rows).splitlines()
        for line in text:
            print(coloured(line, _COLOUR.get(line.split(" ", 1)[0], "0")))
        print()
    if report.runs:
        print(coloured(f"{options.model} will run", "32"))
        return 0
    print(coloured(f"{options.model} will not run", "31"))
    return 3
