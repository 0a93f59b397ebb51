"""Files that are written completely or not at all."""

import contextlib
import errno
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import BinaryIO

from .errors import CallerError

Path = str | os.PathLike[str]


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Opens a binary file that replaces `path` when the block ends. If the block fails, `path` is unchanged.

    What is there and is no regular file (a device, a pipe) is not replaced: the block writes to it directly. Raises CallerError before
    the block if `path` cannot be written.
    """
    with replacing_together() as opened, opened(path) as file:
        yield file


@contextlib.contextmanager
def replacing_together() -> Iterator[Callable[[Path], AbstractContextManager[BinaryIO]]]:
    """A function that opens a file as `replacing` does. The files replace their paths when the outer block ends, and none before all are complete."""
    parts: list[tuple[str, str]] = []  # a complete file, and the path that it replaces
    try:
        yield lambda path: _opened(path, parts)
        for part, path in parts:
            _replace(part, path)
    except BaseException:
        for part, _ in parts:
            with contextlib.suppress(OSError):
                os.unlink(part)
        raise


def require_writable(path: Path) -> None:
    """Raises CallerError if `path` cannot be written, as far as this can be known without writing."""
    special, folder = is_special(path), os.path.dirname(os.path.realpath(path))
    if os.path.isdir(path):
        raise _unwritable(path, "it is a folder")
    if not special and not os.path.isdir(folder):
        raise _unwritable(path, os.strerror(errno.ENOTDIR if os.path.exists(folder) else errno.ENOENT))
    if not (os.access(path, os.W_OK) if special else os.access(folder, os.W_OK | os.X_OK)):
        raise _unwritable(path, os.strerror(errno.EACCES))


def is_special(path: Path) -> bool:
    """Whether there is something at `path` that is neither a regular file nor a folder, links followed: a device, a pipe."""
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


def identity(path: Path) -> tuple[int, int] | str:
    """What paths of one file have in common, or of what would be one file once it is written."""
    try:
        found = os.stat(path)
    except OSError:
        return os.path.realpath(os.fsdecode(path))
    return found.st_dev, found.st_ino


def are_one_file(a: Path, b: Path) -> bool:
    """Whether both paths are of one file, or would be once it is written."""
    return identity(a) == identity(b)


@contextlib.contextmanager
def _opened(given, parts):
    require_writable(given)
    if is_special(given):
        with open(given, "wb") as file:
            yield file
        return
    path = os.path.realpath(given)
    try:
        handle, part = tempfile.mkstemp(dir=os.path.dirname(path), prefix=os.path.basename(path) + ".")
    except OSError as error:
        raise _unwritable(given, error.strerror or error) from error
    parts.append((part, path))
    with open(handle, "wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
    os.chmod(part, _mode_for(path))


def _replace(part, path):
    try:
        os.replace(part, path)
    except OSError as error:  # there was no folder of this name when the file was opened
        raise _unwritable(path, error.strerror or error) from error


def _unwritable(path, reason):
    return CallerError(f"'{os.fspath(path)}' cannot be written: {reason}")


def _mode_for(path):
    try:
        return os.stat(path).st_mode & 0o7777
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
