"""The document of a small trial, and every renderer of it, hostile text included."""

import html.parser
import io
import json
import re
from dataclasses import replace

import pytest
from rich.console import Console

from fairtrial.judge.judge import judge
from fairtrial.judge.normalise import normalise
from fairtrial.judge.values import measured_values
from fairtrial.report.build import build_report
from fairtrial.report.html import render_html
from fairtrial.report.json_form import render_json
from fairtrial.report.markdown import escape, render_markdown
from fairtrial.report.terminal import render_terminal
from fairtrial.schema.document import Callout, DotChart, Paragraph, Report, Section, Span, Table
from fairtrial.schema.vocab import Phase
from fairtrial.testing.evidence import (
    Script,
    default_reply,
    fabricate,
)
from fairtrial.testing.small_plan import small_plan

HOSTILE = "<script>alert(1)</script> | `x` *y* [z](http://evil.example) \x1b[2J\u202e & \"q\" 'p'"


def built(script=None):
    evidence = fabricate(script)
    judged = judge(evidence)
    return build_report(evidence.plan, judged, measured_values(normalise(evidence), judged))


@pytest.fixture(scope="module")
def report():
    return built()


@pytest.fixture(scope="module")
def hostile():
    return built(Script(plan=small_plan().model_copy(update={"question": HOSTILE})))


def in_terminal(report, width=80, **options):
    out = io.StringIO()
    render_terminal(report, Console(file=out, width=width, **options.pop("console", {})), **options)
    return out.getvalue()


def section(report, title):
    return next(found for found in report.sections if found.title == title)


def table(report, title, caption):
    return next(
        b for b in section(report, title).blocks if isinstance(b, Table) and b.caption.startswith(caption)
    )


def texts(found):
    return [[span.text for span in row] for row in found.rows]


def test_the_decision_comes_first_with_why_next_and_promotion(report):
    first = report.sections[0]
    assert first.title == "Decision"
    callout = first.blocks[0]
    assert isinstance(callout, Callout)
    assert callout.title == "Undecided: keep the baseline for now"
    assert any("insufficient repetitions: 2 of at least 3" in line for line in callout.lines)
    assert callout.lines[-2].startswith("Next: ")
    assert callout.lines[-1].startswith("Promotion: not authorised, not promoted.")


def test_the_numbers_by_repetition(report):
    assert texts(table(report, "Workload returning", "TTFT in ms")) == [
        ["1", "4/4", "43.00", "n < 20", "4/4", "21.50", "n < 20", "TTFT -50.0% (faster)"],
        ["2", "4/4", "44.00", "n < 20", "4/4", "22.00", "n < 20", "TTFT -50.0% (faster)"],
    ]
    assert texts(table(report, "Workload returning", "How far to trust it")) == [
        ["1", "-50.0%", "2.3%", "4/4 match", "4/4 match", "no"],
        ["2", "-50.0%", "2.3%", "4/4 match", "4/4 match", "no"],
    ]


def test_requirements_gates_mixture_counters_differences(report):
    assert texts(table(report, "Decision", "What was demanded")) == [
        [
            "returning",
            "B",
            "TTFT (median) better",
            "-50.0%, -50.0% (faster)",
            "-50.0%",
            "undecided",
        ],
        [
            "cold",
            "B",
            "TTFT (median) no worse than 5% or 2 ms, whichever is larger",
            "0.0%, 0.0% (same)",
            "0.0%",
            "undecided",
        ],
    ]
    assert [row[1] for row in texts(table(report, "Gates", "6 of 6"))] == ["passed"] * 6
    assert ["1", "B", "host", "4/4", "21.50"] in texts(table(report, "Workload returning", "Hits and misses"))
    assert ["host_row_pressure", "prime", "2 · 2", "0 · 0"] in texts(table(report, "Counters", "returning"))
    assert texts(table(report, "What was compared", "What differs")) == [
        ["B", "host_row_percent", "25", "75"]
    ]
    identity = texts(table(report, "What was compared", "Identity"))
    assert [row[-1] for row in identity] == ["25 rows, 75 pages", "75 rows, 25 pages"]


def test_the_chart_has_every_measured_request(report):
    chart = next(b for b in section(report, "Workload returning").blocks if isinstance(b, DotChart))
    assert [(row.label, row.median) for row in chart.rows] == [
        ("rep 1 A", 43.0),
        ("rep 1 B", 21.5),
        ("rep 2 A", 44.0),
        ("rep 2 B", 22.0),
    ]
    assert chart.rows[1].values == (23.0, 22.0, 21.0, 20.0)


def test_failures_missing_windows_and_issues_are_shown():
    def reply(where, case):
        fails = where.arm == "B" and where.phase is Phase.MEASURED and case.prompt == 0
        return replace(default_reply(where, case), status=503) if fails else default_reply(where, case)

    found = built(Script(reply=reply, windows=lambda planned: planned[:3]))
    assert found.sections[0].blocks[0].title == "Keep the baseline"
    assert ["returning", "B", "measured", "http_error", "2"] in texts(
        table(found, "Failures and limits", "Requests")
    )
    coverage = [b.text for b in section(found, "Coverage").blocks if isinstance(b, Paragraph)]
    assert coverage == ["Not run, or not counted: returning, repetition 2, arm A; cold, repetition 2, arm A."]
    rows = texts(table(found, "Workload returning", "TTFT in ms"))
    assert rows[1][1:4] == ["not run", "-", "-"]
    assert rows[0][4] == "3/4"


@pytest.mark.parametrize("script", [None, Script(windows=lambda _: ())])
def test_every_table_has_cells_for_its_columns(script):
    for part in built(script).sections:
        for block in part.blocks:
            if isinstance(block, Table):
                assert len(block.columns) == len(block.numeric)
                assert all(len(row) == len(block.columns) for row in block.rows), block.caption


def test_json_is_the_document(report):
    assert Report.model_validate_json(render_json(report)) == report
    assert json.loads(render_json(report))["schema"] == "fairtrial.report/v1"


@pytest.mark.parametrize("width", [40, 80, 132])
def test_terminal_keeps_to_its_width_and_loses_nothing(report, width):
    shown = in_terminal(report, width)
    assert max(map(len, shown.splitlines())) <= width
    flat = "".join(shown.split())
    for part in report.sections:
        assert part.title.replace(" ", "") in flat
    assert "\x1b" not in shown


def test_terminal_without_colours_says_the_same(report):
    coloured = in_terminal(report, console={"force_terminal": True, "color_system": "standard"})
    assert "\x1b[32m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == in_terminal(report)


def test_brief_shows_decision_what_came_of_the_difference_and_gates_only(report):
    shown = " ".join(in_terminal(report, brief=True).split())
    assert "Undecided" in shown
    assert "What differs from A: B in host_row_percent (A 25, B 75)." in shown
    # Every prompt of B hits the host tier, every one of A misses; the cold workload misses in both.
    assert (
        "returning, in each of 2 repetitions: A 0 host, 4 miss; B 4 host, 0 miss; outputs 4/4 match." in shown
    )
    assert "cold, in each of 2 repetitions: A 4 miss; B 4 miss; outputs 4/4 match." in shown
    assert "restoration" in shown
    assert "Hits and misses" not in shown


def test_hostile_text_in_a_terminal_is_only_text(hostile):
    shown = in_terminal(hostile)
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "<script>" in shown


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.attributes, self.text = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text.append(data)


def parsed(report):
    page = Page()
    page.feed(render_html(report))
    page.close()
    return page


def test_html_fetches_nothing_and_runs_nothing(report, hostile):
    for found in (report, hostile):
        page = parsed(found)
        assert not {"script", "img", "link", "iframe", "object", "form"} & set(page.tags)
        names = {name for name, _ in page.attributes}
        assert not {name for name in names if name.startswith("on") or name in {"src", "style"}}
        assert all(value.startswith("#") for name, value in page.attributes if name == "href")
        assert "url(" not in render_html(found)
        assert "@import" not in render_html(found)


def test_html_shows_hostile_text_as_text(hostile):
    page = parsed(hostile)
    assert any("<script>alert(1)</script>" in text for text in page.text)


def test_html_anchors_are_unique_and_lead_somewhere(report):
    page = parsed(report)
    ids = [value for name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids)) == len(report.sections)
    assert {value[1:] for name, value in page.attributes if name == "href"} == set(ids)


def test_html_draws_a_dot_for_every_request(report):
    assert parsed(report).tags.count("circle") == 2 * 2 * 4 * 2  # workloads, repetitions, requests, arms


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("a|b", r"a\|b"),
        ("<b>", "&lt;b&gt;"),
        ("`x` *y* [z]", r"\`x\` \*y\* \[z\]"),
        ("host_row_pressure", "host_row_pressure"),
        ("_it_", r"\_it\_"),
        ("# no heading", r"\# no heading"),
        ("- no list", r"\- no list"),
        ("1. no list", r"1\. no list"),
        ("+5.0% (slower)", "+5.0% (slower)"),
        ("---", r"\---"),
        ("===", r"\==="),
        ("1.5 ms", "1.5 ms"),
        ("two\nlines", "two lines"),
        ("a\\|b", r"a\\\|b"),
    ],
)
def test_markdown_escapes(raw, shown):
    assert escape(raw) == shown


def test_markdown_tables_keep_their_shape(hostile):
    cell = Span(text=HOSTILE, tone="bad")
    one = Table(
        caption=HOSTILE, columns=(HOSTILE, "n"), numeric=(False, True), rows=((cell, Span(text="1")),)
    )
    report = Report(title=HOSTILE, subtitle="s", sections=(Section(title=HOSTILE, blocks=(one,)),))
    for found in (report, hostile):
        text = render_markdown(found)
        assert "<script>" not in text
        assert "\x1b" not in text
        lines = text.splitlines()
        for number, line in enumerate(lines):
            if re.fullmatch(r"\|( (:--|--:) \|)+", line):
                bars = line.count("|")
                head, first = lines[number - 1], lines[number + 1]
                assert [len(re.findall(r"(?<!\\)\|", row)) for row in (head, first)] == [bars, bars]
