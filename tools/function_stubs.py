"""Writes python/rondel/functions/onnx.pyi: the functions of rondel.functions.onnx for editors and type checkers.

    .venv/bin/python tools/function_stubs.py --write

The functions are generated when the module is imported, so that tools which only read sources cannot see them.
"""

import argparse
import inspect
import keyword
import pathlib
import re
import textwrap

from rondel.functions import onnx

PATH = pathlib.Path(__file__).parents[1] / "python/rondel/functions/onnx.pyi"
HEAD = '''\
# Written by tools/function_stubs.py, of ONNX's schemas.
from collections.abc import Callable, Sequence

from numpy import ndarray
from numpy.typing import ArrayLike
'''


def text() -> str:
    names = {name: f for name, f in vars(onnx).items() if inspect.isfunction(f) and name.isidentifier() and not name.startswith("_")}
    own = {name: f for name, f in names.items() if f.__name__ == name}
    aliases = {name: f.__name__ for name, f in names.items() if f.__name__ != name and not keyword.iskeyword(name)}
    parts = [HEAD, *(_function(f) for _, f in sorted(own.items()))]
    parts.append("".join(f"{alias} = {name}\n" for alias, name in sorted(aliases.items())))
    return "\n".join(parts)


def _function(function) -> str:
    signature = function.__signature__
    parameters = [_parameter(p) for p in signature.parameters.values()]
    kinds = [p.kind for p in signature.parameters.values()]
    first_named = next((k for k, kind in enumerate(kinds) if kind is inspect.Parameter.KEYWORD_ONLY), None)
    if first_named is not None and inspect.Parameter.VAR_POSITIONAL not in kinds:
        parameters.insert(first_named, "*")
    head = f"def {function.__name__}({', '.join(parameters)}) -> {_type(signature.return_annotation)}:"
    return f"{head}\n    {_quoted(function.__doc__)}\n"


def _quoted(doc) -> str:
    """The first sentence of a text."""
    sentence = re.split(r"(?<=\.)\s", " ".join(doc.split("\n\n")[0].split()), maxsplit=1)[0]
    doc = textwrap.shorten(sentence, 120, placeholder=" ...").replace("\\", "\\\\")
    return f'"""{doc}"""'


def _parameter(p) -> str:
    star = "*" if p.kind is inspect.Parameter.VAR_POSITIONAL else ""
    default = "" if p.default is inspect.Parameter.empty else f" = {p.default!r}"
    return f"{star}{p.name}: {_type(p.annotation)}{default}"


def _type(annotation) -> str:
    written = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return written.replace("collections.abc.", "").replace("numpy.", "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the file; otherwise its text is printed")
    if parser.parse_args().write:
        PATH.write_text(text())
    else:
        print(text(), end="")


if __name__ == "__main__":
    main()
