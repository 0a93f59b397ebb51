"""A progress bar on stderr for long work."""

import sys
import time

_WIDTH = 24


class Progress:
    """The progress of one piece of work. total: the number of its parts; 0: not known. after: seconds before the bar appears.
    shown: False shows nothing.
    """

    def __init__(self, shown, title, total, after=0.0):
        self._shown = shown
        self._title = title
        self._total = total
        self._out = sys.stderr
        self._moves = shown and hasattr(self._out, "isatty") and self._out.isatty()
        self._drawn = False
        self._begin = time.monotonic()
        self._next = self._begin + after

    @property
    def moves(self):
        """Whether a bar is drawn: stderr is a terminal."""
        return bool(self._moves)

    def update(self, done, note=""):
        now = time.monotonic()
        if not self._moves or now < self._next:
            return
        self._next = now + 0.1
        self._drawn = True
        self._out.write(f"\r{self._bar(done)}{'  ' if note else ''}{note}\x1b[K")
        self._out.flush()

    def _bar(self, done):
        if not self._total:
            return f"{self._title}  {done}"
        full = _WIDTH * min(done, self._total) // self._total
        return f"{self._title} [{'=' * full}{' ' * (_WIDTH - full)}] {done}/{self._total}"

    def end(self, note):
        """Prints a final line with the note and the time taken, on a terminal or not."""
        if not self._shown:
            return
        begin, end = ("\r", "\x1b[K\n") if self._moves else ("", "\n")
        self._out.write(f"{begin}{self._title}  {note}  {time.monotonic() - self._begin:.1f} s{end}")
        self._out.flush()

    def clear(self):
        """Erases the bar, if one is drawn."""
        if self._drawn:
            self._out.write("\r\x1b[K")
            self._out.flush()
            self._drawn = False
