"""Aligned tables, colours on a terminal, and the options that all commands share."""

import os
import sys


def render(header, rows, right=()):
    """Rows of strings under a header; columns named in `right` are set flush right."""
    table = [list(header)] + [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[c]) for row in table) for c in range(len(header))]
    lines = []
    for row in table:
        cells = [
            cell.rjust(width) if name in right else cell.ljust(width)
            for cell, width, name in zip(row, widths, header)
        ]
        lines.append("  ".join(cells).rstrip())
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def coloured(text, code, stream=None):
    stream = stream or sys.stdout
    if not stream.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return f"\033[{code}m{text}\033[0m"


def port_text(port):
    """'x: tensor(float)[N, 3]'"""
    shape = "" if port.shape is None else "[" + ", ".join("?" if e is None else str(e) for e in port.shape) + "]"
    return f"{port.name}: {port.type or '(no type declared)'}{shape if port.type else ''}"


def add_model_options(parser):
    """Arguments that every command has."""
    parser.add_argument("model", metavar="MODEL", help="an ONNX file")
    parser.add_argument(
        "--loop-cond",
        choices=["spec", "honour"],
        default="spec",
        help='what a body\'s cond means where Loop\'s cond is "": ignored (spec, the default), or it stops the loop',
    )
    parser.add_argument("--external-data-dir", metavar="DIR", help="where external data may be read from")


def session_options(options):
    """rondel.SessionOptions from the command line."""
    import rondel

    chosen = rondel.SessionOptions()
    chosen.loop_cond = options.loop_cond
    if options.external_data_dir:
        chosen.external_data_dir = options.external_data_dir
    return chosen
