"""Counts of the export tests, for the summary at the end of a run: models that give the same results after export, and refused ops."""

from collections import Counter

same = Counter()  # set of export options ("way") -> number of models
refused = {}  # way -> Counter of ops
onnxruntime = Counter()


def refuse(way, op):
    refused.setdefault(way, Counter())[op] += 1


def summary():
    lines = []
    for way in sorted(same.keys() | refused.keys()):
        ops = refused.get(way, Counter())
        lines.append(f"{way}: {same[way]} models of the suite give the same, {sum(ops.values())} are refused")
        lines += [f"  {op}: {count}" for op, count in ops.most_common()]
    if onnxruntime:
        lines.append("in ONNX Runtime: " + ", ".join(f"{what} {n}" for what, n in sorted(onnxruntime.items())))
    return lines
