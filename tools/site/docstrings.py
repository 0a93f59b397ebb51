"""A Sphinx extension: docstrings are read as Markdown, as they are written.

A paragraph of lines such as `name: text` becomes a list, `>>>` lines become a block of code, and headings become bold lines: an
entry of the reference has no sections. The texts of ONNX's operators have their operands as lists.
"""

import re
import textwrap

from docutils import nodes
from docutils.utils import new_document
from myst_parser.parsers.sphinx_ import MystParser
from sphinx.util.docutils import SphinxDirective

PARAMETER = re.compile(r"(?P<names>[A-Za-z_*][\w*.]*(?:, [A-Za-z_*][\w*.]*)*): (?=\S)")
OPERAND = re.compile(r"    (?P<name>\w+) (?P<types>\(.*?\)): (?=\S)")
SECTIONS = ("Inputs", "Attributes", "Results")  # of ONNX's operators, with indented entries
RELATIVE = re.compile(r"\[([^]]*)\]\((?!https?://)[^()]*\)")  # links into ONNX's own folder
PROMPT = re.compile(r"\s*>>> ")


def markdown(text):
    """A docstring as Markdown."""
    lines, out = textwrap.dedent(text).strip("\n").split("\n"), []
    at = 0
    while at < len(lines):
        line = lines[at]
        if PROMPT.match(line):
            end = at
            while end < len(lines) and lines[end].strip():
                end += 1
            shown = textwrap.dedent("\n".join(lines[at:end]))
            shown = re.sub(r" *# doctest: \+\w+", "", shown)
            out += ["", "```pycon", *shown.split("\n"), "```", ""]
            at = end
            continue
        line = RELATIVE.sub(r"\1", line)
        if line in SECTIONS and lines[at + 1 : at + 2] and lines[at + 1].startswith("    "):
            line = f"**{line}**\n"
        elif operand := OPERAND.match(line):
            line = f"- `{operand['name']}` {operand['types']}: {line[operand.end() :]}"
        elif re.match(r"#+ ", line):
            line = f"**{line.lstrip('# ')}**"
        elif (named := PARAMETER.match(line)) and not named["names"].startswith(("http", "Note", "Warns", "Raises")):
            if not (out and out[-1].startswith(("- ", "  "))):
                out.append("")
            line = f"- **{named['names'].replace('*', chr(92) + '*')}**: {line[named.end() :]}"
        elif out and out[-1].startswith(("- **", "  ")) and line.startswith("    "):
            line = "  " + line.strip()
        elif out and out[-1].startswith("- **") and line.strip() and not line.startswith((" ", "-", "*")):
            line = "\n" + line
        out.append(line)
        at += 1
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


def setup(app):
    app.add_directive("markdown", Markdown)
    app.connect("autodoc-process-docstring", wrap)
    return {"parallel_read_safe": True}
