"""Text for a terminal 100 columns wide: colour, a progress line, tables, a scale of blocks.

Colour and the moving progress line appear only on a terminal; in a file or a pipe the text is
plain, with one line for each step that took long.
"""

import os
import sys
import time

WIDTH = 100


def _on_terminal():
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb" and "NO_COLOR" not in os.environ


def _paint(code, text):
    return f"\033[{code}m{text}\033[0m" if _on_terminal() else text


def bold(text):
    return _paint("1", text)


def dim(text):
    return _paint("2", text)


def green(text):
    return _paint("32", text)


def red(text):
    return _paint("31", text)


def cyan(text):
    return _paint("36", text)


def duration(seconds):
    """A time with three digits and the unit that fits: 12.3 ms."""
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}" if seconds < 100 else f"{seconds:.0f} s"
    return f"{seconds * 1e9:.3g} ns"


def times(ratio):
    """A ratio with few digits: 61x, 1.8x, 0.92x."""
    return f"{ratio:.0f}x" if ratio >= 10 else f"{ratio:.2g}x"


def blocks(values, low, high):
    """A bar chart with one character per value, with heights scaled from `low` to `high`."""
    steps = " ▁▂▃▄▅▆▇█" if _speaks_unicode() else " .:-=+*#@"
    span = (high - low) or 1.0
    return "".join(steps[min(8, max(0, round(8 * (v - low) / span)))] for v in values)


def _speaks_unicode():
    return "utf" in (sys.stdout.encoding or "").lower()


def table(head, rows, right=()):
    """Lines of an aligned table; the columns in `right` are right-aligned."""
    cells = [list(head)] + [list(map(str, row)) for row in rows]
    widths = [max(len(row[c]) for row in cells) for c in range(len(head))]

    def line(row):
        parts = [
            text.rjust(width) if column in right else text.ljust(width)
            for column, (text, width) in enumerate(zip(row, widths))
        ]
        return "  ".join(parts).rstrip()

    rule = "  ".join("-" * width for width in widths)
    return [bold(line(cells[0])), dim(rule)] + [line(row) for row in cells[1:]]


class Progress:
    """A progress line: the task, how much of it is done, and the elapsed time.

        with Progress("fitting", total=3) as progress: ... progress.step(1) ...

    On a terminal the line is redrawn by step(); elsewhere one line is printed at the end, and
    only if the work took more than a second.
    """

    def __init__(self, what, total=None):
        self.what, self.total = what, total

    def __enter__(self):
        self.start = time.perf_counter()
        self.step(0)
        return self

    def step(self, done):
        """done: how many of `total` are finished."""
        if not _on_terminal():
            return
        bar = ""
        if self.total:
            full = int(24 * done / self.total)
            bar = f" [{'=' * full}{' ' * (24 - full)}] {done}/{self.total}"
        seconds = time.perf_counter() - self.start
        sys.stdout.write(f"\r\033[K   {self.what} ...{bar} {seconds:.1f} s")
        sys.stdout.flush()

    def __exit__(self, *failure):
        seconds = time.perf_counter() - self.start
        if _on_terminal():
            sys.stdout.write("\r\033[K")
            sys.stdout.flush()
        elif seconds > 1 and not any(failure):
            print(f"   {self.what}: {seconds:.1f} s", flush=True)
