"""Inputs from the command line."""

import json
import pathlib
import re

import numpy as np

import rondel
from rondel.arrays import element_name, numpy_dtype


FILES = (".npy", ".npz", ".pb")  #: extensions of the files that hold inputs


class UsageError(rondel.CallerError):
    """The command line is wrong."""


def add_input_option(parser, more=""):
    parser.add_argument(
        "-i",
        "--input",
        action="append",
        default=[],
        metavar="NAME=WHAT",
        help="an input: a file (.npy, .pb, or .npz, which may hold several and needs no NAME), a number or lists of them "
        "([[1, 2], [3, 4]]), or random:f32[2,3]" + more,
    )


def read_feeds(session, texts, seed):
    """Feeds of a session's inputs from the command line's NAME=WHAT."""
    rng = np.random.default_rng(seed)
    feeds = {}
    for text in texts:
        name, equals, what = text.partition("=")
        if not equals and text.endswith(".npz"):
            name, what = "", text
        elif not equals:
            raise UsageError(f"-i {text}: expected NAME=FILE, NAME=NUMBERS or NAME=random:f32[2,3]")
        if what.startswith("random:"):
            feeds[name] = random_tensor(what.removeprefix("random:"), rng)
        elif pathlib.Path(what).suffix not in FILES and re.match(r"[-+.\d\[]|true|false", what):
            feeds[name] = literal_tensor(session, name, what)
        else:
            feeds.update(read_file(name, what))
    return feeds


def literal_tensor(session, name, text):
    """'16000' or '[[1, 2], [3, 4]]', in the dtype that the model declares."""
    declared = [port.type for port in session.get_inputs() if port.name == name]
    try:
        return np.array(json.loads(text), numpy_dtype(element_name(declared[0])) if declared else None)
    except (ValueError, TypeError, OverflowError) as error:
        raise UsageError(f"-i {name}={text}: {error}; expected a file, a number or lists of numbers") from None


def read_file(name, path):
    """The arrays in a .npy, .npz or .pb file, by input name."""
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
    except Exception as error:  # exceptions of NumPy, zipfile, protobuf and onnx
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
    try:
        if dtype.kind in "iu":
            return rng.integers(0, 10, shape).astype(dtype)
        return rng.random(shape).astype(dtype) if dtype.kind != "b" else rng.random(shape) < 0.5
    except (ValueError, MemoryError) as error:
        raise UsageError(f"random:{text}: {error}") from None
