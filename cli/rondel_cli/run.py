"""`rondel run`: run a model once and show its outputs."""

import argparse
import pathlib
import re
import time
from functools import partial

import numpy as np

import rondel
from rondel.texts import render

from .exit_codes import UsageError
from .feeds import add_input_option, read_feeds
from .files import write_all
from .table import add_model_options, session_options


def add_to(commands):
    parser = commands.add_parser(
        "run",
        help="run a model once and show its outputs",
        description="Runs a model once, prints a table of its outputs and writes them where asked.",
        epilog="examples:\n"
        "  rondel run model.onnx -i x=random:f32[2,3]        random numbers, [0, 1) or 0 to 9\n"
        "  rondel run model.onnx -i x=x.npy -i n=n.pb -o out  from files, and to files\n"
        "  rondel run model.onnx -i rate=16000                a number, or nested lists of them\n"
        "  rondel run model.onnx -i feeds.npz                 several inputs by their names\n\n"
        "exit codes: 0 done, 1 wrong model or input, 2 wrong command line, 3 not supported yet, "
        "4 a budget or deadline, 5 a bug of ours",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_model_options(parser)
    add_input_option(parser)
    parser.add_argument(
        "-o", "--output", metavar="DIR", help="write each output to DIR as NAME.npy: all of them, or on failure none"
    )
    parser.add_argument("--seed", type=count, default=0, metavar="N", help="the seed of random inputs and random ops (0)")
    parser.add_argument("--deadline", type=seconds, metavar="SECONDS", help="end the run after this time")
    parser.add_argument("--max-trips", type=count, metavar="N", help="the most trips of any one loop")
    parser.add_argument("--max-memory", type=count, metavar="BYTES", help="the most memory that the run may hold at once")
    parser.add_argument("--threads", type=count, metavar="N", help="threads of one op (as many as there are cores)")
    parser.add_argument("--interpret", action="store_true", help="use the interpreter only (as RONDEL_JIT=0)")
    parser.set_defaults(act=act)


def count(text):
    """The value of an option that takes an integer of 0 or more."""
    if not text.isdigit() or int(text) >= 2**63:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of 0 or more, below 2**63")
    return int(text)


def seconds(text):
    try:
        if float(text) >= 0:
            return float(text)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"'{text}' is not a time in seconds, 0 or more")


def act(options):
    folder = output_folder(options.output)
    chosen = session_options(options)
    chosen.jit = not options.interpret
    for name, value in (
        ("max_trips", options.max_trips),
        ("max_memory_bytes", options.max_memory),
        ("intra_op_num_threads", options.threads),
    ):
        if value is not None:
            setattr(chosen, name, value)
    session = rondel.InferenceSession(options.model, chosen)
    feeds = read_feeds(session, options.input, options.seed)
    limits = rondel.RunOptions()
    limits.deadline = options.deadline
    limits.seed = options.seed
    begin = time.perf_counter()
    outputs = session.run(None, feeds, limits)
    took = time.perf_counter() - begin
    names = [port.name for port in session.get_outputs()]
    print(render(("output", "type", "min", "mean", "max", "first values"), [_row(n, v) for n, v in zip(names, outputs)]))
    print(f"\nran in {took * 1e3:.2f} ms")
    if folder:
        write_outputs(folder, dict(zip(names, outputs)))
    return 0


def output_folder(name):
    """The folder for the outputs, or None; an error, before anything runs, if it cannot be one."""
    if name is None:
        return None
    folder = pathlib.Path(name)
    for place in (folder, *folder.parents):
        if place.exists() and not place.is_dir():
            raise UsageError(f"-o {name}: {place} is a file; expected a folder, in which each output becomes a .npy file")
    return folder


def write_outputs(folder, outputs):
    """Writes all outputs or none, each to a .npy file; a list gets one file per item."""
    files = {}
    for name, value in outputs.items():
        items = {f"{name}.{i}": v for i, v in enumerate(value)} if isinstance(value, list) else {name: value}
        for stem, array in items.items():
            if array is not None:
                files[_free_name(re.sub(r"[^\w.-]", "_", stem), files)] = array
    folder.mkdir(parents=True, exist_ok=True)
    write_all({folder / f"{stem}.npy": partial(_save, array) for stem, array in files.items()})


def _save(array, file):
    np.save(file, array.astype(str) if array.dtype == object else array, allow_pickle=False)


def _free_name(stem, taken):
    """The stem, with a number if it is taken: names may differ only in characters that were replaced."""
    number, free = 1, stem
    while free in taken:
        number, free = number + 1, f"{stem}_{number + 1}"
    return free


def _row(name, value):
    if value is None:
        return (name, "optional", "", "", "", "(empty)")
    if isinstance(value, list):
        return (name, f"list of {len(value)}", "", "", "", ", ".join(_type(v) for v in value[:3]))
    first = ", ".join(_number(v) for v in value.reshape(-1)[:4]) + (", ..." if value.size > 4 else "")
    if value.size == 0 or value.dtype.kind in "Oc":
        return (name, _type(value), "", "", "", first)
    wide = value.astype(np.float64)
    return (name, _type(value), _number(wide.min()), _number(wide.mean()), _number(wide.max()), first)


def _type(array):
    return f"{array.dtype}{list(array.shape)}" if array.dtype != object else f"string{list(array.shape)}"


def _number(v):
    return repr(v) if isinstance(v, str) else f"{v:.5g}" if isinstance(v, (float, np.floating)) else str(v)
