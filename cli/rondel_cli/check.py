"""`rondel check`: will this model run?"""

import sys

import rondel
from rondel.texts import render

from .exit_codes import exit_code
from .table import add_model_options, coloured, session_options

_COLOUR = {"error": "31", "warning": "33", "note": "2"}


def add_to(commands):
    parser = commands.add_parser(
        "check",
        help="say whether a model will run",
        description="Says whether models will run, names each op that will not, and warns where runtimes differ.",
        epilog="exit codes: 0 all will run, 1 one is no model at all, 2 wrong command line, 3 one will not run",
    )
    add_model_options(parser, many=True)
    parser.set_defaults(act=act)


def act(options):
    codes = [_check(model, options) for model in options.model]
    return 1 if 1 in codes else max(codes)


def _check(model, options):
    try:
        report = rondel.inspect(model, session_options(options))
    except rondel.Error as error:
        if len(options.model) == 1:
            raise
        print(f"rondel: {model}: {error}", file=sys.stderr)
        return exit_code(error)
    if report.findings:
        rows = [(level, where, message) for level, where, message in report.findings]
        text = render(("level", "where", "what"), rows).splitlines()
        for line in text:
            print(coloured(line, _COLOUR.get(line.split(" ", 1)[0], "0")))
        print()
    if report.runs:
        print(coloured(f"{model} will run", "32"))
        return 0
    print(coloured(f"{model} will not run", "31"))
    return 3
