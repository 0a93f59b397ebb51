"""`rondel grad`: write a model with its gradient."""

import argparse
import pathlib

import rondel
from rondel.gradients import grad_bytes
from rondel.texts import render

from .files import print_written, require_all_writable, write_all
from .table import add_model_options, session_options


def add_to(commands):
    parser = commands.add_parser(
        "grad",
        help="write a model with its gradient",
        description="Writes the model as standard ONNX with more outputs: the gradient by each of --wrt, which any runtime\n"
        "can run. Inputs and outputs keep their names; the gradient by W is grad_W, of W's shape.",
        epilog="examples:\n"
        "  rondel grad model.onnx --wrt W,b -o grad.onnx                       of the scalar outputs\n"
        "  rondel grad model.onnx --wrt x --outputs y --seed dy -o vjp.onnx    of y, each element times dy's",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_model_options(parser)
    parser.add_argument("--wrt", required=True, type=_names, metavar="NAMES", help="inputs or initializers, separated by commas")
    parser.add_argument("-o", "--output", required=True, metavar="OUT.onnx", help="the file to write")
    parser.add_argument("--outputs", type=_names, metavar="NAMES", help="what is differentiated (all scalar float outputs)")
    parser.add_argument("--seed", type=_names, metavar="NAMES", help="new inputs: the factors of the outputs' elements (ones)")
    parser.add_argument("--stop-gradient", type=_names, default=[], metavar="NAMES", help="values that nothing flows through")
    parser.add_argument(
        "--checkpoint",
        default="none",
        metavar="none|sqrt|N",
        help="keep only every sqrt(trips)-th (or N-th) trip's states of a loop, and run the trips between them again (none)",
    )
    parser.add_argument("--prefix", default="grad_", help="what the names of gradients begin with (grad_)")
    parser.set_defaults(act=act)


def act(options):
    path = pathlib.Path(options.output)
    require_all_writable([(path, "")], options.model)
    data = grad_bytes(
        options.model,
        options.wrt,
        options.outputs,
        options.seed,
        stop_gradient=options.stop_gradient,
        checkpoint=options.checkpoint,
        prefix=options.prefix,
        sess_options=session_options(options),
    )
    written = rondel.inspect(data)
    write_all({path: lambda file: file.write(data)})
    print_written([path])
    rows = [(options.prefix + name, name) for name in options.wrt]
    print(f"\n{render(('output', 'gradient by'), rows)}")
    print(f"\n{sum(written.op_counts.values())} nodes, opset {written.opsets['ai.onnx']}")
    return 0


def _names(text):
    return [name.strip() for name in text.split(",") if name.strip()]
