"""The command `rondel`: run, inspect, check, convert and differentiate models.

Exit codes: 0 done; 1 the model or input is wrong; 2 the command line is wrong; 3 not supported yet (`check` and
`inspect`: the model will not run, for any reason); 4 a budget or deadline was exceeded; 5 a bug of ours; 130 ended by Ctrl-C.
"""

import argparse
import contextlib
import difflib
import os
import shlex
import sys
import warnings

import rondel

from . import bench, cache, check, compile, completion, convert, deepx, grad, inspect, mdf, run, serve
from .exit_codes import exit_code
from .own_ops import load_ops
from .table import coloured


class _Parser(argparse.ArgumentParser):
    """A parser whose command, rather than the command `rondel`, tells of arguments that it does not know."""

    def parse_known_args(self, args=None, namespace=None):
        options, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown):.200}{self._nearest(unknown[0])}")
        return options, unknown

    def _nearest(self, word):
        name, equals, _ = word.partition("=")
        options = [text for action in self._actions for text in action.option_strings]
        if not name.startswith("-"):
            return f"; did you mean -i {shlex.quote(word[:100])}?" if equals and "-i" in options else ""
        near = difflib.get_close_matches(name, options, 1)
        return f"; did you mean {near[0]}?" if near else ""

    def error(self, message):
        with _closed_is_fine(sys.stderr):
            super().error(message)
        sys.exit(2)


def make_parser():
    parser = _Parser(
        prog="rondel",
        description="Runs tensor programs with loops in them, natively: ONNX models (Loop, Scan, If), models in MDF, programs of deepx.",
        epilog="exit codes: 0 done, 1 wrong model or input, 2 wrong command line, 3 not supported yet, "
        "4 budget or deadline, 5 a bug of ours, 130 ended by Ctrl-C\n\n"
        "first steps:\n"
        "  rondel check model.onnx                     will it run?\n"
        "  rondel inspect model.onnx                   what is in it, and what do its loops carry?\n"
        "  rondel run model.onnx -i x=random:f32[2,3]  run it and show the outputs\n"
        "  rondel bench model.onnx                     how fast is it, beside ONNX Runtime?\n"
        "  rondel convert model.onnx -o clean.onnx     write it as standard ONNX for other runtimes\n"
        "  rondel compile model.onnx -o model.so       compile it ahead of time, for C and Python\n"
        "  rondel grad model.onnx --wrt W -o g.onnx    write it with its gradient by W\n"
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
        _say(coloured(f"rondel: warning: {message}", "33", sys.stderr))

    with warnings.catch_warnings():
        warnings.simplefilter("always", rondel.ModelWarning)
        warnings.showwarning = show
        yield


#: Options of the library that errors name, and those of the command line.
_BUDGETS = {"max_trips": "max_trips", "max_memory_bytes": "max_memory"}


def _option_of(error, options):
    """The option of the command line that raises the budget that an error names."""
    if not isinstance(error, rondel.LimitExceeded):
        return ""
    named = [ours for theirs, ours in _BUDGETS.items() if theirs in str(error) and hasattr(options, ours)]
    return "".join(f"; here it is --{name.replace('_', '-')}" for name in named)


def _say(text):
    """Prints a line to standard error, if anybody reads it."""
    with _closed_is_fine(sys.stderr):
        print(text, file=sys.stderr)


@contextlib.contextmanager
def _closed_is_fine(stream):
    """Ends the block where nobody reads the stream any more."""
    try:
        yield
    except BrokenPipeError:
        _discard(stream)


def _discard(stream):
    """Drops what a stream has not yet written, and all that comes after it."""
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())


class _Output:
    """Standard output. failure: the last error of writing to it, which looks like that of any file without a name."""

    def __init__(self, stream):
        self._stream, self.failure = stream, None

    def __getattr__(self, name):
        return getattr(self._stream, name)

    def write(self, text):
        with self._noted():
            return self._stream.write(text)

    def flush(self):
        with self._noted():
            self._stream.flush()

    @contextlib.contextmanager
    def _noted(self):
        try:
            yield
        except OSError as error:
            self.failure = error
            raise


def main(arguments=None):
    """Runs a command; returns its exit code. A reader that closes standard output early, as `head` does, is no error."""
    _require_streams()
    code, output = 0, _Output(sys.stdout)
    try:
        with contextlib.redirect_stdout(output):
            try:
                code = _act(make_parser().parse_args(arguments), output)
            finally:
                output.flush()
    except OSError as error:  # of standard output: other ones do not leave _act
        _discard(output)
        if not isinstance(error, BrokenPipeError):
            _say(f"rondel: standard output: {error.strerror}")
            return 1
    return code


def _require_streams():
    """Puts the null device in the place of standard streams that are closed. Characters that the encoding of standard output does not
    have are written as \\u2192, as standard error writes them."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))
    if getattr(sys.stdout, "errors", None) in ("strict", "surrogateescape") and hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")


def _act(options, output):
    try:
        with _warnings_on_stderr():
            load_ops(options)
            return options.act(options)
    except rondel.Error as error:
        _say(f"rondel: {error}{_option_of(error, options)}")
        return exit_code(error)
    except MemoryError as error:
        _say(f"rondel: out of memory: {error}")
        return 4
    except OSError as error:
        if error is output.failure or isinstance(error, BrokenPipeError):
            raise
        _say(f"rondel: {error}")
        return 1
    except KeyboardInterrupt:
        _say("rondel: interrupted")
        return 130


if __name__ == "__main__":
    sys.exit(main())
