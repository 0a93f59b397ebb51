"""Files that commands write."""

import contextlib

from rondel.replacing import replacing


def write_all(writers):
    """Writes files, all of them or none, and prints their names. `writers`: {path: what writes to the file, opened in binary mode}."""
    with contextlib.ExitStack() as files:
        for path, write in writers.items():
            write(files.enter_context(replacing(path)))
    for path in writers:
        print(f"wrote {path}")
