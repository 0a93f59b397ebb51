"""Inputs from the command line."""

import argparse
import contextlib
import json
import pathlib
import re
import shlex

import numpy as np

import rondel
from rondel.arrays import element_name, numbers_as, numpy_dtype
from rondel.models import require_onnx

from .exit_codes import UsageError
from .numbers import whole_number


FILES = (".npy", ".npz", ".pb")  #: extensions of the files that hold inputs
_NUMBERS = re.compile(r"[-+.\d\[]|true|false|(?i:nan|inf|infinity)\s*(,|$)")  #: what begins numbers, rather than the name of a file


def add_input_option(parser, more=""):
    parser.add_argument(
        "-i",
        "--input",
        action="append",
        default=[],
        metavar="NAME=WHAT",
        help="an input: a file (.npy, .pb, or .npz, which may hold several and needs no NAME), a number or lists of them "
        "(1,2,3 or [[1, 2], [3, 4]]), or random:f32[2,3]" + more,
    )


def extents_option(parser):
    parser.add_argument(
        "--extent",
        type=_named_extent,
        action="append",
        default=[],
        metavar="NAME=N",
        help="an extent that the model leaves open, for inputs that are not given; N alone: all others (1)",
    )


def _named_extent(text):
    name, equals, digits = text.rpartition("=")
    number = whole_number(digits)
    if number is None or (equals and not name):
        raise argparse.ArgumentTypeError(f"'{text:.100}' is not NAME=N or N, where N is 0 or more")
    return name, number


def filled_feeds(session, texts, seed, extents):
    """The same as `read_feeds`, with random values for the inputs that are not given. `extents`: (name or '', extent); an extent that is not
    named there is what the given inputs have, or else that of '', or 1."""
    rng = np.random.default_rng(seed)
    feeds = _given_feeds(session, texts, rng)
    ports = session.get_inputs()
    named = {name for port in ports for name in port.shape or [] if isinstance(name, str)}
    for name, _ in extents:
        if name and name not in named:
            known = ", ".join(sorted(named)) or "none"
            raise UsageError(f"--extent {name}: the inputs have no extent of this name; the names are: {known}")
    sizes = {}
    for port in ports:
        given = np.shape(feeds[port.name]) if port.name in feeds else ()
        sizes.update((e, n) for e, n in zip(port.shape or [], given) if isinstance(e, str))
    sizes.update(extents)
    for port in ports:
        if port.name in feeds or not port.type.startswith("tensor("):
            continue
        shape = [e if isinstance(e, int) else sizes.get(e, sizes.get("", 1)) for e in port.shape or []]
        feeds[port.name] = random_tensor(f"{element_name(port.type)}[{','.join(map(str, shape))}]", rng)
    _require_all(session, feeds)
    return feeds


def read_feeds(session, texts, seed):
    """Feeds of a session's inputs from the command line's NAME=WHAT."""
    feeds = _given_feeds(session, texts, np.random.default_rng(seed))
    _require_all(session, feeds)
    return feeds


def _parts(text, ports):
    """The name of an input, "=" and what it is given. A name of the model may hold "=", too."""
    named = max((name for name in ports if text.startswith(f"{name}=")), key=len, default=None)
    return text.partition("=") if named is None else (named, "=", text[len(named) + 1 :])


def _given_feeds(session, texts, rng):
    ports = {port.name: port for port in [*session.get_inputs(), *session.get_overridable_initializers()]}
    feeds = {}
    for text in texts:
        name, equals, what = _parts(text, ports)
        if not equals and text.endswith(".npz"):
            name, what = "", text
        elif not equals:
            raise UsageError(f"-i {text}: expected NAME=FILE, NAME=NUMBERS or NAME=random:f32[2,3]")
        if what.startswith("random:"):
            given = {name: random_tensor(what.removeprefix("random:"), rng)}
        elif pathlib.Path(what).suffix in FILES:
            given = {n: _as_declared(array, ports.get(n)) for n, array in read_file(name, what).items()}
        elif _NUMBERS.match(what):
            given = {name: literal_tensor(ports.get(name), name, what)}
        else:
            raise UsageError(f"-i {text:.100}: expected {_forms(ports.get(name))}")
        twice = next((n for n in given if n in feeds), None)
        if twice is not None:
            raise UsageError(f"-i {text:.100}: input '{twice}' is given twice")
        feeds.update(given)
    return feeds


def _forms(port):
    """What may stand behind NAME=."""
    plain = '["a", "b"]' if port is not None and element_name(port.type) == "str" else "1" if port is not None and port.shape == [] else "1,2,3"
    drawn = "f32[2,3]" if port is None or not port.type.startswith("tensor(") else _example_type(port)
    return f"a file that ends in {', '.join(FILES[:-1])} or {FILES[-1]}, values such as {plain}, or random:{drawn}"


def _require_all(session, feeds):
    """All missing inputs at once, with a line to paste. An unknown name, which the run refuses, is probably one of them."""
    ports = session.get_inputs()
    known = {p.name for p in [*ports, *session.get_overridable_initializers()]}
    missing = [p for p in ports if p.name not in feeds and not p.type.startswith("optional(")]
    if not missing or set(feeds) - known:
        return
    names = ", ".join(f"'{p.name}'" for p in missing)
    tensors = [p for p in missing if p.type.startswith("tensor(")]
    line = " ".join(f"-i {shlex.quote(f'{p.name}=random:{_example_type(p)}')}" for p in tensors)
    needed = "input {} is" if len(missing) == 1 else "inputs {} are"
    raise rondel.CallerError(f"{needed.format(names)} missing{'; for random numbers: ' if line else ''}{line}")


def _example_type(port):
    """The type of a port, with 1 where an extent is not a number."""
    shape = [] if port.shape is None else port.shape
    return f"{element_name(port.type)}[{','.join(str(e) if isinstance(e, int) else '1' for e in shape)}]"


def literal_tensor(port, name, text):
    """'16000', '1,2,3' or '[[1, 2], [3, 4]]', in the dtype that the model declares. A number is also an input of one element."""
    try:
        made = _converted(_array(_numbers(text)), port)
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise UsageError(f"-i {name}={text:.100}: {error}; expected a file, a number or lists of numbers") from None
    ones = port is not None and port.shape and all(e == 1 or not isinstance(e, int) for e in port.shape)
    return made.reshape([1] * len(port.shape)) if made.ndim == 0 and ones else made


def _array(numbers):
    try:
        return np.array(numbers)
    except ValueError:
        raise ValueError("these are lists of different lengths") from None


def _numbers(text):
    """A number or lists of them; the outermost brackets may be left out."""
    if '"' not in text:
        text = re.sub(r"[-+]?\b(nan|inf(?:inity)?)\b", _as_json, text, flags=re.IGNORECASE)
    for attempt in (text, f"[{text}]"):
        with contextlib.suppress(ValueError):
            return json.loads(attempt, parse_float=_float)
    with contextlib.suppress(ValueError):
        return int(text)
    return _float(text)


def _as_json(match):
    """How Python's JSON spells the NaN or the infinity that a match found."""
    if match[1].lower() == "nan":
        return "NaN"
    return "-Infinity" if match[0][0] == "-" else "Infinity"


def _float(text):
    """The number that digits say."""
    value = float(text)
    if np.isinf(value):
        raise OverflowError(f"{text} is beyond f64; its largest number is {np.finfo(value).max:g}")
    return value


def _converted(given, port):
    """Numbers in the dtype that the model declares, if it can hold them."""
    if given.dtype == object:
        large = next((x for x in given.flat if isinstance(x, int) and not isinstance(x, bool)), None)
        raise ValueError("these are not all numbers" if large is None else f"{large} has more than 64 bits")
    name = element_name(port.type) if port else None
    if name is None:
        return given
    if name == "str":
        return given.astype(str).astype(object)
    if given.dtype.kind == "U":
        raise ValueError(f"this is text, for an input of {name}")
    return numbers_as(given, name)


def _as_declared(array, port):
    """The array of a file, in its input's dtype if NumPy kept only the bytes of its elements, as `files.save_array` says."""
    if array.dtype.type is not np.void or array.dtype.names or port is None or "tensor(" not in port.type:
        return array
    dtype = numpy_dtype(element_name(port.type))
    return array.view(dtype) if dtype.isbuiltin == 2 and dtype.itemsize == array.itemsize else array


def read_file(name, path):
    """The arrays in a .npy, .npz or .pb file, by input name."""
    ending = pathlib.Path(path).suffix
    try:
        if ending == ".npy":
            return {name: _of_npy(path)}
        if ending == ".npz":
            with np.load(path) as archive:
                return _of_archive(name, path, archive)
        require_onnx(f"the file {path}")
        import onnx

        tensor = onnx.TensorProto()
        tensor.ParseFromString(pathlib.Path(path).read_bytes())
        return {name or tensor.name: onnx.numpy_helper.to_array(tensor)}
    except rondel.Error:
        raise
    except OSError as error:
        raise rondel.CallerError(f"cannot read {path}: {error.strerror or error}") from error
    except Exception as error:  # exceptions of NumPy, zipfile, protobuf and onnx
        raise rondel.CallerError(f"cannot read {path}: {error}") from error


def _of_npy(path):
    with open(path, "rb") as file:
        if file.read(6) != b"\x93NUMPY":
            raise ValueError("it is no .npy file: numpy.save did not write it")
    return np.load(path)


def _of_archive(name, path, archive):
    """The arrays of an .npz file by their names, or for an input that is named its array, or the only one."""
    if not name:
        return {key: archive[key] for key in archive}
    if name not in archive and len(archive.files) != 1:
        raise rondel.CallerError(f"{path} has no '{name}'; it has {', '.join(map(repr, archive.files)) or 'nothing'}")
    return {name: archive[name if name in archive else archive.files[0]]}


def random_tensor(text, rng):
    """'f32[2,3]': floats uniform in [0, 1), integers in [0, 10) as far as the dtype goes, bools, texts of a digit."""
    match = re.fullmatch(r"(\w+)(?:\[([\d, ]*)\])?", text)
    shape = [whole_number(e.strip()) for e in (match[2] or "").split(",") if e.strip()] if match else [None]
    if None in shape:
        raise UsageError(f"random:{text:.100}: expected a type such as f32[2,3] or i64[]")
    dtype = _dtype_named(match[1])
    if dtype is None:
        raise UsageError(f"random:{text}: there is no dtype '{match[1]}'; names are f32, i64, str, ..., or NumPy's or ONNX's")
    try:
        if dtype.kind == "b":
            return rng.random(shape) < 0.5
        if dtype.kind == "O":
            return rng.integers(0, 10, shape).astype(str).astype(object)
        if dtype.kind == "c":
            return (rng.random(shape) + 1j * rng.random(shape)).astype(dtype)
        numbers = rng.integers(0, 10, shape) if "int" in dtype.name else rng.random(shape)
        return (numbers % _LEAST_BEYOND.get(dtype.name, 10)).astype(dtype)
    except (ValueError, MemoryError) as error:
        raise UsageError(f"random:{text}: {error}") from None


_LEAST_BEYOND = {"int2": 2, "uint2": 4, "int4": 8}  #: the least number above these dtypes' range


def _dtype_named(name):
    """The dtype that Rondel, NumPy or ONNX calls this; None if none does."""
    for ours in (name, {"str_": "str", "object": "str"}.get(name, element_name(f"tensor({name})"))):
        try:
            return numpy_dtype(ours)
        except (KeyError, AttributeError):
            pass
    try:
        return np.dtype(name)
    except TypeError:
        return None
