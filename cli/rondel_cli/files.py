"""Files that commands write."""

import contextlib
import os
import shutil
import tempfile
from types import SimpleNamespace

import numpy as np

from rondel.errors import CallerError
from rondel.replacing import identity, is_special, replacing, replacing_together, require_writable

from .exit_codes import UsageError


def require_all_writable(files, read=None):
    """Raises CallerError, before the work, if one of the files cannot be written; UsageError, if two of them are one file, or one is what
    the command reads.

    files: [(path, the option that requests the file, or "")]. A device or a pipe, which takes what is written one after another, may be
    there twice. read: the path of what the command reads.
    """
    earlier = {}
    source = None if read is None else identity(read)
    for path, option in files:
        with _errors_of(path, option):
            require_writable(path)
        place = identity(path)
        if place == source and not is_special(path):
            raise UsageError(f"{option or path}: this file is what the command reads; give another name")
        if place in earlier and not is_special(path):
            raise UsageError(f"{option or path}: {earlier[place]} writes this file")
        earlier[place] = option or path


def write_all(writers, options=None):
    """Writes all files or none.

    writers: {path: a function that writes to the file, opened in binary mode}. options: {path: the command-line option that requests
    the file}; an error begins with the option.
    """
    with replacing_together() as opened:
        for path, write in writers.items():
            with _errors_of(path, (options or {}).get(path)), opened(path) as file:
                write(file)


def print_written(paths):
    for path in paths:
        print(f"wrote {path}")


@contextlib.contextmanager
def path_to_write(path):
    """The path of a file for the block to write, for code that replaces what is at a path, links, devices and pipes included.

    It is `path`, with links followed, or, if there is a device or a pipe, a temporary file whose bytes this gets when the block ends.
    """
    if not is_special(path):
        yield os.path.realpath(path) if os.path.islink(path) else path
        return
    with tempfile.TemporaryDirectory() as folder:
        made = os.path.join(folder, os.path.basename(path))
        yield made
        if len(os.listdir(folder)) > 1:
            raise CallerError(f"'{path}' cannot be written: it takes one file, and the weights need another one beside it")
        with open(made, "rb") as source, _errors_of(path), replacing(path) as file:
            shutil.copyfileobj(source, file)


def save_array(array, file):
    """Writes an array as .npy. Of bfloat16, int4 and the like, which NumPy cannot name in a file, the bytes: `feeds.read_file` reads them."""
    if array.dtype == object:
        array = array.astype(str)
    elif array.dtype.isbuiltin == 2:  # registered by ml_dtypes
        array = array.view(f"V{array.itemsize}")
    np.save(SimpleNamespace(write=file.write), array, allow_pickle=False)  # in a file itself NumPy seeks, which a pipe cannot


@contextlib.contextmanager
def _errors_of(path, option=None):
    """Gives errors the name of the file, and begins them with the option that requests it. A closed pipe is an error of the file, not the
    end of standard output."""
    begin = f"{option}: " if option else ""
    try:
        yield
    except OSError as error:
        raise CallerError(f"{begin}'{path}' cannot be written: {error.strerror or error}") from error
    except CallerError as error:
        if not option:
            raise
        raise CallerError(f"{begin}{error}") from error
