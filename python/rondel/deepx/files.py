"""The files that programs may touch: those below one folder."""

import os
import pathlib
import re

import numpy as np

from .. import arrays
from ..errors import CallerError

#: How the language writes the dtypes, and how the engine does.
_NAMES = {
    "float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16",
    "int64": "i64", "int32": "i32", "int16": "i16", "int8": "i8", "bool": "bool",
}  # fmt: skip


class Folder:
    """Saves and loads tensors below a folder. Paths are relative to it; neither `..` nor a link leads out of it."""

    def __init__(self, root):
        self._root = pathlib.Path(root).resolve()
        if not self._root.is_dir():
            raise CallerError(f"folder is '{root}'; expected a folder that exists")

    def save(self, path, unpacked):
        array = arrays.from_value(unpacked, path)
        target = self._resolved(path)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            if target.suffix == ".npy":
                _write(target, lambda file: np.save(file, array, allow_pickle=False))
            else:
                _write_pair(target, array)
        except OSError as error:
            raise CallerError(f"'{path}' cannot be written: {error.strerror or error}") from None

    def load(self, path):
        source = self._resolved(path)
        if source.suffix == ".npy":
            return _value(_read_npy(source, path), path)
        name, shape = _read_type(_shape_file(source), path)
        return self.load_data(path, name, shape)

    def load_data(self, path, name, shape):
        """The elements of a tensor of a known type: of a .npy file, or of the file of raw elements."""
        source = self._resolved(path)
        dtype = arrays.numpy_dtype(name)
        if source.suffix == ".npy":
            array = _read_npy(source, path)
            if array.dtype != dtype or list(array.shape) != list(shape):
                raise CallerError(f"'{path}' holds {array.dtype}{list(array.shape)}; expected {dtype}{list(shape)}")
            return _value(array, path)
        source = _data_file(source)
        data = _read(source, path)
        count = int(np.prod(shape, dtype=object))
        if len(data) != count * dtype.itemsize:
            raise CallerError(f"'{path}' holds {len(data)} bytes; {dtype}{list(shape)} has {count * dtype.itemsize}")
        return _value(np.frombuffer(data, dtype).reshape(shape), path)

    def _resolved(self, path):
        if "\0" in path:
            raise CallerError("a path holds a NUL character")
        given = pathlib.PurePosixPath(path)
        if given.is_absolute() or not given.name:
            raise CallerError(f"'{path}' is no path below the folder; expected a relative path of a file")
        try:
            target = (self._root / given).resolve()
            # A link in place of one of a pair of files would lead out as well.
            links = [other for other in (_shape_file(target), _data_file(target)) if other.is_symlink()]
        except (OSError, RuntimeError) as error:  # too long; links in a circle
            raise CallerError(f"'{path}' cannot be followed: {error}") from None
        if not target.is_relative_to(self._root) or target == self._root:
            raise CallerError(f"'{path}' leads out of the folder that programs may use")
        if links:
            raise CallerError(f"'{links[0].name}' is a link; programs do not follow it")
        return target


def _shape_file(path):
    return path.with_name(path.name + ".shape")


def _data_file(path):
    return path if path.suffix == ".data" else path.with_name(path.name + ".data")


def _value(array, path):
    return arrays.to_value(array, f"'{path}'", "")


def _write(path, write):
    """Writes a file, wholly or not at all."""
    part = path.with_name(f".{path.name}.part")
    try:
        with open(part, "wb") as file:
            write(file)
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _write_pair(path, array):
    """The original's form: the type as YAML, and the elements, row by row, as they are in memory."""
    shape = list(array.shape)
    strides = [int(np.prod(shape[k + 1 :], dtype=object)) for k in range(len(shape))]
    text = (
        f"dtype: {array.dtype.name}\ndim: {len(shape)}\nshape: {shape}\nstride: {strides}\nsize: {array.size}\n"
    )
    _write(_data_file(path), lambda file: file.write(np.ascontiguousarray(array).tobytes()))
    _write(_shape_file(path), lambda file: file.write(text.encode()))


def _read(source, path):
    try:
        return source.read_bytes()
    except OSError as error:
        raise CallerError(f"'{path}' cannot be read: {error.strerror or error}") from None


def _read_npy(source, path):
    try:
        array = np.load(source, allow_pickle=False)
        # NumPy writes bfloat16, which is not its own, as two bytes of no type.
        return array.view(arrays.numpy_dtype("bf16")) if array.dtype == np.dtype("V2") else array
    except OSError as error:
        raise CallerError(f"'{path}' cannot be read: {error.strerror or error}") from None
    except (ValueError, EOFError, SyntaxError, MemoryError) as error:
        raise CallerError(f"'{path}' is no .npy file of numbers: {error}") from None


def _read_type(source, path):
    """(dtype, shape) of the original's file of a type: YAML with plain values, one a line or in one pair of braces."""
    text = _read(source, path).decode("utf-8", "replace")
    dtype = re.search(r"\bdtype: *['\"]?(\w+)", text)
    shape = re.search(r"\bshape: *(\[[\d,\s]*\]|(?:\n *- *\d+)*)", text)
    name = _NAMES.get(dtype[1]) if dtype else None
    if name is None or shape is None:
        raise CallerError(f"'{source.name}' tells no type; expected 'dtype: float32' and 'shape: [2, 3]'")
    return name, [int(n) for n in re.findall(r"\d+", shape[1])]
