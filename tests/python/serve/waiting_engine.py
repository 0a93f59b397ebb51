"""An engine for `rondel serve --engine waiting_engine`: y = 2 x, but each run says that it has begun, and waits for a file.

WAITING_ENGINE in the environment is a folder: a run writes `begun` there, and waits until `go` is there.
"""

import os
import time
from pathlib import Path

from serving import Port


class SessionOptions:
    pass


class InferenceSession:
    def __init__(self, path, options, providers):
        self.folder = Path(os.environ["WAITING_ENGINE"])

    def get_inputs(self):
        return [Port("x", ["b", 2])]

    def get_outputs(self):
        return [Port("y", ["b", 2])]

    def run(self, names, feeds, options=None):
        (self.folder / "begun").touch()
        while not (self.folder / "go").exists():
            time.sleep(0.005)
        return [2 * feeds["x"]]
