"""`rondel run`: run a model once and show its outputs."""

import argparse
import contextlib
import json
import pathlib
import tempfile
import time
from statistics import median

import rondel
from rondel.profiling import profile_html

from .exit_codes import UsageError
from .feeds import add_input_option, read_feeds
from .files import print_written, write_all
from .numbers import at_least_one, count, seconds
from .outputs import output_files, output_folder, output_table, require_free
from .table import add_model_options, session_options


def add_to(commands):
    parser = commands.add_parser(
        "run",
        help="run a model once and show its outputs",
        description="Runs a model once, prints a table of its outputs and writes them where asked.",
        epilog="examples:\n"
        "  rondel run model.onnx -i x=random:f32[2,3]        random numbers, [0, 1) or 0 to 9\n"
        "  rondel run model.onnx -i x=x.npy -i n=n.pb -o out  from files, and to files\n"
        "  rondel run model.onnx -i rate=16000                a number, or nested lists of them\n"
        "  rondel run model.onnx -i feeds.npz                 several inputs by their names\n"
        "  rondel run model.onnx -i x=x.npy --profile times.html --repeat 20   what took how long\n\n"
        "exit codes: 0 done, 1 wrong model or input, 2 wrong command line, 3 not supported yet, "
        "4 a budget or deadline, 5 a bug of ours",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_model_options(parser)
    add_input_option(parser)
    parser.add_argument(
        "-o", "--output", metavar="DIR", help="write each output to DIR as NAME.npy, or maps as NAME.json: all of them, or on failure none. "
        "NumPy reads dtypes that it does not have (bfloat16, int4, ...) as bytes, |V2 or |V1; -i reads them in the input's dtype",
    )
    parser.add_argument(
        "--profile", metavar="FILE", help="write what took how long: a .json file for Perfetto or chrome://tracing, or a .html page by itself"
    )
    parser.add_argument("--repeat", type=at_least_one, default=1, metavar="N", help="run it N times (1); the outputs are the last run's")
    parser.add_argument("--seed", type=count, default=0, metavar="N", help="the seed of random inputs and random ops (0)")
    parser.add_argument("--deadline", type=seconds, metavar="SECONDS", help="end the run after this time")
    parser.add_argument("--max-trips", type=count, metavar="N", help="the most trips of any one loop")
    parser.add_argument("--max-memory", type=count, metavar="BYTES", help="the most memory that the run may hold at once")
    parser.add_argument("--threads", type=count, metavar="N", help="threads of one op (as many as there are cores)")
    parser.add_argument("--interpret", action="store_true", help="use the interpreter only (as RONDEL_JIT=0)")
    parser.set_defaults(act=act)


def act(options):
    folder = output_folder(options.output)
    chosen = session_options(options)
    chosen.jit = not options.interpret
    profile = profile_file(options.profile)
    for name, value in (
        ("max_trips", options.max_trips),
        ("max_memory_bytes", options.max_memory),
        ("intra_op_num_threads", options.threads),
    ):
        if value is not None:
            setattr(chosen, name, value)
    with contextlib.ExitStack() as temporary:
        if profile:
            chosen.enable_profiling = True
            chosen.profile_file_prefix = f"{temporary.enter_context(tempfile.TemporaryDirectory())}/run"
        session = rondel.InferenceSession(options.model, chosen)
        temporary.callback(_end_profiling, session)
        if folder:
            require_free(folder, session.get_outputs(), profile)
        outputs, times = _run(session, options)
        files = output_files(folder, outputs) if folder else {}
        if profile:
            files[profile] = profile_writer(session, options)
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
    write_all(files, {profile: "--profile"} if profile else None)
    print(output_table(outputs))
    print(f"\nran in {times[0] * 1e3:.2f} ms" + (f", then {len(times) - 1} more: median {median(times[1:]) * 1e3:.2f} ms" if times[1:] else ""))
    print_written(files)
    return 0


def _run(session, options):
    """The outputs of the last run by their names, and the seconds of each."""
    feeds = read_feeds(session, options.input, options.seed)
    limits = rondel.RunOptions()
    limits.deadline = options.deadline
    limits.seed = options.seed
    times = []
    for _ in range(options.repeat):
        begin = time.perf_counter()
        outputs = session.run(None, feeds, limits)
        times.append(time.perf_counter() - begin)
    return dict(zip((port.name for port in session.get_outputs()), outputs)), times


def profile_file(name):
    """The path of the profile, or None; an error, before anything runs, if it cannot be written there."""
    if name is None:
        return None
    path = pathlib.Path(name)
    if path.suffix not in (".json", ".html"):
        raise UsageError(f"--profile {name}: expected a file that ends in .json (for Perfetto) or .html (a page)")
    if not path.parent.is_dir() or path.is_dir():
        raise UsageError(f"--profile {name}: {'it is a folder' if path.is_dir() else f'there is no folder {path.parent}'}")
    return path


def _end_profiling(session):
    with contextlib.suppress(rondel.CallerError):  # there is no profile, or it has ended
        session.end_profiling()


def profile_writer(session, options):
    """A function that writes the profile of a session."""
    text = pathlib.Path(session.end_profiling()).read_text()
    if options.profile.endswith(".html"):
        text = profile_html(json.loads(text), pathlib.Path(options.model).name, session.how_it_ran(tiers=True))
    return lambda file: file.write(text.encode(errors="replace"))
