"""./dev fuzz models: damaged model files, which must be refused with an error of Rondel's, or run."""

from __future__ import annotations

import random
import re
import time
import warnings

import rondel

from . import pool
from .__main__ import parser
from .damaging import damaged
from .fuzz_programs import FOLDER
from .progress import Progress
from .programs import Rejected, program
from .ways import environment

BASE_PROGRAMS = 400  #: random programs that files are made of

ABOUT = """Damaged model files: random programs with bytes or fields changed. Each is loaded, run and exported under small limits of time, memory
and trips. A fault is a crash, a hang, an InternalError, or an exception that is no rondel.Error. The file of a fault is kept in build/fuzz/."""
EXAMPLES = """examples:
  ./dev fuzz models 600                  ten minutes
  ./dev fuzz models --seed 7 --count 1   the file of one seed again"""


def main(arguments=None):
    options = parser("models", ABOUT, EXAMPLES).parse_args(arguments)
    first = options.seed if options.seed is not None else random.SystemRandom().randrange(10**9)
    seconds = options.seconds if options.seconds is not None or options.count is not None else 60.0
    print(f"seed {first}", flush=True)
    progress, found = Progress(), {}
    for seed, state, result in pool.run(attempt, first, options.count, seconds, options.jobs):
        words = result if state == "did" else f"{state}: {result}"
        progress.count(passed=words is None)
        if words is not None:
            kind = re.sub(r"'[^']*'|\[[^\]]*\]|-?\d+", "_", words.strip().splitlines()[-1])[:200]
            if kind not in found:
                FOLDER.mkdir(parents=True, exist_ok=True)
                path = FOLDER / f"model_{seed}.onnx"
                path.write_bytes(file_of(seed)[0])
                progress.line(f"seed {seed}: {words[-700:]}\nwritten to {path}")
            found.setdefault(kind, []).append(seed)
        progress.show()
    for kind, seeds in sorted(found.items(), key=lambda item: -len(item[1])):
        progress.line(f"{len(seeds)} of this kind (seeds {', '.join(map(str, seeds[:3]))}): {kind}")
    return progress.close()


_bases = {}


def file_of(seed):
    """(the bytes of the damaged file of a seed, feeds of the program it was)."""
    rng = random.Random(f"model {seed}")
    base = rng.randrange(BASE_PROGRAMS)
    for k in range(base, base + 50):
        if k not in _bases:
            try:
                made = program(f"base {k}")
                _bases[k] = (made.model, made.cases[0].feeds)
            except Rejected:
                _bases[k] = None
        if _bases[k] is not None:
            break
    model, feeds = _bases[k]
    return damaged(rng, model), feeds


def attempt(seed):
    """None, or what is wrong with the way the file of a seed is treated."""
    data, feeds = file_of(seed)
    rng = random.Random(f"run {seed}")
    options = rondel.SessionOptions()
    options.max_memory_bytes, options.max_trips = 1 << 26, 10_000
    limits = rondel.RunOptions()
    limits.deadline = 2.0
    begun = time.monotonic()
    with environment(RONDEL_JIT=rng.choice(["0", "0", "1", "2"])), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for step in (lambda: rondel.InferenceSession(data, options).run(None, feeds, limits), lambda: rondel.export(data), lambda: rondel.inspect(data)):
            try:
                step()
            except rondel.InternalError as error:
                return f"InternalError: {error}"
            except rondel.Error as error:
                if not str(error).strip():
                    return "an error without a text"
            except Exception as error:
                return f"{type(error).__name__}: {error}"
    spent = time.monotonic() - begun
    return f"it takes {spent:.0f} seconds" if spent > 30 else None



