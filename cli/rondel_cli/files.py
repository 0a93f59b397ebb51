"""Files that commands write."""

import contextlib

from rondel.errors import CallerError
from rondel.replacing import replacing


def write_all(writers, options=None):
    """Writes all files or none, and prints their names.

    writers: {path: a function that writes to the file, opened in binary mode}. options: {path: the command-line option that requests
    the file}; an error begins with the option.
    """
    with contextlib.ExitStack() as files:
        for path, write in writers.items():
            try:
                write(files.enter_context(replacing(path)))
            except (CallerError, OSError) as error:
                if path not in (options or {}):
                    raise
                raise CallerError(f"{options[path]}: {error}") from error
    for path in writers:
        print(f"wrote {path}")
