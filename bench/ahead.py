"""Models compiled ahead of time: how large they are, and how long a new process takes to its first run. Beside a session and ONNX Runtime.

    ./dev bench ahead                      the workloads of ./dev bench
    ./dev bench ahead --only short_loop    one of them (may be given again)

The C program does what a small service does when it starts: it loads the library that it is linked with, and runs the model.
Each figure is the median of processes that take turns; one thread each.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np
from commands import ENGINES, Parser, given, in_new_process, machine, measuring, require

FOOT = """\
size: of the shared object, and its weights. compile: making it. run 1: from the start of a process (Python: after NumPy is imported) to the
end of the first run. in C: a program that links the library. warm: a later run. ratio: run 1 of ONNX Runtime in Python divided by this."""

HEAD = ["model", "run", "size", "weights", "compile s", "run 1 ms", "warm us", "ratio"]
WAYS = {"C": "compiled, in C", "compiled": "compiled, in Python", "session": "session", "onnxruntime": "ONNX Runtime"}

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
    from workloads import NAMES, OF_MANY_RUNS, load

    options = Parser("ahead", __doc__, [name for name in NAMES if name not in OF_MANY_RUNS], rounds=5).parse_args(arguments)
    require(*ENGINES)
    from rondel.progress import Progress  # not above: processes with another engine are without rondel

    rows, progress = [], Progress(True, "measuring", len(options.rows))
    for done, name in enumerate(options.rows):
        progress.update(done, name)
        made = load(name)
        rows += measure(name, made.model, made.feeds, options.rounds)
    progress.clear()
    print(table(rows))
    print(f"{FOOT}\nMedian of {options.rounds} processes. {machine()}")
    return 0


def measure(name, model, feeds, rounds):
    """The rows of a model: a way to run it in each, or why it cannot be compiled."""
    import rondel
    from rondel.texts import human_bytes

    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder, "model.so")
        begin = time.perf_counter()
        try:
            report = rondel.compile_model(model, library, name="model", allow_steps=True)
        except rondel.UnsupportedError as error:
            return [[name, str(error).splitlines()[0][:60], *[""] * (len(HEAD) - 2)]]
        took = time.perf_counter() - begin
        seconds = first_runs(library, model, feeds, rounds)
    sizes = [human_bytes(report.library_bytes), human_bytes(report.weight_bytes), f"{took:.1f}"]
    reference, _ = seconds["onnxruntime"]
    rows = []
    for way, title in WAYS.items():
        first, warm = seconds[way]
        of_the_model = ("", ["", "", ""]) if rows else (name, sizes)
        rows.append([of_the_model[0], title, *of_the_model[1], f"{1e3 * first:.1f}", f"{1e6 * warm:.1f}", f"{reference / first:.2f}"])
    return rows


def first_runs(library, model, feeds, rounds):
    """For each way: the median seconds to the end of the first run, and of a later run."""
    program, files = c_program(library, feeds)
    found = {way: [] for way in WAYS}
    for order in measuring.turns(WAYS, rounds):
        for way in order:
            if way == "C":
                found[way].append(runs_in_c(program, files))
            else:
                found[way].append(in_new_process(__file__, "--here", way, str(library), given=(model, feeds)))
    return {way: tuple(map(median, zip(*both))) for way, both in found.items()}


def c_program(library, feeds):
    """(the program that links the library, a file for each of its inputs)."""
    import rondel

    folder, files = library.parent, []
    (folder / "program.c").write_text(PROGRAM)
    subprocess.run(["cc", "-O2", "program.c", f"./{library.name}", "-o", "program"], cwd=folder, check=True)
    for port in rondel.load_compiled(library).get_inputs():
        x = np.asarray(feeds[port.name])
        files.append(folder / f"{len(files)}.bin")
        files[-1].write_bytes(np.array([DTYPES[x.dtype.name], x.ndim, *x.shape], np.int64).tobytes() + np.ascontiguousarray(x).tobytes())
    return folder / "program", files


def runs_in_c(program, files):
    """Seconds from the start of the program to the end of its first run, and of a later run."""
    begin = time.perf_counter()
    done = subprocess.run([program, *files], cwd=program.parent, stdout=subprocess.PIPE, text=True, check=True)
    runs = [float(line) for line in done.stdout.split()]
    return time.perf_counter() - begin - sum(runs[1:]), median(runs[len(runs) // 2 :])


def here(way, library):
    """Seconds of a first run, from NumPy's import on, and of a later run, in this process."""
    model, feeds = given()
    begin = time.perf_counter()
    if way == "compiled":
        import rondel

        session = rondel.load_compiled(library)
    else:
        session = measuring.make_session({"session": "rondel"}.get(way, way), model, 1, {})
    session.run(None, feeds)
    first = time.perf_counter() - begin
    times = []
    end = time.perf_counter() + 0.5
    while time.perf_counter() < end:
        start = time.perf_counter()
        session.run(None, feeds)
        times.append(time.perf_counter() - start)
    return first, median(times[len(times) // 2 :])


def table(rows):
    from rondel.texts import render

    return render(HEAD, rows, right=HEAD[2:])


if __name__ == "__main__":
    if sys.argv[1:2] == ["--here"]:
        print(json.dumps(here(*sys.argv[2:])))
    else:
        sys.exit(main())
