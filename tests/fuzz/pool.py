"""Worker processes that work through numbered tasks, and survive crashes and hangs of any of them."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import signal
import time
import traceback

HANGS_AFTER = 120.0  #: seconds for one task, which takes well below one
AT_ONCE = 20  #: tasks that a worker gets at once


class Worker:
    """A process that runs tasks: it says each number before it begins it."""

    def __init__(self, work, first, step):
        self.numbers = range(first, first, step)
        self.at, self.since = None, time.monotonic()
        ours, theirs = multiprocessing.Pipe()
        self.pipe = ours
        self.process = multiprocessing.get_context("fork").Process(target=_serve, args=(work, theirs, ours), daemon=True)
        self.process.start()
        theirs.close()

    def give(self, numbers):
        self.pipe.send(list(numbers))
        self.since = time.monotonic()

    def end(self):
        self.process.kill()
        self.process.join()
        self.pipe.close()


def _serve(work, pipe, other_end):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    other_end.close()
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 2)  # messages of a crash; the parent says it
    try:
        while True:
            for number in pipe.recv():
                pipe.send(("at", number))
                try:
                    pipe.send(("did", number, work(number)))
                except Exception:
                    pipe.send(("broke", number, traceback.format_exc()))
            pipe.send(("more",))
    except (EOFError, BrokenPipeError):
        pass


def run(work, first, count, seconds, jobs):
    """Runs work(number) in `jobs` processes for numbers from `first` on, until `count` or `seconds` are over (None: never).

    Yields (number, "did", result), (number, "broke", traceback), (number, "crashed", words) and (number, "hung", words).
    """
    end = None if seconds is None else time.monotonic() + seconds
    last = None if count is None else first + count
    following = first
    workers = [Worker(work, first, 1) for _ in range(jobs)]
    pending = {id(w): [] for w in workers}

    def over():
        return (end is not None and time.monotonic() >= end) or (last is not None and following >= last)

    def feed(worker):
        nonlocal following
        if over():
            pending[id(worker)] = None
            return
        upto = following + AT_ONCE if last is None else min(last, following + AT_ONCE)
        pending[id(worker)] = list(range(following, upto))
        following = upto
        worker.give(pending[id(worker)])

    def again(k, kind, words):
        """Replaces a worker that died; the rest of its tasks goes to its successor."""
        worker = workers[k]
        rest = [n for n in pending.pop(id(worker)) if n > worker.at]
        worker.end()
        workers[k] = Worker(work, first, 1)
        pending[id(workers[k])] = rest
        if rest and not (end is not None and time.monotonic() >= end):
            workers[k].give(rest)
        else:
            feed(workers[k])
        return worker.at, kind, words

    for worker in workers:
        feed(worker)
    try:
        while any(pending[id(w)] is not None for w in workers):
            multiprocessing.connection.wait([w.pipe for w in workers if pending[id(w)] is not None], timeout=1.0)
            for k, worker in enumerate(workers):
                if pending[id(worker)] is None:
                    continue
                try:
                    while pending[id(worker)] is not None and worker.pipe.poll():
                        message = worker.pipe.recv()
                        worker.since = time.monotonic()
                        if message[0] == "at":
                            worker.at = message[1]
                        elif message[0] == "more":
                            feed(worker)
                        else:
                            yield message[1], message[0], message[2]
                            if end is not None and time.monotonic() >= end:
                                pending[id(worker)] = None
                except (EOFError, ConnectionResetError):
                    worker.process.join()
                    yield again(k, "crashed", _ending(worker.process.exitcode))
                    continue
                if pending[id(worker)] is not None and time.monotonic() - worker.since > HANGS_AFTER:
                    yield again(k, "hung", f"nothing for {HANGS_AFTER:.0f} seconds")
    finally:
        for worker in workers:
            worker.end()


def _ending(code):
    if code is not None and code < 0:
        return f"the process was ended by {signal.Signals(-code).name}"
    return f"the process ended with {code}"


def isolated(function, *arguments, seconds=60.0):
    """The result of a function that runs in a process of its own; ("crashed", words) or ("hung", words) if it gives none."""
    ours, theirs = multiprocessing.Pipe(duplex=False)

    def work():
        ours.close()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        theirs.send(("did", function(*arguments)))

    process = multiprocessing.get_context("fork").Process(target=work, daemon=True)
    process.start()
    theirs.close()
    try:
        if not ours.poll(seconds):
            return "hung", f"nothing for {seconds:.0f} seconds"
        return ours.recv()
    except (EOFError, ConnectionResetError):
        process.join()
        return "crashed", _ending(process.exitcode)
    finally:
        process.kill()
        process.join()
        ours.close()
