"""`rondel run`: run a model once and show its outputs."""

import os
import pathlib
import re
import time

import numpy as np

import rondel
from rondel.arrays import numpy_dtype

from .table import add_model_options, render, session_options


class UsageError(rondel.CallerError):
    """What stands on the command line cannot be read."""


def add_to(commands):
    parser = commands.add_parser(
        "run",
        help="run a model once and show its outputs",
        description="Runs a model once, prints a table of its outputs and writes them where asked.",
    )
    add_model_options(parser)
    parser.add_argument(
        "-i",
        "--input",
        action="append",
        default=[],
        metavar="NAME=WHAT",
        help="an input: a file (.npy, .pb, or .npz, which may hold several and needs no NAME), or random:f32[2,3]",
    )
    parser.add_argument("-o", "--output", metavar="DIR", help="write each output to DIR as .npy")
    parser.add_argument("--seed", type=int, default=0, help="of random inputs and random ops (0)")
    parser.add_argument("--deadline", type=float, metavar="SECONDS", help="end the run after this time")
    parser.add_argument("--max-trips", type=int, metavar="N", help="trips of any one loop at most")
    parser.add_argument("--interpret", action="store_true", help="use the interpreter only (as RONDEL_JIT=0)")
    parser.set_defaults(act=act)


def act(options):
    chosen = session_options(options)
    chosen.jit = not options.interpret
    if options.max_trips is not None:
        chosen.max_trips = options.max_trips
    session = rondel.InferenceSession(options.model, chosen)
    feeds = read_feeds(options.input, np.random.default_rng(options.seed))
    limits = rondel.RunOptions()
    limits.deadline = options.deadline
    limits.seed = options.seed
    begin = time.perf_counter()
    outputs = session.run(None, feeds, limits)
    took = time.perf_counter() - begin
    names = [port.name for port in session.get_outputs()]
    print(render(("output", "type", "min", "mean", "max", "first values"), [_row(n, v) for n, v in zip(names, outputs)]))
    print(f"\nran in {took * 1e3:.2f} ms")
    if options.output:
        write_outputs(pathlib.Path(options.output), dict(zip(names, outputs)))
    return 0


def read_feeds(texts, rng):
    """Feeds from the command line's NAME=WHAT."""
    feeds = {}
    for text in texts:
        name, equals, what = text.partition("=")
        if not equals and text.endswith(".npz"):
            name, what = "", text
        elif not equals:
            raise UsageError(f"-i {text}: expected NAME=FILE or NAME=random:f32[2,3]")
        if what.startswith("random:"):
            feeds[name] = random_tensor(what.removeprefix("random:"), rng)
        else:
            feeds.update(read_file(name, what))
    return feeds


def read_file(name, path):
    """What a .npy, .npz or .pb file holds, by input name."""
    ending = pathlib.Path(path).suffix
    try:
        if ending == ".npy":
            return {name: np.load(path)}
        if ending == ".npz":
            with np.load(path) as archive:
                if name and name in archive:
                    return {name: archive[name]}
                return {key: archive[key] for key in archive}
        if ending == ".pb":
            import onnx

            tensor = onnx.TensorProto()
            tensor.ParseFromString(pathlib.Path(path).read_bytes())
            return {name or tensor.name: onnx.numpy_helper.to_array(tensor)}
    except (OSError, ValueError) as error:
        raise rondel.CallerError(f"cannot read {path}: {error}") from error
    raise rondel.CallerError(f"{path}: expected a .npy, .npz or .pb file")


def random_tensor(text, rng):
    """'f32[2,3]': floats uniform in [0, 1), integers in [0, 10), bools."""
    match = re.fullmatch(r"(\w+)\[([\d, ]*)\]", text)
    if not match:
        raise UsageError(f"random:{text}: expected a type such as f32[2,3] or i64[]")
    shape = [int(e) for e in match[2].split(",") if e.strip()]
    try:
        dtype = numpy_dtype(match[1])
    except KeyError:
        raise UsageError(f"random:{text}: there is no dtype '{match[1]}'") from None
    if dtype.kind in "iu":
        return rng.integers(0, 10, shape).astype(dtype)
    return rng.random(shape).astype(dtype) if dtype.kind != "b" else rng.random(shape) < 0.5


def write_outputs(folder, outputs):
    """Each output as a .npy file, written whole or not at all; lists get a file an item."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in outputs.items():
        base = re.sub(r"[^\w.-]", "_", name)
        items = {f"{base}.{i}": v for i, v in enumerate(value)} if isinstance(value, list) else {base: value}
        for stem, array in items.items():
            if array is None:
                continue
            part = folder / f".{stem}.part"
            with open(part, "wb") as file:
                np.save(file, array)
            os.replace(part, folder / f"{stem}.npy")
            print(f"wrote {folder / stem}.npy")


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
