"""Colours on a terminal, and the options that all commands share."""

import os
import sys


def coloured(text, code, stream=None):
    stream = stream or sys.stdout
    if not stream.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return f"\033[{code}m{text}\033[0m"


def add_model_options(parser, many=False):
    """Arguments that every command has."""
    parser.add_argument("model", metavar="MODEL", nargs="+" if many else None,
                        help="ONNX files, or models in MDF (.json, .yaml)" if many else "an ONNX file, or a model in MDF (.json, .yaml)")  # fmt: skip
    parser.add_argument(
        "--loop-cond",
        choices=["spec", "honour"],
        default="spec",
        help='what a body\'s cond means where Loop\'s cond is "": ignored (spec, the default), or it stops the loop',
    )
    parser.add_argument("--external-data-dir", metavar="DIR", help="where external data may be read from")
    add_ops_options(parser)


def add_ops_options(parser):
    parser.add_argument("--ops", metavar="FILE.py", action="append", default=[], help="run this file first: it registers ops of your own (rondel.register_op)")
    parser.add_argument("--custom", metavar="MODULE", action="append", default=[], help="import this module first, which registers ops of your own")


def session_options(options):
    """rondel.SessionOptions from the command line."""
    import rondel

    chosen = rondel.SessionOptions()
    chosen.loop_cond = options.loop_cond
    if options.external_data_dir:
        chosen.external_data_dir = options.external_data_dir
    return chosen
