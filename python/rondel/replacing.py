"""Files that are written completely or not at all."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from typing import BinaryIO

from .errors import CallerError


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Opens a binary file that replaces `path` when the block ends. If the block fails, `path` is unchanged."""
    given, path = path, os.path.realpath(path)
    try:
        handle, part = tempfile.mkstemp(dir=os.path.dirname(path), prefix=os.path.basename(path) + ".")
    except OSError as error:
        raise CallerError(f"'{given}' cannot be written: {error.strerror or error}") from error
    try:
        with open(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(part, _mode_for(path))
        if os.path.isdir(path):
            raise CallerError(f"'{given}' cannot be written: it is a folder")
        os.replace(part, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise


def _mode_for(path):
    try:
        return os.stat(path).st_mode & 0o7777
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
