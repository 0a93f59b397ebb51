"""Counts of onnx's backend suite: tests that passed, tests that failed, and the missing ops of unsupported tests."""

from collections import Counter

passed: list[str] = []
failed: list[str] = []
unsupported: dict[str, str] = {}  # test -> the op (or feature) that is missing


def counts():
    """What was counted so far, in types that a worker of pytest-xdist can send."""
    return {"passed": passed, "failed": failed, "unsupported": unsupported}


def add(counted):
    """Adds the counts of a worker."""
    passed.extend(counted["passed"])
    failed.extend(counted["failed"])
    unsupported.update(counted["unsupported"])


def summary(width: int = 100) -> list[str]:
    """The lines of the summary, most frequent op first; empty if the suite did not run."""
    if not (passed or failed or unsupported):
        return []
    total = len(passed) + len(failed) + len(unsupported)
    lines = [f"{total} tests: {len(passed)} passed, {len(failed)} failed, {len(unsupported)} unsupported"]
    if unsupported:
        counts = Counter(unsupported.values()).most_common()
        line = "unsupported by op:"
        for op, count in counts:
            word = f" {op} {count},"
            if len(line) + len(word) > width:
                lines.append(line)
                line = "   "
            line += word
        lines.append(line.rstrip(","))
    return lines
