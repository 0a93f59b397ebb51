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
            reasons.setdefault(models, Counter())[in_general(execution)] += 1


def in_general(execution):
    """The reason, without the names and types of the model, and without what would help."""
    words = re.sub(r"'[^']*'( \([^()]*\))?", "X", execution)
    words = re.sub(r"\b\w+\[[^\]]*\]|\$[\w.]+", "T", words)
    return words.split("; ")[0].split(": ")[-1]


def counts():
    """What was counted so far, in types that a worker of pytest-xdist can send."""
    return {"native": dict(native), "total": dict(total), "reasons": {models: dict(of) for models, of in reasons.items()}}


def add(counted):
    """Adds the counts of a worker."""
    native.update(counted["native"])
    total.update(counted["total"])
    for models, of in counted["reasons"].items():
        reasons.setdefault(models, Counter()).update(of)


def summary():
    lines = []
    for models in total:
        lines.append(f"{models}: {native[models]} of {total[models]} run natively, as a whole")
        lines += [f"  {count:4} not: {reason}" for reason, count in reasons.get(models, Counter()).most_common()]
    return lines
