"""The report in a terminal: readable at 80 columns, without colours, and through a pipe."""

from rich import box
from rich.console import Console, Group
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table as Grid
from rich.text import Text

from fairtrial.report.text_plot import legend, plot
from fairtrial.report.visible import visible
from fairtrial.schema.document import Callout, DotChart, Paragraph, Report, Section, Span, Table, Tone

_STYLES: dict[Tone, str] = {"good": "green", "bad": "red", "warn": "yellow", "plain": ""}
_BORDERS: dict[Tone, str] = {"good": "green", "bad": "red", "warn": "yellow", "plain": "blue"}
_GROUPS = ("cyan", "magenta", "yellow", "green")
_BRIEF_SECTIONS = 2


def render_terminal(report: Report, console: Console, *, brief: bool = False) -> None:
    """Write the report to a console.

    Args:
        report: The document.
        console: Where to; it knows width and colours (NO_COLOR included).
        brief: Only the first two sections: the decision and the gates.
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


def _callout(callout: Callout, console: Console) -> None:
    lines = [Text(visible(line)) for line in callout.lines]
    title = Text(visible(callout.title), style=f"bold {_STYLES[callout.tone]}".strip())
    body = Group(title, *lines)
    console.print(Panel(body, border_style=_BORDERS[callout.tone], box=box.ASCII2, padding=(0, 1)))


def _table(table: Table, console: Console) -> None:
    console.print()
    console.print(Text(visible(table.caption), style="bold"))
    if _least_width(table) <= console.width:
        console.print(_grid(table))
    else:
        _stacked(table, console)
    if table.note:
        console.print(Padding(Text(visible(table.note), style="dim"), (0, 0, 0, 1)))


def _grid(table: Table) -> Grid:
    grid = Grid(box=box.ASCII2, show_edge=False, pad_edge=False, padding=(0, 1), header_style="bold")
    for name, numeric in zip(table.columns, table.numeric, strict=True):
        grid.add_column(Text(visible(name)), justify="right" if numeric else "left", overflow="fold")
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


def _least_width(table: Table) -> int:
    """The width at which numbers stay whole and words break only between words."""
    least = 0
    for place, name in enumerate(table.columns):
        texts = [visible(row[place].text) for row in table.rows]
        parts = texts if table.numeric[place] else [word for text in texts for word in text.split()]
        longest_word = max((len(word) for word in visible(name).split()), default=1)
        least += max([longest_word, *map(len, parts)]) + 3
    return least - 3


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
