"""`rondel deepx`: run a program of deepx instructions, from a file, at a prompt or as a server."""

import argparse
import pathlib
import sys
from functools import partial

import rondel
from rondel import deepx
from rondel.deepx.files import Folder

from .deepx_loads import Recorded
from .deepx_prompt import Prompt
from .exit_codes import UsageError
from .files import path_to_write, print_written, require_all_writable, save_array, write_all
from .numbers import count, seconds


def add_to(commands):
    parser = commands.add_parser(
        "deepx",
        help="run a program of deepx instructions",
        description="Runs a program of deepx instructions, one per line (docs/deepx.md), and prints what its lines `print`. "
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
    parser.add_argument("--deadline", type=seconds, metavar="SECONDS", help="when `serve` ends the lines of one datagram (60)")
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
    if options.deadline is not None:
        raise UsageError("--deadline: expected `rondel deepx serve --deadline SECONDS`")
    dumps = _dumps(options.dump)
    require_all_writable([(path, option) for path, _, option in dumps] + ([(options.onnx, f"--onnx {options.onnx}")] if options.onnx else []), options.program)
    recorded = Recorded(Folder(options.folder, options.max_memory)) if options.onnx and options.folder else None
    session = make_session(options, recorded or options.folder)
    on_line = recorded and recorded.on_line
    if options.program is None and sys.stdin.isatty():
        text, failures = Prompt(session, on_line=on_line).run(), []
    else:
        text = _program(options.program)
        failures = _run(session, text, options, on_line)
    for failure in failures:
        print(f"rondel: {failure}", file=sys.stderr)
    _write_dumps(session, dumps)
    if options.onnx:
        with path_to_write(options.onnx) as path:
            report = make_session(options, recorded and recorded.replay()).export(_without(text, failures), path)
    print_written(path for path, _, _ in dumps)
    if options.onnx:
        print(f"wrote {options.onnx}: opset {report.opset}")
    return 1 if failures else 0


def _run(session, text, options, on_line):
    """The failures of a program. That nobody reads what it prints is an error only where files would be written after it."""
    try:
        return session.run(text, keep_going=options.keep_going, on_line=on_line)
    except BrokenPipeError as error:
        if not (options.dump or options.onnx):
            raise
        raise rondel.CallerError("standard output was closed before the program ended; no file is written") from error


def _program(path):
    try:
        return sys.stdin.buffer.read() if path in (None, "-") else pathlib.Path(path).read_bytes()
    except OSError as error:
        raise rondel.CallerError(f"{path or '-'}: the program cannot be read: {error.strerror or error}") from error


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
    for option in ("keep_going", "dump", "onnx"):
        if getattr(options, option):
            raise UsageError(f"--{option.replace('_', '-')}: expected a program; `rondel deepx serve` goes on after a line that fails, and writes no file")
    with deepx.Server(make_session(options, options.folder), options.udp or "127.0.0.1:8080", deadline=60 if options.deadline is None else options.deadline) as server:
        print(f"listening on udp {server.address}; Ctrl-C ends", flush=True)
        try:
            server.serve()
        except KeyboardInterrupt:
            return 0


def make_session(options, folder):
    """A session with the options of the command line."""
    return deepx.Session(folder, options.max_memory, seed=options.seed)


def _dumps(texts):
    """[(path, name, option)] from the options --dump."""
    found = []
    for text in texts:
        name, equals, path = text.partition("=")
        if not (name and equals and path):
            raise UsageError(f"--dump {text}: expected NAME=FILE.npy")
        found.append((pathlib.Path(path), name, f"--dump {text}"))
    return found


def _write_dumps(session, dumps):
    for _, name, option in dumps:
        if name not in session:
            raise rondel.CallerError(f"{option}: there is no '{name}' at the end of the program")
    write_all({path: partial(save_array, session[name]) for path, name, _ in dumps}, {path: option for path, _, option in dumps})
