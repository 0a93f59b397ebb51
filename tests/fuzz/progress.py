"""What is said while seeds are tried: one line that changes on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time


class Progress:
    def __init__(self, out=sys.stdout):
        self.out, self.begun = out, time.monotonic()
        self.passed = self.failed = self.thrown = 0
        self.terminal = out.isatty()
        self.shown = time.monotonic()

    @property
    def total(self):
        return self.passed + self.failed + self.thrown

    def count(self, passed, thrown_away=False):
        if thrown_away:
            self.thrown += 1
        elif passed:
            self.passed += 1
        else:
            self.failed += 1

    def show(self):
        """The state of things, not too often."""
        now = time.monotonic()
        if now - self.shown < (0.2 if self.terminal else 30):
            return
        self.shown = now
        self.note(f"{self.total} tried, {self.total / (now - self.begun):.1f} per second, {self.failed} faults, {self.thrown} thrown away")

    def note(self, text):
        """A line that the next one replaces, on a terminal; elsewhere it is printed if it is a while since the last one."""
        if self.terminal:
            self.out.write(f"\r\033[K{text[:150]}")
        elif time.monotonic() - self.shown < 1:
            self.out.write(text + "\n")
        self.out.flush()

    def line(self, text):
        """A line that stays."""
        self.out.write(("\r\033[K" if self.terminal else "") + text + "\n")
        self.out.flush()

    def close(self):
        """The closing line; the exit code, 1 if something failed or nothing passed."""
        thrown = f", {self.thrown} thrown away" if self.thrown else ""
        self.line(f"{self.passed} passed, {self.failed} failed{thrown}")
        return 1 if self.failed or not self.passed else 0
