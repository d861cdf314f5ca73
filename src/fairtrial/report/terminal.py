"""The report in a terminal: readable at 80 columns, without colours, and through a pipe."""

from rich import box
from rich.console import Console, Group, JustifyMethod
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table as Grid
from rich.text import Text

from fairtrial.report.intervals import LEGEND, interval_lines
from fairtrial.report.text_plot import legend, plot
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
    Tone,
)

_STYLES: dict[Tone, str] = {"good": "green", "bad": "red", "warn": "yellow", "plain": ""}
_BORDERS: dict[Tone, str] = {"good": "green", "bad": "red", "warn": "yellow", "plain": "blue"}
_GROUPS = ("cyan", "magenta", "yellow", "green")
_BRIEF_SECTIONS = 4
_FOLDED_FROM = 40
_GAP = 3


def render_terminal(report: Report, console: Console, *, brief: bool = False) -> None:
    """Write the report to a console.

    Args:
        report: The document.
        console: Where to; it knows width and colours (NO_COLOR included).
        brief: Only the first four sections: the decision, the verdicts, what differs and what came of it,
            the gates.
    """
    console.print(Text(visible(report.title), style="bold"))
    console.print(Text(visible(report.subtitle), style="dim"))
    for section in report.sections[:_BRIEF_SECTIONS] if brief else report.sections:
        _section(section, console)


def _section(section: Section, console: Console) -> None:
    console.print()
    console.rule(Text(visible(section.title), style="bold"), align="left", characters="-")
    for block in section.blocks:
        match block:
            case Paragraph():
                console.print(Text(visible(block.text), style=_STYLES[block.tone]))
            case Callout():
                _callout(block, console)
            case Table():
                _table(block, console)
            case DotChart():
                _chart(block, console)
            case IntervalChart():
                _intervals(block, console)


def _intervals(chart: IntervalChart, console: Console) -> None:
    console.print()
    console.print(Text(visible(chart.caption), style="bold"))
    for line, tone in interval_lines(chart, console.width):
        console.print(Text(line, style=_STYLES[tone], no_wrap=True, overflow="ignore"))
    console.print(Padding(Text(LEGEND, style="dim"), (0, 0, 0, 1)))


def _callout(callout: Callout, console: Console) -> None:
    lines = [Text(visible(line)) for line in callout.lines]
    title = Text(visible(callout.title), style=f"bold {_STYLES[callout.tone]}".strip())
    body = Group(title, *lines)
    console.print(Panel(body, border_style=_BORDERS[callout.tone], box=box.ASCII2, padding=(0, 1)))


def _table(table: Table, console: Console) -> None:
    console.print()
    console.print(Text(visible(table.caption), style="bold"))
    widths = _widths(table, console.width)
    if widths is None:
        _stacked(table, console)
    else:
        console.print(_grid(table, widths))
    if table.note:
        console.print(Padding(Text(visible(table.note), style="dim"), (0, 0, 0, 1)))


def _grid(table: Table, widths: list[int]) -> Grid:
    grid = Grid(box=box.ASCII2, show_edge=False, pad_edge=False, padding=(0, 1), header_style="bold")
    for name, numeric, width in zip(table.columns, table.numeric, widths, strict=True):
        justify: JustifyMethod = "right" if numeric else "left"
        grid.add_column(Text(visible(name)), justify=justify, overflow="fold", width=width)
    for row in table.rows:
        grid.add_row(*(_cell(span) for span in row))
    return grid


def _stacked(table: Table, console: Console) -> None:
    """A table too wide for the terminal: one cell a line."""
    names = [visible(name) for name in table.columns]
    widest = max(map(len, names))
    for row in table.rows:
        console.print()
        for name, span in zip(names, row, strict=True):
            console.print(Text.assemble((f"{name:>{widest}}  ", "dim"), _cell(span)))


def _widths(table: Table, width: int) -> list[int] | None:
    """Column widths at which numbers stay whole and text breaks only between words; None if too wide."""
    places = range(len(table.columns))
    least, whole = [_least(table, place) for place in places], [_whole(table, place) for place in places]
    spare = width - sum(least) - _GAP * (len(least) - 1)
    if spare < 0:
        return None
    wanted = [max(0, full - low) for full, low in zip(whole, least, strict=True)]
    share = min(1.0, spare / max(1, sum(wanted)))
    return [low + int(want * share) for low, want in zip(least, wanted, strict=True)]


def _least(table: Table, place: int) -> int:
    texts = [visible(row[place].text) for row in table.rows]
    parts = texts if table.numeric[place] else [word for text in texts for word in text.split()]
    longest = max([*map(len, visible(table.columns[place]).split()), *map(len, parts)], default=1)
    # A digest is longer than a narrow terminal is wide: it may be folded.
    return min(longest, _FOLDED_FROM)


def _whole(table: Table, place: int) -> int:
    return max([len(visible(table.columns[place])), *(len(visible(row[place].text)) for row in table.rows)])


def _cell(span: Span) -> Text:
    return Text(visible(span.text), style=_STYLES[span.tone])


def _chart(chart: DotChart, console: Console) -> None:
    console.print()
    console.print(Text(f"{visible(chart.caption)} ({visible(chart.unit)}, logarithmic)", style="bold"))
    lines = plot(chart, console.width)
    labels = max((len(line.label) for line in lines), default=0)
    medians = max((len(line.median) for line in lines), default=0)
    for line in lines:
        style = "dim" if line.group is None else _GROUPS[line.group % len(_GROUPS)]
        text = Text.assemble(f"{line.label:<{labels}}  ", (line.cells, style), f"  {line.median:>{medians}}")
        console.print(text, no_wrap=True, overflow="crop")
    console.print(Text(legend(chart), style="dim"))
