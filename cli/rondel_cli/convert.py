"""`rondel convert`: write a model as standard ONNX."""

import argparse
import pathlib

import rondel
from rondel.texts import human_bytes, render

from .files import path_to_write
from .table import add_model_options, session_options


def add_to(commands):
    parser = commands.add_parser(
        "convert",
        help="write a model as standard ONNX",
        description="Reads a model and writes it as standard ONNX that onnx's checker accepts and other runtimes\n"
        "read: functions inlined, names made unique, each loop a Scan where Scan can express it, else a Loop.",
        epilog="examples:\n"
        "  rondel convert model.onnx -o clean.onnx              in the usual opset\n"
        "  rondel convert model.onnx -o old.onnx --opset 17     for a runtime that reads no newer one\n"
        "  rondel convert big.onnx -o big2.onnx --external-data weights in big2.onnx.data, beside the model",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_model_options(parser)
    parser.add_argument("-o", "--output", required=True, metavar="OUT.onnx", help="the file to write")
    parser.add_argument(
        "--opset",
        type=int,
        metavar="N",
        help="opset to write (21, or, if that lacks ops or types of the model, the lowest that has them all); "
        "in an older opset, newer ops are written as the small graphs that define them, where they have one",
    )
    parser.add_argument(
        "--external-data",
        action="store_true",
        help="put the weights into OUT.onnx.data, as is always done for a model above 2 GiB",
    )
    parser.add_argument("--compiled", action="store_true", help="write the graph as compiled rather than as read")
    parser.add_argument("--no-assertions", action="store_true", help="leave assertions out; the written model then does not check them")
    parser.set_defaults(act=act)


def act(options):
    with path_to_write(options.output) as path:
        report = rondel.export(
            options.model,
            path,
            opset=options.opset,
            external_data=options.external_data,
            compiled=options.compiled,
            assertions=not options.no_assertions,
            sess_options=session_options(options),
        )
    rows = sorted(report.op_counts.items(), key=lambda item: (-item[1], item[0]))
    print(render(("op", "count"), rows, right=("count",)))
    if report.loops:
        print("\n" + render(("loop", "written as", "because"), report.loops))
    for note in report.notes:
        print(f"\nnote: {note}")
    print(f"\nwrote {options.output}: opset {report.opset}, {human_bytes(report.bytes)}")
    if report.external_bytes:
        print(f"wrote {pathlib.Path(path)}.data: {human_bytes(report.external_bytes)}")
    return 0

