"""A Sphinx extension: docstrings are read as Markdown, as they are written.

A paragraph of lines such as `name: text` becomes a list, `>>>` lines become a block of code, and headings become bold lines: an
entry of the reference has no sections. The texts of ONNX's operators have their operands as lists.
"""

import inspect
import re
import sys
import textwrap

from docutils import nodes
from docutils.utils import new_document
from myst_parser.parsers.sphinx_ import MystParser
from numpy.typing import ArrayLike
from pages import public_modules
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import stringify_annotation

PARAMETER = re.compile(r"(?P<names>[A-Za-z_*][\w*.]*(?:, [A-Za-z_*][\w*.]*)*): (?=\S)")
OPERAND = re.compile(r"    (?P<name>\w+) (?P<types>\(.*?\)): (?=\S)")
SECTIONS = ("Inputs", "Attributes", "Results")  # of ONNX's operators, with indented entries
RELATIVE = re.compile(r"\[([^]]*)\]\((?!https?://)[^()]*\)")  # links into ONNX's own folder
PROMPT = re.compile(r"\s*>>> ")


def markdown(text):
    """A docstring as Markdown."""
    lines, out, in_list, at = inspect.cleandoc(text).split("\n"), [], False, 0
    while at < len(lines):
        line = RELATIVE.sub(r"\1", lines[at])
        at += 1
        if PROMPT.match(line):
            end = next((k for k in range(at, len(lines)) if not lines[k].strip()), len(lines))
            shown = textwrap.dedent("\n".join(lines[at - 1 : end]))
            out += ["", "```pycon", re.sub(r" *# doctest: \+\w+", "", shown), "```", ""]
            at, in_list = end, False
        elif not line.strip():
            out.append("")
            in_list = False
        elif (named := PARAMETER.match(line)) and (in_list or not out or not out[-1]):
            names = named["names"].replace("*", "\\*")
            out.append(f"- **{names}**: {line[named.end() :]}")
            in_list = True
        elif in_list:
            out.append("  " + line.strip())
        elif line in SECTIONS and at < len(lines) and lines[at].startswith("    "):
            out += [f"**{line}**", ""]
        elif operand := OPERAND.match(line):
            out.append(f"- `{operand['name']}` {operand['types']}: {line[operand.end() :]}")
        elif line.startswith("#"):
            out.append(f"**{line.lstrip('# ')}**")
        else:
            out.append(line)
    return "\n".join(out)


class Markdown(SphinxDirective):
    """Its content is Markdown."""

    has_content = True

    def run(self):
        document = new_document("docstring", self.state.document.settings)
        document.settings.env = self.env
        MystParser().parse(markdown("\n".join(self.content)), document)
        return [node for node in document.children if not isinstance(node, nodes.system_message)]


def wrap(app, what, name, thing, options, lines):
    """Puts a docstring into the directive."""
    if any(line.strip() for line in lines):
        lines[:] = [".. markdown::", "", *("   " + line for line in lines), ""]


def shorten(app, what, name, thing, options, signature, returned):
    """Writes ArrayLike in a signature as its name, not as all that it stands for."""
    if signature is None:
        return None
    for mode in ("smart", "fully-qualified-except-typing"):
        signature = signature.replace(stringify_annotation(ArrayLike, mode), "ArrayLike")
    return signature, returned


def load_lazy_names():
    """Puts what modules make at its first use into them, so that autodoc finds it."""
    for name in public_modules():
        if module := sys.modules.get(name):  # rondel.torch is not loaded without torch
            for inner in getattr(module, "__all__", []):
                setattr(module, inner, getattr(module, inner))


def setup(app):
    load_lazy_names()
    app.add_directive("markdown", Markdown)
    app.connect("autodoc-process-signature", shorten)
    app.connect("autodoc-process-docstring", wrap)
    return {"parallel_read_safe": True}
