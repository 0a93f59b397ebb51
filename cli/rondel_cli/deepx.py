"""`rondel deepx`: run a program of deepx instructions, at a prompt or as a server, too."""

import argparse
import pathlib
import sys
from functools import partial

import numpy as np

import rondel
from rondel import deepx

from .deepx_prompt import Prompt
from .feeds import UsageError
from .files import write_all
from .run import count


def add_to(commands):
    parser = commands.add_parser(
        "deepx",
        help="run a program of deepx instructions",
        description="Runs a program of deepx instructions, one a line (docs/deepx.md), and prints what its lines `print`. "
        "Without FILE, on a terminal, it is a prompt.",
        epilog="examples:\n"
        "  rondel deepx train.deepx                         run a file\n"
        "  echo 'argset@int32 1->a' | rondel deepx -        run standard input\n"
        "  rondel deepx train.deepx --dump w=w.npy          and write what a name holds at the end\n"
        "  rondel deepx net.deepx --onnx net.onnx           and write the program as an ONNX model\n"
        "  rondel deepx                                     a prompt, with help, completion and history\n"
        "  rondel deepx serve --udp 127.0.0.1:8080          answer the lines of datagrams\n\n"
        "exit codes: 0 done, 1 a line is wrong, 2 wrong command line, 3 not supported yet, 4 the memory budget, "
        "5 a bug of ours; with --keep-going 1 if any line failed",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("program", nargs="?", metavar="FILE", help="the program; -, or nothing where there is no terminal: standard input; "
                        "the word serve: datagrams")  # fmt: skip
    parser.add_argument("--udp", metavar="HOST:PORT", help="where `serve` listens (127.0.0.1:8080: this machine only; port 0: any free one)")
    parser.add_argument("--folder", metavar="DIR", help="where save, load and loadtensordata may read and write, and below")
    parser.add_argument("--max-memory", type=count, metavar="BYTES", help="the most memory that tensors and their computation may hold")
    parser.add_argument("--seed", type=count, default=0, metavar="N", help="the seed of draws that have none of their own (0)")
    parser.add_argument("--keep-going", action="store_true", help="leave a line out that fails, and run the next ones")
    parser.add_argument("--dump", action="append", default=[], metavar="NAME=FILE.npy", help="write what a name holds at the end; may be repeated")
    parser.add_argument("--onnx", metavar="FILE.onnx", help="write the program as an ONNX model, whose outputs are the tensors there are at its end")
    parser.set_defaults(act=act)


def act(options):
    if options.program == "serve":
        return _serve(options)
    if options.udp:
        raise UsageError("--udp: expected `rondel deepx serve --udp HOST:PORT`")
    dumps = [_dump(text) for text in options.dump]
    session = make_session(options)
    if options.program is None and sys.stdin.isatty():
        text, failures = Prompt(session).run(), []
    else:
        text = _program(options.program)
        failures = session.run(text, keep_going=options.keep_going)
    for failure in failures:
        print(f"rondel: {failure}", file=sys.stderr)
    _write_dumps(session, dumps)
    if options.onnx:
        report = make_session(options).export(_without(text, failures), options.onnx)
        print(f"wrote {options.onnx}: opset {report.opset}")
    return 1 if failures else 0


def _program(path):
    return sys.stdin.buffer.read() if path in (None, "-") else pathlib.Path(path).read_bytes()


def _without(text, failures):
    """The program without the lines that failed, or the blocks that hold them."""
    failed = {failure.line for failure in failures}
    if not failed:
        return text
    kept, statement = [], []
    for number, line in enumerate(text.split(b"\n"), 1):
        statement.append(line)
        if deepx.ends_in_block(b"\n".join(statement)):
            continue
        if failed.isdisjoint(range(number - len(statement) + 1, number + 1)):
            kept += statement
        statement = []
    return b"\n".join(kept)


def _serve(options):
    with deepx.Server(make_session(options), options.udp or "127.0.0.1:8080") as server:
        print(f"listening on udp {server.address}; Ctrl-C ends", flush=True)
        try:
            server.serve()
        except KeyboardInterrupt:
            return 0


def make_session(options):
    """A session as the options say."""
    return deepx.Session(options.folder, options.max_memory, seed=options.seed)


def _dump(text):
    name, equals, path = text.partition("=")
    if not (name and equals and path):
        raise UsageError(f"--dump {text}: expected NAME=FILE.npy")
    return name, pathlib.Path(path)


def _write_dumps(session, dumps):
    for name, _ in dumps:
        if name not in session:
            raise rondel.CallerError(f"--dump {name}: there is no '{name}' at the end of the program")
    write_all({path: partial(_save, session[name]) for name, path in dumps})


def _save(array, file):
    np.save(file, array, allow_pickle=False)
