"""Files that commands write."""

import os


def write_all(writers):
    """Writes files, all of them or none, and prints their names. `writers`: {path: what writes to the file, opened in binary mode}."""
    parts = {path: path.with_name(f".{path.stem}.part") for path in writers}
    try:
        for path, write in writers.items():
            with open(parts[path], "wb") as file:
                write(file)
    except BaseException:
        for part in parts.values():
            part.unlink(missing_ok=True)
        raise
    for path, part in parts.items():
        os.replace(part, path)
        print(f"wrote {path}")
