"""Models compiled ahead of time: how large they are, and how long a new process takes to its first run. Beside a session and ONNX Runtime.

    python bench/ahead.py                      the workloads of ./dev bench
    python bench/ahead.py --only short_loop    one of them (may be given again)

The C program does what a small service does when it starts: it opens the library, looks up the functions and runs the model once.
Each figure is the median of processes that take turns; one thread each.
"""

import argparse
import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np
from harness import measuring

FOOT = """\
size: of the shared object, and its weights. compile: making it. run 1: from the start of a process (Python: after NumPy is imported) to the
end of the first run. in C: a program that links the library. warm: a later run. ratio: run 1 of ONNX Runtime in Python divided by this."""

PROGRAM = r"""
#include "model.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + 1e-9 * t.tv_nsec; }
int main(int count, char** files) {
  rondel_tensor inputs[64];
  for (int k = 1; k < count; ++k) {
    FILE* f = fopen(files[k], "rb");
    int64_t head[2], *shape;
    if (!f || fread(head, 8, 2, f) != 2) return 1;
    shape = malloc(8 * (head[1] + 1));
    if (fread(shape, 8, head[1], f) != (size_t)head[1]) return 1;
    const long at = ftell(f);
    fseek(f, 0, SEEK_END);
    const long bytes = ftell(f) - at;
    fseek(f, at, SEEK_SET);
    void* data = malloc(bytes + 1);
    if (fread(data, 1, bytes, f) != (size_t)bytes) return 1;
    inputs[k - 1] = (rondel_tensor){(int32_t)head[0], (int32_t)head[1], shape, data};
  }
  for (int k = 0; k < 50; ++k) {
    const double begin = now();
    rondel_results* r = model_run(inputs, count - 1, NULL);
    if (r->status != RONDEL_OK) return fprintf(stderr, "%s\n", r->error), 1;
    model_free(r);
    printf("%.9f\n", now() - begin);
  }
}
"""
#: the C numbers of NumPy's dtypes
DTYPES = {"float64": 0, "float32": 1, "float16": 2, "int64": 10, "int32": 11, "int16": 12, "int8": 13, "uint64": 16, "uint32": 17, "uint16": 18, "uint8": 19, "bool": 22}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="NAME")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(arguments)
    import workloads

    import rondel
    from rondel.texts import human_bytes, render

    rows = []
    for name in workloads.NAMES:
        if options.only is not None and name not in options.only:
            continue
        made = workloads.load(name)
        if made.call is not None:  # one run is several calls
            continue
        with tempfile.TemporaryDirectory() as folder:
            begin = time.perf_counter()
            try:
                report = rondel.compile_model(made.model, Path(folder, "model.so"), name="model", allow_steps=True)
            except rondel.UnsupportedError as error:
                rows.append([name, str(error).splitlines()[0][:60], "", "", "", "", "", "", ""])
                continue
            took = time.perf_counter() - begin
            seconds = first_runs(folder, made, options.rounds)
        reference = seconds["onnxruntime"][0]
        rows += [
            [name, "compiled, in C", human_bytes(report.library_bytes), human_bytes(report.weight_bytes), f"{took:.1f}", *shown(seconds["C"], reference)],
            ["", "compiled, in Python", "", "", "", *shown(seconds["compiled"], reference)],
            ["", "session", "", "", "", *shown(seconds["session"], reference)],
            ["", "ONNX Runtime", "", "", "", *shown(seconds["onnxruntime"], reference)],
        ]
    head = ["model", "run", "size", "weights", "compile s", "run 1 ms", "warm us", "ratio"]
    print(render(head, [r[: len(head)] for r in rows], right=head[2:]))
    where = measuring.describe_machine()
    print(f"{FOOT}\nMedian of {options.rounds} processes. {where['processor']}, {where['cores']} cores, {where['date']}.")
    return 0


def shown(seconds, reference):
    first, warm = seconds
    return [f"{1e3 * first:.1f}", f"{1e6 * warm:.1f}", f"{reference / first:.2f}"]


def first_runs(folder, made, rounds):
    """Seconds to the end of the first run, and of a later run, by way."""
    program = Path(folder, "program")
    Path(folder, "program.c").write_text(PROGRAM)
    subprocess.run(["cc", "-O2", "program.c", "./model.so", "-o", program], cwd=folder, check=True)
    files = []
    import rondel

    for port in rondel.load_compiled(Path(folder, "model.so")).get_inputs():
        x = np.asarray(made.feeds[port.name])
        files.append(Path(folder, f"{len(files)}.bin"))
        files[-1].write_bytes(np.array([DTYPES[x.dtype.name], x.ndim, *x.shape], np.int64).tobytes() + np.ascontiguousarray(x).tobytes())
    found = {"C": [], "compiled": [], "session": [], "onnxruntime": []}
    for _ in range(rounds):
        begin = time.perf_counter()
        done = subprocess.run([program, *files], cwd=folder, capture_output=True, text=True, check=True)
        runs = [float(line) for line in done.stdout.split()]
        found["C"].append((time.perf_counter() - begin - sum(runs[1:]), median(runs[25:])))
        for way in ("compiled", "session", "onnxruntime"):
            answer = subprocess.run(
                [sys.executable, __file__, "--here", way, str(Path(folder, "model.so"))],
                input=pickle.dumps((made.model, made.feeds)), capture_output=True, check=True,
                env=os.environ | {"RONDEL_CACHE_DIR": "off"},
            )  # fmt: skip
            found[way].append(tuple(json.loads(answer.stdout.splitlines()[-1])))
    return {way: (median(f for f, _ in both), median(w for _, w in both)) for way, both in found.items()}


def here(way, library):
    model, feeds = pickle.load(sys.stdin.buffer)
    begin = time.perf_counter()
    if way == "compiled":
        import rondel

        session = rondel.load_compiled(library)
    else:
        session = measuring.make_session("rondel" if way == "session" else way, model, 1, {})
    session.run(None, feeds)
    first = time.perf_counter() - begin
    times = []
    end = time.perf_counter() + 0.5
    while time.perf_counter() < end:
        start = time.perf_counter()
        session.run(None, feeds)
        times.append(time.perf_counter() - start)
    print(json.dumps([first, median(times[len(times) // 2 :])]))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--here"]:
        here(*sys.argv[2:])
    else:
        sys.exit(main())
