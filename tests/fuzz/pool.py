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

    def __init__(self, work):
        self.at, self.since = None, time.monotonic()
        ours, theirs = multiprocessing.Pipe()
        self.pipe = ours
        self.process = multiprocessing.get_context("fork").Process(target=_serve, args=(work, theirs, ours), daemon=True)
        self.process.start()
        theirs.close()

    def give(self, numbers):
        self.pipe.send(list(numbers))
        self.at = numbers[0]
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
    workers = [Worker(work) for _ in range(jobs)]
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
        workers[k] = Worker(work)
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


class Aside:
    """Calls a function in a process beside this one, which is started again if it dies."""

    def __init__(self, function, seconds=60.0):
        self.function, self.seconds = function, seconds
        self.process = self.pipe = None

    def __call__(self, *arguments):
        """("did", result), ("crashed", words), ("hung", words) or ("broke", traceback)."""
        if self.process is None:
            self._start()
        self.pipe.send(arguments)
        try:
            if self.pipe.poll(self.seconds):
                return self.pipe.recv()
            self.close()
            return "hung", f"nothing for {self.seconds:.0f} seconds"
        except (EOFError, ConnectionResetError):
            self.process.join()
            words = _ending(self.process.exitcode)
            self.close()
            return "crashed", words

    def _start(self):
        self.pipe, theirs = multiprocessing.Pipe()
        self.process = multiprocessing.get_context("fork").Process(target=self._serve, args=(theirs, self.pipe), daemon=True)
        self.process.start()
        theirs.close()

    def _serve(self, pipe, other_end):
        other_end.close()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            while True:
                arguments = pipe.recv()
                try:
                    pipe.send(("did", self.function(*arguments)))
                except Exception:
                    pipe.send(("broke", traceback.format_exc()))
        except (EOFError, BrokenPipeError):
            pass

    def close(self):
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.pipe.close()
        self.process = self.pipe = None
