"""What bench/models.py measured, as a table for people and as docs/performance.md."""

import math

from commands import ENGINES

THREADS = (1, 2)
LIMIT = 1.1  #: the greatest ratio that is accepted

PAGE = """\
# Performance

<!-- Written by bench/models.py; `./dev bench models --write` measures all of it again. Rows may be of several runs: --only measures some anew. -->

Models and single ops in Rondel {rondel} and in ONNX Runtime {onnxruntime}: {processor}, {cores} cores, {date} (some rows may be of earlier runs of the benchmark). {load}

- **Time**: of a run through Python, in microseconds: the median of the runs of some rounds, in which the two engines take turns. Rondel's code is compiled
  before the first run (`RONDEL_JIT=2`), as it is after a while otherwise. **ratio**: Rondel's time divided by ONNX Runtime's: below 1, Rondel is faster. **fastest**: the same of the
  fastest runs, which depends less on what else the machine did; *In short* is made of it.
- **Peak memory**: what loading and a second of runs add, at most, to a process of its own with one thread.
- **Models**: those of [tests/exported](../tests/exported/README.md), written by the exporters of torch, TensorFlow, onnxscript and scikit-learn, with inputs of length {size} (scikit-learn: {rows} rows); and those that
  installed Python packages bring along. **Ops**: one case of each op in `tests/python/ops/op_cases.py`, in f32 where the op takes it; most are so small that the call from Python is most of the time;
  element-wise ops have 65,536 elements.

`./dev bench` measures loops ([bench/README.md](../bench/README.md)), `rondel bench` any model ([inside.md](inside.md)).

## In short

| | threads | measured | geometric mean of *fastest* | greatest | above {limit} |
|---|---|---|---|---|---|
{means}

{slow}

## Models

{models}

## Ops

{ops}
"""


def ratio(row, threads, of="fastest"):
    """Rondel's time divided by ONNX Runtime's: of the fastest runs, or (of="seconds") of the median runs."""
    times = row[of][str(threads)]
    return times["rondel"] / times["onnxruntime"]


def measured(rows, kind):
    """The rows of a kind that both engines ran."""
    return [row for row in rows if row["kind"] == kind and "error" not in row]


def means(rows):
    """(kind, threads, the ratios) of what was measured."""
    for kind in ("model", "op"):
        of_kind = measured(rows, kind)
        for threads in THREADS if of_kind else ():
            yield kind, threads, [ratio(row, threads) for row in of_kind]


def geometric_mean(numbers):
    return math.exp(sum(map(math.log, numbers)) / len(numbers))


def text_of(ratio):
    """'0.52', '0.0031'"""
    return f"{ratio:.2f}" if ratio >= 0.095 else f"{ratio:.2g}"


def summary(rows):
    """Lines: geometric means, the greatest ratios, and how many are above the limit."""
    for kind, threads, found in means(rows):
        yield f"{len(found)} {kind}{'s' * (len(found) > 1)}, {threads} thread{'s' * (threads > 1)}: geometric mean {text_of(geometric_mean(found))}, greatest {text_of(max(found))}, {sum(r > LIMIT for r in found)} above {LIMIT}"


HEAD = ["kind", "name", *(title for n in ("1 thread", "2 threads") for title in (f"us, {n}", "ONNX Runtime", "ratio", "fastest")), "peak MiB", "ONNX Runtime"]


def cells(row):
    """A row of the table."""
    made = [row["kind"], row["name"]]
    if "error" in row:
        return [*made, "", "cannot run it", *[""] * 8]
    for threads in THREADS:
        seconds = row["seconds"][str(threads)]
        made += [f"{1e6 * seconds[engine]:,.1f}" for engine in ENGINES] + [text_of(ratio(row, threads, of)) for of in ("seconds", "fastest")]
    peaks = row.get("peak_bytes", {})
    return made + ["" if peaks.get(engine) is None else f"{peaks[engine] / 2**20:.1f}" for engine in ENGINES]


def table(rows):
    from rondel.texts import render

    return render(HEAD, map(cells, rows), right=HEAD[2:])


def page(found, size, rows_each):
    """docs/performance.md."""
    rows = found["rows"]
    lines = [
        f"| {kind}s | {threads} | {len(ratios)} | {text_of(geometric_mean(ratios))} | {text_of(max(ratios))} | {sum(r > LIMIT for r in ratios)} |"
        for kind, threads, ratios in means(rows)
    ]
    return PAGE.format(
        **found["machine"], **found["versions"], load=load_text(rows, found["machine"]["cores"]), size=size, rows=f"{rows_each:,}", limit=LIMIT,
        means="\n".join(lines), slow=slow_text(rows), models=markdown(rows, "model", range(1, 12)), ops=markdown(rows, "op", range(1, 10)),
    )  # fmt: skip


def load_text(rows, cores):
    """How busy the machine was."""
    loads = sorted(row["load"] for row in rows)
    text = f"The load average was {loads[0]:.1f} to {loads[-1]:.1f}, {loads[len(loads) // 2]:.1f} in the middle of the cases; the benchmark alone makes 1 to 2."
    if loads[len(loads) // 2] > cores:
        text += " So other work ran beside it, and runs that take milliseconds were interrupted more often than not: "
        text += "their medians are too long, those with two threads above all. *fastest* is what to read."
    return text


def slow_text(rows):
    """The names of what is slower than the limit."""
    slow = []
    for row in rows:
        ratios = {} if "error" in row else {threads: ratio(row, threads) for threads in THREADS}
        if any(r > LIMIT for r in ratios.values()):
            slow.append(f"{row['name']} ({', '.join(f'{r:.2f}' for r in ratios.values())})")
    refused = [row["name"] for row in rows if "error" in row]
    text = f"*fastest* above {LIMIT}, with one thread and with two: {', '.join(slow)}." if slow else f"No *fastest* is above {LIMIT}."
    return text + (f" ONNX Runtime does not run: {', '.join(refused)}." if refused else "")


def markdown(rows, kind, columns):
    """The rows of a kind as a table in Markdown."""
    lines = [[HEAD[k] for k in columns], ["---" if k == 1 else "---:" for k in columns]]
    lines += [[cells(row)[k] for k in columns] for row in rows if row["kind"] == kind]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
