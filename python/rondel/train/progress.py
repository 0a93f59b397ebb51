"""What `fit` shows: a bar that moves on a terminal, else a line for each epoch."""

import sys
import time

_WIDTH = 24


class Progress:
    """One epoch. `total`: its batches, 0 where that is not known."""

    def __init__(self, shown, epoch, epochs, total):
        self._shown = shown
        self._title = f"epoch {epoch}/{epochs}"
        self._total = total
        self._out = sys.stderr
        self._moves = shown and hasattr(self._out, "isatty") and self._out.isatty()
        self._begin = time.monotonic()
        self._next = self._begin

    def update(self, done, loss):
        now = time.monotonic()
        if not self._moves or now < self._next:
            return
        self._next = now + 0.1
        self._out.write(f"\r{self._bar(done)}  loss {loss:.4g}\x1b[K")
        self._out.flush()

    def _bar(self, done):
        if not self._total:
            return f"{self._title}  batch {done}"
        full = _WIDTH * min(done, self._total) // self._total
        return f"{self._title} [{'=' * full}{' ' * (_WIDTH - full)}] {done}/{self._total}"

    def end(self, loss):
        if not self._shown:
            return
        begin, end = ("\r", "\x1b[K\n") if self._moves else ("", "\n")
        self._out.write(f"{begin}{self._title}  loss {loss:.4g}  {time.monotonic() - self._begin:.1f} s{end}")
        self._out.flush()
