"""Files that commands write."""

import contextlib

from rondel.errors import CallerError
from rondel.replacing import replacing


def write_all(writers, options=None):
    """Writes files, all of them or none, and prints their names.

    writers: {path: what writes to the file, opened in binary mode}. options: {path: what on the command line asked for the file}, which
    errors begin with.
    """
    with contextlib.ExitStack() as files:
        for path, write in writers.items():
            try:
                write(files.enter_context(replacing(path)))
            except (CallerError, OSError) as error:
                if options is None:
                    raise
                raise CallerError(f"{options[path]}: {error}") from error
    for path in writers:
        print(f"wrote {path}")
