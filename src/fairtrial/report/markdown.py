"""The report as Markdown that GitHub and every common reader show the same. Pure."""

import re

from fairtrial.report.intervals import LEGEND, interval_lines
from fairtrial.report.text_plot import as_text, legend
from fairtrial.report.visible import visible
from fairtrial.schema.document import (
    Callout,
    DotChart,
    IntervalChart,
    Paragraph,
    Report,
    Section,
    Span,
    Table,
)

PLOT_WIDTH = 88
_SPECIAL = re.compile(r"[\\`*\[\]|~<>&]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
_BLOCK_START = re.compile(r"^(?=[#+-]+(?:\s|$))|^(?=[-=]{2,}\s*$)|^(\d+)(?=[.)](?:\s|$))")
_BOLD = frozenset({"bad", "good", "warn"})


def render_markdown(report: Report) -> str:
    """The report as one Markdown text; everything from data is escaped."""
    parts = [f"# {escape(report.title)}", escape(report.subtitle)]
    for section in report.sections:
        parts.extend(_section(section))
    return "\n\n".join(parts) + "\n"


def escape(text: str) -> str:
    """Text that shows as itself: no markup, no table cell, no HTML."""
    plain = _SPECIAL.sub(lambda found: _ENTITIES.get(found[0], f"\\{found[0]}"), visible(text))
    return _BLOCK_START.sub(lambda found: f"{found[0]}\\", plain)


def _section(section: Section) -> list[str]:
    parts = [f"## {escape(section.title)}"]
    for block in section.blocks:
        match block:
            case Paragraph():
                parts.append(escape(block.text))
            case Callout():
                parts.append(_callout(block))
            case Table():
                parts.append(_table(block))
            case DotChart():
                parts.append(_chart(block))
            case IntervalChart():
                parts.append(intervals(block))
    return parts


def intervals(chart: IntervalChart) -> str:
    """A chart of intervals as a fenced block of text."""
    drawn = "\n".join(line for line, _ in interval_lines(chart, PLOT_WIDTH)).replace("`", "'")
    return f"**{escape(chart.caption)}**\n\n```text\n{drawn}\n```\n\n{escape(LEGEND)}"


def _callout(callout: Callout) -> str:
    lines = [f"> **{escape(callout.title)}**", *(f"> - {escape(line)}" for line in callout.lines)]
    lines.insert(1, ">")
    return "\n".join(lines)


def _table(table: Table) -> str:
    lines = [f"**{escape(table.caption)}**", ""]
    if table.rows:
        lines.append(_row([escape(name) for name in table.columns]))
        lines.append(_row(["--:" if numeric else ":--" for numeric in table.numeric]))
        lines.extend(_row([_cell(span) for span in row]) for row in table.rows)
    else:
        lines.append("(none)")
    if table.note:
        lines += ["", f"*{escape(table.note)}*"]
    return "\n".join(lines)


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(span: Span) -> str:
    text = escape(span.text)
    return f"**{text}**" if span.tone in _BOLD and text else text


def _chart(chart: DotChart) -> str:
    caption = f"**{escape(chart.caption)}** ({escape(chart.unit)}, logarithmic axis)"
    # Labels may hold backticks; inside the fence nothing else needs escaping.
    drawn = as_text(chart, PLOT_WIDTH).replace("`", "'")
    return f"{caption}\n\n```text\n{drawn}\n```\n\n{escape(legend(chart))}"
