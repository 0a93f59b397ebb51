"""`rondel compile`: write a model as a shared object with its code."""

import argparse
import os
import sys

import rondel
from rondel.texts import human_bytes, render

from .exit_codes import UsageError
from .feeds import read_feeds
from .numbers import whole_number
from .table import add_model_options, session_options


def add_to(commands):
    parser = commands.add_parser(
        "compile",
        help="compile a model ahead of time: a shared object that C and Python call",
        description="Compiles a model to a shared object with its code, its weights and what runs them: no LLVM, no ONNX, no\n"
        "Python. C programs call it through the header that is written beside it, Python with rondel.load_compiled.\n"
        "The results are the bits of `rondel run`. Linking needs the system's C compiler (cc, or what CC names).",
        epilog="examples:\n"
        "  rondel compile model.onnx -o model.so                       for this processor, and the shapes that the model declares\n"
        "  rondel compile model.onnx -o model.so --cpu x86-64-v3       for all processors with AVX2\n"
        "  rondel compile model.onnx -o model.so --shape x=1,80,?      any extent on the last axis\n"
        "  rondel compile model.onnx -o model.so --shape x=1,80 m=1 --shape x=8,80 m=8    two combinations\n"
        "  cc -O2 program.c ./model.so -o program                      a C program with #include \"model.h\"\n\n"
        "Code is made for classes of shapes: an extent that is not stated may be any, 1 included. Shapes without code are\n"
        "interpreted, which is slower. A node that has no native code is an error, unless --allow-steps lets it run so.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_model_options(parser)
    parser.add_argument("-o", "--output", required=True, metavar="OUT.so", help="the shared object to write")
    parser.add_argument("--header", metavar="OUT.h", help="the C header (OUT.h beside the shared object)")
    parser.add_argument("--name", default="", help="the prefix of the C functions (made of the name of OUT.so)")
    parser.add_argument(
        "--cpu",
        default="native",
        metavar="NAME",
        help="the processor: native (this one, the default), or LLVM's name: x86-64-v2, x86-64-v3 (AVX2), x86-64-v4 (AVX-512), "
        "skylake-avx512, znver4, ...",
    )
    parser.add_argument(
        "--shape",
        action="append",
        nargs="+",
        default=[],
        metavar="INPUT=EXTENTS",
        help="shapes to make code for, as 1,80,? (?: any extent; nothing: a scalar); several times for several combinations",
    )
    parser.add_argument(
        "-i",
        "--input",
        action="append",
        default=[],
        metavar="NAME=WHAT",
        help="inputs as of `rondel run`, with which the model is run once, so that there is code for sizes that these data decide",
    )
    parser.add_argument("--allow-steps", action="store_true", help="nodes without native code run interpreted, or step by step")
    parser.add_argument("--strict", action="store_true", help="no contraction to fma, reference kernels only")
    parser.add_argument("--denormals-as-zero", action="store_true", help="subnormal numbers are zero, which is faster where numbers fade away in a loop")
    parser.set_defaults(act=act)


def act(options):
    chosen = session_options(options)
    chosen.strict = options.strict
    chosen.denormals_as_zero = options.denormals_as_zero
    samples = []
    if options.input:
        samples = [read_feeds(rondel.InferenceSession(options.model, chosen), options.input, 0)]
    report = rondel.compile_model(
        options.model,
        options.output,
        cpu=options.cpu,
        shapes=[_shapes(texts) for texts in options.shape] or None,
        samples=samples,
        allow_steps=options.allow_steps,
        name=options.name,
        header=options.header,
        sess_options=chosen,
        progress=_progress if sys.stderr.isatty() else None,
    )
    if sys.stderr.isatty():
        print(end="\r\033[K", file=sys.stderr)
    if report.not_compiled:
        print(render(("not compiled", "because"), report.not_compiled) + "\n")
    rows = [
        ("processor", report.cpu),
        ("functions of native code", report.programs),
        ("combinations of shapes", report.cases),
        ("code", human_bytes(report.code_bytes)),
        ("weights", human_bytes(report.weight_bytes)),
        (f"wrote {report.library}", human_bytes(report.library_bytes)),
        (f"wrote {report.header}", human_bytes(os.path.getsize(report.header))),
    ]
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"{name:<{width}}  {value}")
    return 0


def _progress(what, done, everything):
    print(end=f"\r\033[K{what} {done}/{everything}", file=sys.stderr, flush=True)


def _shapes(texts):
    """{"x": [1, 80, "?"]} of ["x=1,80,?"]."""
    shapes = {}
    for text in texts:
        name, equals, extents = text.rpartition("=")
        if not equals or not name:
            raise UsageError(f"--shape {text}: expected INPUT=EXTENTS, such as x=1,80,?")
        if name in shapes:
            raise UsageError(f"--shape {text:.100}: the shape of '{name}' is given twice; a --shape of its own makes another combination")
        extents = extents.strip()
        within = extents[1:-1] if extents.startswith("[") and extents.endswith("]") else extents
        shapes[name] = [_extent(text, e.strip()) for e in within.split(",")] if within.strip() else []
    return shapes


def _extent(text, extent):
    if extent == "?":
        return extent
    number = whole_number(extent)
    if number is None:
        raise UsageError(f"--shape {text:.100}: the extent '{extent:.100}' is no number below 2**63 and no ?")
    return number
