"""Texts of models for people: ports, tables, and how sessions and reports are printed."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .arrays import element_name

if TYPE_CHECKING:
    from .metadata import NodeArg


def type_text(port: NodeArg) -> str:
    """'tensor(float)[N, 3]'"""
    shape = "" if port.shape is None else "[" + ", ".join("?" if e is None else str(e) for e in port.shape) + "]"
    return f"{port.type}{shape}" if port.type else "(no type declared)"


def port_text(port: NodeArg) -> str:
    """'x: tensor(float)[N, 3]'"""
    return printable(f"{port.name}: {type_text(port)}")


def short_type(port: NodeArg) -> str:
    """'f32[N, 3]', as errors name the types of values; the whole type if it is no tensor."""
    return type_text(port).replace(port.type, element_name(port.type)) if port.type.startswith("tensor(") else type_text(port)


def render(header: Sequence[str], rows: Iterable[Sequence[Any]], right: Sequence[str] = ()) -> str:
    """Rows of strings under a header; columns named in `right` are set flush right."""
    table = [list(header)] + [[printable(str(cell)) for cell in row] for row in rows]
    widths = [max(_columns(row[c]) for row in table) for c in range(len(header))]
    lines = []
    for row in table:
        blanks = [" " * (width - _columns(cell)) for cell, width in zip(row, widths)]
        cells = [blank + cell if name in right else cell + blank for cell, blank, name in zip(row, blanks, header)]
        lines.append("  ".join(cells).rstrip())
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def printable(text: str) -> str:
    """The text with what would control a terminal written as Python escapes it: names of a model may hold anything."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _columns(text: str) -> int:
    """The columns of a terminal that the text takes."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def human_bytes(count: float) -> str:
    """'1.5 KiB'"""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            break
        count /= 1024
    return f"{count} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"


def session_text(
    title: str, inputs: Sequence[NodeArg], outputs: Sequence[NodeArg], loops: Mapping[str, str], optional: Sequence[NodeArg] = ()
) -> str:
    """A session as its repr says it: its file, inputs, outputs and loops. optional: inputs that may be left out."""
    lines = [title]
    lines += [f"  input   {port_text(p)}" for p in inputs]
    lines += [f"  input   {port_text(p)} (optional)" for p in optional]
    lines += [f"  output  {port_text(p)}" for p in outputs]
    lines += [f"  loop    {name}: {execution}" for name, execution in loops.items()]
    return "\n".join(lines)


def report_text(report: Any) -> str:
    """A report as `rondel inspect` prints it."""
    lines = _section("inputs", map(port_text, report.inputs)) + _section("outputs", map(port_text, report.outputs))
    lines += _section("opsets", opset_rows(report)) + ["", "ops"]
    lines += ["  " + line for line in render(("op", "count"), op_rows(report), right=("count",)).splitlines()]
    if report.custom_ops:
        lines += ["", *_section("ops of your own", [f"{domain}.{name}" for domain, name in report.custom_ops])]
    for loop in report.loops:
        lines += ["", loop_title(loop), *("  " + line for line in loop_lines(loop))]
    for branch in report.branches:
        lines += ["", branch_title(branch), f"  runs   {branch['execution']}"]
    return "\n".join(lines)


def finding_text(finding: tuple[str, str, str]) -> str:
    """'error: node 'y' (Add): ...'"""
    level, where, message = finding
    return f"{level}: {where}: {message}" if where else f"{level}: {message}"


def _section(title, lines):
    return [title, *("  " + line for line in list(lines) or ["none"])]


def opset_rows(report):
    return [f"{domain} {version}" for domain, version in sorted(report.opsets.items())]


def op_rows(report):
    return sorted(report.op_counts.items(), key=lambda item: (-item[1], item[0]))


def loop_title(loop):
    return f"loop {loop['name']} (depth {loop['depth']}), ended by {loop['bound']}"


def branch_title(branch):
    return f"if {branch['name']} (depth {branch['depth']})"


def loop_lines(loop):
    lines = [f"{part[:-1]:6} {item}" for part in ("states", "scans", "stacks") for item in loop[part]]
    return lines + ([f"runs   {loop['execution']}"] if loop["execution"] else [])


def report_html(report: Any) -> str:
    """A report as HTML, for notebooks."""
    parts = _port_tables(report.inputs, report.outputs)
    parts.append(_table(("opset", "version"), sorted(report.opsets.items())))
    parts.append(_table(("op", "count"), op_rows(report)))
    if report.custom_ops:
        parts.append(_table(("op of your own", "domain"), [(name, domain) for domain, name in report.custom_ops]))
    parts += map(loop_html, report.loops)
    parts += (_titled_list(branch_title(x), [f"runs   {x['execution']}"]) for x in report.branches)
    if report.findings:
        parts.append(_list(map(finding_text, report.findings)))
    return _division(parts)


def loop_html(loop: Mapping[str, Any]) -> str:
    """A loop of a report as HTML."""
    return _titled_list(loop_title(loop), loop_lines(loop))


def session_html(
    title: str, inputs: Sequence[NodeArg], outputs: Sequence[NodeArg], loops: Mapping[str, str], optional: Sequence[NodeArg] = ()
) -> str:
    """A session as HTML: what `session_text` says."""
    parts = [f"<p>{html.escape(title)}</p>", *_port_tables(inputs, outputs, optional)]
    if loops:
        parts.append(_table(("loop", "runs"), loops.items()))
    return _division(parts)


def profile_table_html(path: str, events: Iterable[Mapping[str, Any]]) -> str:
    """The events of a profile as HTML: a row for each name, with times in milliseconds, and how loops ran in the latest run."""
    times: dict[str, list[float]] = {}
    ran: Mapping[str, str] = {}
    for event in events:
        if event["ph"] != "X":  # a name of a track, or memory: no time
            continue
        times.setdefault(event["name"], []).append(event["dur"] / 1000)
        ran = event["args"].get("how_it_ran", ran)
    rows = [(name, len(ms), *(f"{x:.3f}" for x in (sum(ms), sum(ms) / len(ms), min(ms), max(ms)))) for name, ms in times.items()]
    parts = [f"<p>{html.escape(path)}</p>", _table(("event", "count", "total ms", "mean ms", "shortest ms", "longest ms"), rows)]
    if ran:
        parts.append(_table(("loop", "ran"), ran.items()))
    return _division(parts)


def _port_tables(inputs, outputs, optional=()):
    tables = {kind: [(p.name, type_text(p)) for p in ports] for kind, ports in (("input", inputs), ("output", outputs))}
    tables["input"] += [(p.name, f"{type_text(p)} (optional)") for p in optional]
    return [_table((kind, "type"), rows) for kind, rows in tables.items()]


def _titled_list(title, lines):
    return f"<p>{html.escape(title)}</p>" + _list(lines)


def _division(parts):
    return "<div>" + "\n".join(parts) + "</div>"


def _table(header, rows):
    cells = [("th", header), *(("td", row) for row in rows)]
    made = ("<tr>" + "".join(f"<{tag}>{html.escape(str(cell))}</{tag}>" for cell in row) + "</tr>" for tag, row in cells)
    return "<table>" + "".join(made) + "</table>"


def _list(lines):
    return "<ul>" + "".join(f"<li>{html.escape(line)}</li>" for line in lines) + "</ul>"
