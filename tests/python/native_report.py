"""Counts of loops and `If`s that run natively as a whole, and why the others do not, for the summary at the end of a run."""

import re
from collections import Counter

native = Counter()  # set of models -> number of loops and ifs
total = Counter()
reasons = {}  # set of models -> Counter of reasons


def note(models, executions):
    """Counts the execution modes that `rondel inspect` reports for one model; loops that never run do not count."""
    for execution in executions:
        if not execution or execution.startswith("not at all"):
            continue
        total[models] += 1
        if execution.startswith("natively, as a whole"):
            native[models] += 1
        else:
            reasons.setdefault(models, Counter()).update(in_general(execution))


def in_general(execution):
    """The set of reasons, without the names and types of the model."""
    words = re.sub(r"'[^']*'( \([^()]*\))?", "X", execution)
    words = re.sub(r"\b\w+\[[^\]]*\]|\$[\w.]+", "T", words)
    return {reason.split(": ")[-1] for reason in re.sub(r"X(, X| and X)+", "X", words).split("; ")}


def summary():
    lines = []
    for models in total:
        lines.append(f"{models}: {native[models]} of {total[models]} run natively, as a whole")
        lines += [f"  {count:4} not: {reason}" for reason, count in reasons.get(models, Counter()).most_common()]
    return lines
