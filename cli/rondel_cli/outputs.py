"""The outputs of a run: their table, and their files."""

import json
import os
import pathlib
import re
from functools import partial

import numpy as np

from rondel.texts import render

from .exit_codes import UsageError
from .files import require_all_writable, save_array


def output_table(outputs):
    """A text with a row for each output: its type and its first values. outputs: {name: value}."""
    return render(("output", "type", "min", "mean", "max", "first values"), [_row(name, value) for name, value in outputs.items()])


def output_folder(name):
    """The folder for the outputs, or None; an error, before anything runs, if it cannot be one."""
    if name is None:
        return None
    folder = pathlib.Path(name)
    for place in (folder, *folder.parents):
        if place.exists() and not place.is_dir():
            raise UsageError(f"-o {name}: {place} is a file; expected a folder, in which each output becomes a .npy file")
    there = next(place for place in (folder, *folder.parents) if place.exists())
    if not os.access(there, os.W_OK | os.X_OK):
        raise UsageError(f"-o {name}: nothing may be written in {there}")
    return folder


def require_free(folder, ports, profile=None):
    """Raises CallerError, before the run, if a file of an output cannot be written, or is that of the profile. Which files lists and
    optionals need is known only later."""
    if not folder.is_dir():
        return
    known = {port.name: {} if "map(" in port.type else np.empty(0) for port in ports if port.type.startswith("tensor(") or "map(" in port.type}
    files = [(path, "") for path in output_files(folder, known)]
    require_all_writable(files + ([(profile, f"--profile {profile}")] if profile else []))


def output_files(folder, outputs):
    """{path: a function that writes it} of all outputs: a tensor as NAME.npy, those of a list as NAME.0.npy and so on, maps as NAME.json. An
    optional output that is empty has none. outputs: {name: value}."""
    files = {}
    for name, value in outputs.items():
        for stem, item in _items(name, value):
            files[_free_name(re.sub(r"[^\w.-]", "_", stem), files)] = item
    return {folder / f"{stem}{'.json' if _is_maps(item) else '.npy'}": partial(_save, item) for stem, item in files.items()}


def _items(name, value):
    """[(name, value)] of the files of an output."""
    if value is None:
        return []
    if isinstance(value, list) and not _is_maps(value):
        return [(f"{name}.{i}", item) for i, item in enumerate(value)]
    return [(name, value)]


def _is_maps(value):
    """Whether an output is a map or a list of maps, as a classifier's probabilities by label."""
    return isinstance(value[0] if isinstance(value, list) and value else value, dict)


def _save(value, file):
    if _is_maps(value):
        file.write(json.dumps(value).encode())
    else:
        save_array(value, file)


def _free_name(stem, taken):
    """The stem, with a number if it is taken: names may differ only in characters that were replaced."""
    number, free = 1, stem
    while free in taken:
        number, free = number + 1, f"{stem}_{number + 1}"
    return free


def _row(name, value):
    if value is None:
        return (name, "optional", "", "", "", "(empty)")
    if isinstance(value, dict):
        return (name, f"map of {len(value)}", "", "", "", _entries(value))
    if isinstance(value, list):
        kind, shown = (f" map{'s' * (len(value) > 1)}", _entries) if _is_maps(value) else ("", _type)
        return (name, f"list of {len(value)}{kind}", "", "", "", ", ".join(map(shown, value[:3])))
    first = ", ".join(_number(v) for v in value.reshape(-1)[:4]) + (", ..." if value.size > 4 else "")
    if value.size == 0 or value.dtype.kind in "Oc":
        return (name, _type(value), "", "", "", first)
    wide = value.astype(np.float64)
    with np.errstate(all="ignore"):  # the mean of infinities is NaN
        return (name, _type(value), _number(wide.min()), _number(wide.mean()), _number(wide.max()), first)


def _entries(one):
    """The first entries of a map."""
    shown = [f"{_number(key)}: {_number(one[key])}" for key in list(one)[:4]]
    return "{" + ", ".join(shown + ["..."] * (len(one) > 4)) + "}"


def _type(array):
    return f"{array.dtype}{list(array.shape)}" if array.dtype != object else f"string{list(array.shape)}"


def _number(v):
    return repr(v) if isinstance(v, str) else f"{v:.5g}" if isinstance(v, (float, np.floating)) else str(v)
