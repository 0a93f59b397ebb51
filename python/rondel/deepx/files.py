"""The files that programs may read and write: those below one folder."""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
import stat
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import arrays
from ..errors import CallerError, LimitExceeded
from ..replacing import replacing

#: The engine's name of each dtype of the language.
_NAMES = {
    "float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16",
    "int64": "i64", "int32": "i32", "int16": "i16", "int8": "i8", "bool": "bool",
}  # fmt: skip


class Folder:
    """Saves and loads tensors below a folder. Paths are relative to it; neither `..` nor a link leads out of it.

    max_bytes: the largest allowed size of a file that is read; None: no limit.
    """

    def __init__(self, root: str | os.PathLike[str], max_bytes: int | None = None) -> None:
        self._max_bytes = max_bytes
        self._root = pathlib.Path(root).resolve()
        if not self._root.is_dir():
            raise CallerError(f"folder is '{root}'; expected a folder that exists")

    def save(self, path: str, unpacked: Any) -> None:
        array = arrays.from_value(unpacked, path)
        target = self._resolved(path)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            if target.suffix == ".npy":
                with replacing(target) as file:
                    np.save(file, array, allow_pickle=False)
            else:
                _write_pair(target, array)
        except OSError as error:
            raise CallerError(f"'{path}' cannot be written: {error.strerror or error}") from None

    def load(self, path: str) -> Any:
        source = self._resolved(path)
        if source.suffix == ".npy":
            return _value(self._read_npy(source, path), path)
        name, shape = self._read_type(_shape_file(source), path)
        return self.load_data(path, name, shape)

    def load_data(self, path: str, name: str, shape: Sequence[int]) -> Any:
        """Loads a tensor of the given dtype and shape, from a .npy file or from a file of raw elements."""
        source = self._resolved(path)
        dtype = arrays.numpy_dtype(name)
        if source.suffix == ".npy":
            array = self._read_npy(source, path)
            if array.dtype != dtype or list(array.shape) != list(shape):
                raise CallerError(f"'{path}' holds {array.dtype}{list(array.shape)}; expected {dtype}{list(shape)}")
            return _value(array, path)
        with self._opened(_data_file(source), path) as (file, size):
            wanted = int(np.prod(shape, dtype=object)) * dtype.itemsize
            if size != wanted:
                raise CallerError(f"'{path}' holds {size} bytes; {dtype}{list(shape)} has {wanted}")
            return _value(_shaped(np.frombuffer(file.read(), dtype), shape, path), path)

    @contextlib.contextmanager
    def _opened(self, source, path):
        """Opens a regular file for reading: (the file, its size)."""
        try:
            # O_NONBLOCK: opening a pipe must not block.
            file = open(os.open(source, os.O_RDONLY | os.O_NONBLOCK), "rb")
        except OSError as error:
            raise CallerError(f"'{path}' cannot be read: {error.strerror or error}") from None
        with file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode):
                raise CallerError(f"'{path}' is no file that can be read whole")
            if self._max_bytes is not None and about.st_size > self._max_bytes:
                raise LimitExceeded(f"'{path}' holds {about.st_size} bytes; the memory budget is {self._max_bytes}; raise max_memory_bytes")
            try:
                yield file, about.st_size
            except OSError as error:
                raise CallerError(f"'{path}' cannot be read: {error.strerror or error}") from None

    def _read_npy(self, source, path):
        with self._opened(source, path) as (file, size):
            try:
                version = np.lib.format.read_magic(file)
                read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
                shape, by_columns, dtype = read(file)
                wanted = int(np.prod(shape, dtype=object)) * dtype.itemsize
                if size - file.tell() != wanted or dtype.hasobject:
                    raise ValueError(f"{size - file.tell()} bytes follow a header of {dtype}{list(shape)}")
                elements = np.frombuffer(file.read(), dtype)
            except OSError:
                raise
            except Exception as error:  # the header is a Python literal, and its parser may raise anything
                raise CallerError(f"'{path}' is no .npy file of numbers: {' '.join(str(error).split())}") from None
        array = _shaped(elements, shape[::-1] if by_columns else shape, path)
        array = array.T if by_columns else array
        # NumPy has no bfloat16 of its own, and writes it as untyped elements of two bytes.
        return array.view(arrays.numpy_dtype("bf16")) if dtype == np.dtype("V2") else array

    def _read_type(self, source, path):
        """(dtype, shape) from a .shape file of the original deepx: YAML with plain values, one per line or in one pair of braces."""
        with self._opened(source, path) as (file, _):
            text = file.read().decode("utf-8", "replace")
        dtype = re.search(r"\bdtype: *['\"]?(\w+)", text)
        shape = re.search(r"\bshape: *(\[[\d,\s]*\]|(?:\n *- *\d+\b)+)", text)
        name = _NAMES.get(dtype[1]) if dtype else None
        if name is None or shape is None:
            raise CallerError(f"'{source.name}' tells no type; expected 'dtype: float32' and 'shape: [2, 3]'")
        return name, [int(n) for n in re.findall(r"\d+", shape[1])]

    def _resolved(self, path):
        if "\0" in path:
            raise CallerError("a path holds a NUL character")
        given = pathlib.PurePosixPath(path)
        if given.is_absolute() or not given.name:
            raise CallerError(f"'{path}' is no path below the folder; expected a relative path of a file")
        try:
            target = (self._root / given).resolve()
            # One file of the pair could be a link that leads out of the folder.
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


def _shaped(elements, shape, path):
    try:
        return elements.reshape(shape)
    except (ValueError, OverflowError, TypeError) as error:
        raise CallerError(f"'{path}' has the shape {list(shape)}: {error}") from None


def _write_pair(path, array):
    """Writes the two files of the original deepx: the type as YAML, and the raw elements in row-major order."""
    shape = list(array.shape)
    strides = [int(np.prod(shape[k + 1 :], dtype=object)) for k in range(len(shape))]
    text = (
        f"dtype: {array.dtype.name}\ndim: {len(shape)}\nshape: {shape}\nstride: {strides}\nsize: {array.size}\n"
    )
    for place, data in ((_data_file(path), np.ascontiguousarray(array).tobytes()), (_shape_file(path), text.encode())):
        with replacing(place) as file:
            file.write(data)
