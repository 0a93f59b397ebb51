"""The command `rondel`: run, inspect, check, convert and differentiate models.

Exit codes: 0 done; 1 the model or input is wrong; 2 the command line is wrong; 3 not supported yet (`check` and
`inspect`: the model will not run, for any reason); 4 a budget or deadline was exceeded; 5 a bug of ours.
"""

import argparse
import contextlib
import sys
import warnings

import rondel

from . import bench, cache, check, compile, completion, convert, deepx, grad, inspect, mdf, run, serve
from .exit_codes import exit_code
from .own_ops import load_ops
from .table import coloured

def make_parser():
    parser = argparse.ArgumentParser(
        prog="rondel",
        description="Runs ONNX models with loops in them (Loop, Scan, If), natively.",
        epilog="exit codes: 0 done, 1 wrong model or input, 2 wrong command line, 3 not supported yet, "
        "4 budget or deadline, 5 a bug of ours\n\n"
        "first steps:\n"
        "  rondel check model.onnx                     will it run?\n"
        "  rondel inspect model.onnx                   what is in it, and what do its loops carry?\n"
        "  rondel run model.onnx -i x=random:f32[2,3]  run it and show the outputs\n"
        "  rondel bench model.onnx                     how fast is it, beside ONNX Runtime?\n"
        "  rondel convert model.onnx -o clean.onnx     write it as standard ONNX for other runtimes\n"
        "  rondel compile model.onnx -o model.so       compile it ahead of time, for C and Python\n"
        "  rondel grad model.onnx --wrt W -o grad.onnx  write it with its gradient by W\n"
        "  rondel deepx program.deepx                  run a program of deepx instructions\n"
        "  rondel mdf model.json --steps 100 --dt 0.1  run a model in MDF\n"
        "  rondel serve model.onnx                     serve it over HTTP and gRPC",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"rondel {rondel.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for module in (run, inspect, check, bench, convert, compile, grad, deepx, mdf, serve, cache, completion):
        module.add_to(commands)
    return parser


@contextlib.contextmanager
def _warnings_on_stderr():
    """Prints a warning about a model as one line, without the place in our own code."""

    def show(message, category, filename, lineno, file=None, line=None):
        print(coloured(f"rondel: warning: {message}", "33", sys.stderr), file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("always", rondel.ModelWarning)
        warnings.showwarning = show
        yield


def main(arguments=None):
    options = make_parser().parse_args(arguments)
    try:
        with _warnings_on_stderr():
            load_ops(options)
            return options.act(options)
    except rondel.Error as error:
        print(f"rondel: {error}", file=sys.stderr)
        return exit_code(error)
    except BrokenPipeError:
        return 0
    except MemoryError as error:
        print(f"rondel: out of memory: {error}", file=sys.stderr)
        return 4
    except OSError as error:
        print(f"rondel: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("rondel: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
