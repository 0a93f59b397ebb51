"""Counts of the export tests, for the summary at the end of a run: models that give the same results after export, and refused ops."""

from collections import Counter

same = Counter()  # set of export options ("way") -> number of models
refused = {}  # way -> Counter of ops


def refuse(way, op):
    refused.setdefault(way, Counter())[op] += 1


def counts():
    """What was counted so far, in types that a worker of pytest-xdist can send."""
    return {"same": dict(same), "refused": {way: dict(ops) for way, ops in refused.items()}}


def add(counted):
    """Adds the counts of a worker."""
    same.update(counted["same"])
    for way, ops in counted["refused"].items():
        refused.setdefault(way, Counter()).update(ops)


def summary():
    lines = []
    for way in sorted(same.keys() | refused.keys()):
        ops = refused.get(way, Counter())
        lines.append(f"{way}: {same[way]} models of the suite give the same, {sum(ops.values())} are refused")
        lines += [f"  {op}: {count}" for op, count in ops.most_common()]
    return lines
