"""Monitoring cases (``bugcase.monitor/v1``): metrics pages and query answers."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Final

from fairtrial.decode.prometheus import Page, Reading, first_sum, increase, parse
from fairtrial.decode.prometheus_query import Checked, Readiness, instant, readiness
from fairtrial.schema.errors import UsageError
from fairtrial.testing.case_files import Document, number, part, read_bytes, read_document, text, texts

SCHEMA: Final = "bugcase.monitor/v1"


def run_monitor_case(folder: Path) -> list[str]:
    """Run one case.

    Returns:
        One line for each value that isn't as expected.

    Raises:
        UsageError: The case's files are not what they should be.
    """
    path = folder / "case.json"
    rule = part(read_document(path), "rule", str(path))
    name = text(rule, "check", str(path))
    check = _CHECKS.get(name)
    if check is None:
        raise UsageError(f"unknown check {name!r}", where=str(path))
    found = check(folder, rule, str(path))
    expected = read_document(folder / "expected.json")
    return [
        f"{key} is {found.get(key)!r}, expected {value!r}"
        for key, value in expected.items()
        if key != "schema" and (key not in found or found[key] != value)
    ]


def _page(folder: Path, name: str, rule: Document, where: str) -> Page:
    path = folder / name
    return parse(read_bytes(path), text(rule, "content_type", where)) if path.exists() else None


def _of_reading(reading: Reading) -> Document:
    reason = None if reading.reason is None else reading.reason.value
    return {"verdict": "fail" if reason else "pass", "reason": reason, "value": reading.value}


def _of_query(checked: Checked) -> Document:
    found = _of_reading(Reading(checked.value, checked.reason))
    return {**found, "count": checked.count, "sample_age_s": checked.age_s}


def _gauge(folder: Path, rule: Document, where: str) -> Document:
    page = _page(folder, text(rule, "file", where), rule, where)
    reading, name = first_sum(page, texts(rule, "aliases", where))
    return {**_of_reading(reading), "name_used": name}


def _delta(folder: Path, rule: Document, where: str) -> Document:
    pages = [_page(folder, text(rule, key, where), rule, where) for key in ("before", "after")]
    return _of_reading(_growth(pages, rule, where))


def _sequence(folder: Path, rule: Document, where: str) -> Document:
    pages = [_page(folder, name, rule, where) for name in texts(rule, "files", where)]
    return _of_reading(_growth(pages, rule, where))


def _growth(pages: list[Page], rule: Document, where: str) -> Reading:
    """The sum of the increases from page to page, or the first reason for none."""
    total = 0.0
    for before, after in pairwise(pages):
        step = increase(before, after, text(rule, "metric", where), texts(rule, "group_by", where))
        if step.value is None:
            return step
        total += step.value
    return Reading(total, None)


def _instant(folder: Path, rule: Document, where: str) -> Document:
    times = read_bytes(folder / text(rule, "timestamp_file", where)) if "timestamp_file" in rule else None
    answer = read_bytes(folder / text(rule, "file", where))
    return _of_query(instant(answer, number(rule, "now", where), number(rule, "max_age_s", where), times))


def _readiness(folder: Path, rule: Document, where: str) -> Document:
    asked = Readiness(
        window_s=number(rule, "window_s", where),
        min_count=int(number(rule, "min_count", where)),
        min_value=number(rule, "min_value", where),
        max_age_s=number(rule, "max_age_s", where),
    )
    answer = read_bytes(folder / text(rule, "file", where))
    return _of_query(readiness(answer, number(rule, "now", where), asked))


_CHECKS: Final[dict[str, Callable[[Path, Document, str], Document]]] = {
    "gauge": _gauge,
    "delta": _delta,
    "sequence": _sequence,
    "instant": _instant,
    "readiness": _readiness,
}
