"""`rondel mdf`: run a model in ModECI's Model Description Format."""

import argparse
import json
import pathlib
from functools import partial

import numpy as np

import rondel
import rondel.mdf
from rondel import sweeps
from rondel.sweeps.tables import csv_table
from rondel.texts import render

from .exit_codes import UsageError
from .files import print_written, require_all_writable, write_all
from .numbers import at_least_one, count

_MOST_CURVES = 40
_OTHER_SCALE = 20  #: from this factor on, curves have an axis of their own


def add_to(commands):
    parser = commands.add_parser(
        "mdf",
        help="run a model in MDF",
        description="Runs a model in ModECI's Model Description Format (docs/mdf.md): an evaluation that begins its states, then\n"
        "--steps steps of --dt. Prints the first and last values of what is recorded, and writes all of them where asked.",
        epilog="examples:\n"
        "  rondel mdf States.json --steps 200 --dt 0.01                    all output ports\n"
        "  rondel mdf IAFs.yaml --steps 1000 --dt 0.1 --record pre.v --plot v.png --csv v.csv\n"
        "  rondel mdf States.json --steps 200 --dt 0.01 --set 'sine_node.period=[0.2, 0.4, 0.8]'  a sweep\n"
        "  rondel mdf States.json --steps 200 --dt 0.01 --set sine_node.period=0.2:0.8:100000 --table periods.parquet --on ray://head:10001\n"
        "  rondel mdf States.json --steps 200 --dt 0.01 --onnx states.onnx  one ONNX model with a Loop\n\n"
        "exit codes: 0 done, 1 wrong model or value, 2 wrong command line, 3 not supported yet, 4 a budget or deadline, "
        "5 a bug of ours",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", metavar="MODEL", help="a file: JSON if its name ends in .json, else YAML")
    parser.add_argument("--steps", type=count, default=0, metavar="N", help="steps after the first evaluation (0)")
    parser.add_argument("--dt", type=_number, default=1.0, metavar="SECONDS", help="the length of a step (1)")
    parser.add_argument("--record", type=_names, metavar="NODE.PORT,...", help="ports or parameters (all output ports)")
    for option, what in (("input", "an input port's value, or one for each evaluation"), ("initial", "what a state begins with"),
                         ("set", "a parameter's value; one list deeper, or START:STOP:COUNT: a sweep")):  # fmt: skip
        name = "NODE.PORT" if option == "input" else "NODE.PARAMETER"
        parser.add_argument(f"--{option}", type=_assignment, action="append", default=[], metavar=f"{name}=VALUE",
                            help=f"{what}; may be repeated")  # fmt: skip
    parser.add_argument("--keep-precision", action="store_true", help="onnx:: functions compute in the type of their inputs, not in float32")
    parser.add_argument("--csv", metavar="FILE.csv", help="write a table with a row for each time")
    parser.add_argument("--plot", metavar="FILE.png|svg", help="draw the curves (needs matplotlib)")
    parser.add_argument("--onnx", metavar="FILE.onnx", help="write the model as one ONNX model with a loop, whose inputs are steps, dt and the values given here")
    parser.add_argument("--table", metavar="FILE.csv|FILE.parquet|FOLDER", help="write a sweep as a table while it runs, with a row for each point and its last values")
    parser.add_argument("--on", metavar="ADDRESS", help="run a sweep on a Ray cluster: ray://HOST:PORT, HOST:PORT, auto, or local (needs the extra rondel[ray])")
    parser.add_argument("--product", action="store_true", help="sweep all combinations of the values given, the last one fastest, instead of side by side")
    parser.add_argument("--series", action="store_true", help="in the table of a sweep, a row for each point and time")
    parser.add_argument("--batch", type=at_least_one, metavar="POINTS", help="points in a native run of such a sweep")
    parser.set_defaults(act=act)


def act(options):
    _require_once(options)
    if options.table is not None or options.on is not None:
        return _sweep(options)
    for option in ("product", "series", "batch"):
        if getattr(options, option):
            raise UsageError(f"--{option} is for a sweep with --table or --on")
    if pathlib.Path(options.model).suffix == ".onnx":
        raise UsageError(f"{options.model} is an ONNX model: rondel run {options.model}")
    pyplot = _pyplot() if options.plot else None
    files = (("--csv", options.csv), ("--plot", options.plot), ("--onnx", options.onnx))
    require_all_writable([(path, f"{option} {path}") for option, path in files if path], options.model)
    model = rondel.mdf.load(options.model)
    settings = {
        "steps": options.steps,
        "dt": options.dt,
        "record": options.record,
        "inputs": dict(options.input),
        "initial": _lists(options.initial),
        "set": _lists(options.set),
        "single_precision": not options.keep_precision,
    }
    results = model.run(**settings)
    writers = {}
    if options.csv:
        writers[pathlib.Path(options.csv)] = partial(_write_csv, results)
    if options.plot:
        path = pathlib.Path(options.plot)
        writers[path] = partial(_draw, pyplot, results, model.name, path.suffix.lstrip(".").lower())
    if options.onnx:
        written = rondel.export(model.session(**settings))
        writers[pathlib.Path(options.onnx)] = lambda file: file.write(written)
    write_all(writers)
    rows = [(name, _type(array), _few(array[0]), _few(array[-1])) for name, array in results.items() if name != "time"]
    print(render(("recorded", "type", "first", "last"), rows))
    if writers:
        print()
        print_written(writers)
    return 0


def _require_once(options):
    """Raises UsageError if a port or a parameter is given twice."""
    for option in ("input", "initial", "set"):
        names = [name for name, _ in getattr(options, option)]
        twice = next((name for k, name in enumerate(names) if name in names[:k]), None)
        if twice is not None:
            raise UsageError(f"--{option} {twice}: it is given twice")


def _sweep(options):
    """Runs a sweep in batches, here or on a cluster, with its table."""
    for option in ("csv", "plot", "onnx"):
        if getattr(options, option):
            raise UsageError(f"--{option} is for one run; a sweep with --table or --on writes --table")
    model = rondel.mdf.load(options.model)
    try:
        job = sweeps.MdfSweep(
            model, options.steps, options.dt, record=options.record, inputs=dict(options.input),
            initial=_swept(model, "initial", options.initial), set=_swept(model, "set", options.set),
            single_precision=not options.keep_precision, product=options.product, series=options.series,
        )  # fmt: skip
    except sweeps.NothingSwept:
        raise UsageError("--table and --on are for sweeps: --set NODE.PARAMETER=START:STOP:COUNT") from None
    summary = _runner(options)(job, options.table, batch=options.batch)
    rows = [(name, *(f"{x:.6g}" for x in values)) for name, *values in summary]
    print(render(("of all points", "least", "mean", "most"), rows))
    print(f"\n{summary.points} points" + ("" if options.table is None else f", wrote {options.table}"))
    return 0


def _runner(options):
    if options.on is None:
        return sweeps.run
    try:
        import rondel.ray
    except ModuleNotFoundError as error:
        raise UsageError(f"--on: {error}") from None
    return partial(rondel.ray.sweep, on=options.on)


def _swept(model, kind, given):
    """Values by name, of which those with an axis more than their parameter are swept."""
    return {name: sweeps.over(x) if isinstance(x, list) and _is_deeper(model, kind, name, x) else x for name, x in given}


def _is_deeper(model, kind, name, value):
    axes = [[array.ndim for array in model.run(**given).values()] for given in ({}, {kind: {name: value}})]
    return axes[0] != axes[1]


def _lists(given):
    return {name: x.take(np.arange(len(x))) if isinstance(x, sweeps.Over) else x for name, x in given}


def _number(text):
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise argparse.ArgumentTypeError(f"'{text:.100}' is not a finite number")
    return value


def _names(text):
    return [name.strip() for name in text.split(",") if name.strip()]


def _assignment(text):
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise argparse.ArgumentTypeError(f"'{text:.100}' is not NAME=VALUE")
    if value.count(":") == 2:
        return name, _span(*value.split(":"))
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):
        raise argparse.ArgumentTypeError(f"'{value:.100}' of '{name:.100}' is neither a number nor a list of numbers in brackets, nor START:STOP:COUNT") from None


def _span(start, stop, points):
    try:
        return sweeps.span(_number(start), _number(stop), at_least_one(points))
    except rondel.CallerError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _type(array):
    return f"{array.dtype}{list(array.shape)}"


def _few(row):
    flat = np.ravel(row)
    return ", ".join(f"{x:.6g}" for x in flat[:4]) + (", ..." if flat.size > 4 else "")


def _write_csv(results, file):
    with csv_table(file) as write:
        write({"time": results["time"], **dict(results.columns())})


def _pyplot():
    try:
        import matplotlib
    except ImportError:
        raise UsageError("--plot needs the package matplotlib: python -m pip install matplotlib") from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def _draw(pyplot, results, title, kind, file):
    curves = list(results.columns())
    panels = _panels(curves[:_MOST_CURVES])
    figure, axes = pyplot.subplots(len(panels), figsize=(9, 2 + 3 * len(panels)), layout="constrained", sharex=True, squeeze=False)
    for panel, place in zip(panels, axes[:, 0]):
        for name, values in panel:
            place.plot(results["time"], values, label=name, linewidth=1)
        place.legend(fontsize="small")
    more = f" (the first {_MOST_CURVES} of {len(curves)} curves)" if len(curves) > _MOST_CURVES else ""
    axes[0, 0].set(title=title + more)
    axes[-1, 0].set(xlabel="time")
    try:
        figure.savefig(file, format=kind or "png")
    except ValueError as error:
        raise UsageError(f"--plot: {error}") from None
    finally:
        pyplot.close(figure)


def _panels(curves):
    """Curves by the axes that they share, in lists: no port may look flat because of another one."""
    ports = {}
    for name, values in curves:
        ports.setdefault(name.split("[")[0], []).append((name, values))
    panels = []
    for port in ports.values():
        for panel in panels:
            if _fit([*panel, port]):
                panel.append(port)
                break
        else:
            panels.append([port])
    return [[curve for port in panel for curve in port] for panel in panels] or [[]]


def _fit(ports):
    """Whether an axis for all of these ports is at most _OTHER_SCALE times as long as one for any of them that is not constant."""
    lows, highs = zip(*(_bounds(port) for port in ports))
    own = [high - low for low, high in zip(lows, highs) if high > low]
    return not own or max(highs) - min(lows) <= _OTHER_SCALE * min(own)


def _bounds(port):
    values = np.concatenate([np.ravel(values).astype(float) for _, values in port])
    values = values[np.isfinite(values)]
    return (values.min(), values.max()) if values.size else (0.0, 0.0)
