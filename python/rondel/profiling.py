"""Times of a session and its runs, in a file of the trace format that chrome://tracing and Perfetto show."""

import itertools
import json
import os
import threading
import time
import weakref

from .errors import CallerError


class Profile:
    """The events since the profile began. Written once: by `finish`, or when its session or the process ends."""

    def __init__(self, prefix, owner):
        self.start_ns = time.monotonic_ns()
        now = time.time()
        stamp = time.strftime("%Y-%m-%d_%H-%M-%S", time.localtime(now)) + f"_{int(now * 1000) % 1000:03}"
        self._events = []
        self._finish = weakref.finalize(owner, _write, _new_file(f"{prefix}_{stamp}", ".json"), self._events)

    def add(self, name, begin_ns, **details):
        """Adds an event that began at `begin_ns` and ends now."""
        self._events.append(
            {
                "cat": "Session",
                "pid": os.getpid(),
                "tid": threading.get_native_id(),
                "dur": (time.monotonic_ns() - begin_ns) // 1000,
                "ts": (begin_ns - self.start_ns) // 1000,
                "ph": "X",
                "name": name,
                "args": details,
            }
        )

    def finish(self):
        """Writes the file, and returns its name; None if that has been done."""
        return self._finish()


def _new_file(stem, suffix):
    """Makes an empty file with a name that no file has yet, and returns the name."""
    for count in itertools.count():
        path = f"{stem}_{count}{suffix}" if count else stem + suffix
        try:
            with open(path, "x"):
                return path
        except FileExistsError:
            continue
        except OSError as error:
            raise CallerError(f"the profile cannot be written to '{path}': {error.strerror}; set profile_file_prefix") from error


def _write(path, events):
    with open(path, "w") as file:
        file.write("[\n" + ",\n".join(json.dumps(event) for event in events) + "\n]\n")
    return path
