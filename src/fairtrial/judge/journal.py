"""The journal as the judge takes it: facts that make no sense where they stand are set aside. Pure."""

from collections.abc import Iterable

from fairtrial.evidence.evidence_set import EvidenceSet
from fairtrial.judge.normal import JOURNAL
from fairtrial.judge.tables import issue
from fairtrial.schema.facts import (
    BaselineRestored,
    BaselineRestoring,
    BaselineTakenDown,
    JournalLine,
    LaunchStarting,
    Opened,
    WindowClosed,
    WindowOpened,
)
from fairtrial.schema.judgment import NormaliserIssue

_OF_WINDOW = (BaselineTakenDown, BaselineRestoring, BaselineRestored, WindowClosed)


def sound_lines(evidence: EvidenceSet) -> tuple[tuple[JournalLine, ...], tuple[NormaliserIssue, ...]]:
    """The lines that can be folded, and an issue for each that can't."""
    kept: list[JournalLine] = []
    issues = list(_head_issues(evidence))
    window: str | None = None
    launches: set[str] = set()
    for place, line in enumerate(evidence.lines):
        fact = line.fact
        problem = _problem(line, place, window, launches)
        if problem:
            issues.append(issue(JOURNAL, "fact-out-of-place", f"line {line.seq}: {problem}"))
            continue
        if isinstance(fact, WindowOpened):
            window = fact.window
        elif isinstance(fact, LaunchStarting):
            launches.add(fact.launch)
        kept.append(line)
    return tuple(kept), tuple(issues)


def _problem(line: JournalLine, place: int, window: str | None, launches: set[str]) -> str:
    fact = line.fact
    if line.seq != place:
        return f"sequence {line.seq} where {place} was due"
    if isinstance(fact, _OF_WINDOW) and fact.window != window:
        return f"{fact.type} of window {fact.window}, but the last window opened is {window or 'none'}"
    if isinstance(fact, LaunchStarting) and fact.launch in launches:
        return f"launch {fact.launch} starts a second time"
    if isinstance(fact, Opened) and place:
        return "the trial is opened a second time"
    return ""


def _head_issues(evidence: EvidenceSet) -> Iterable[NormaliserIssue]:
    if not evidence.lines:
        yield issue(JOURNAL, "journal-empty", "no facts were recorded")
        return
    first = evidence.lines[0]
    if not isinstance(first.fact, Opened):
        yield issue(JOURNAL, "not-opened", f"the first fact is {first.fact.type}")
    elif first.fact.plan_sha256 != evidence.plan_sha256:
        yield issue(JOURNAL, "plan-differs", "the journal was opened for another frozen plan")
