"""The journal as the judge takes it: facts that make no sense where they stand are set aside. Pure."""

from collections.abc import Iterable

from fairtrial.evidence.documents import canonical, sha256_hex
from fairtrial.evidence.evidence_set import EvidenceSet
from fairtrial.judge.normal import JOURNAL
from fairtrial.judge.tables import issue
from fairtrial.schema.facts import (
    Amended,
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

CUT = "the journal no longer holds what was sealed: history was cut away"
"""Why nothing that needs the whole history can be said."""
_CUT_KIND = "journal-cut"
_SHOWN_CUT = 20
_OF_WINDOW = (BaselineTakenDown, BaselineRestoring, BaselineRestored, WindowClosed)


def sound_lines(evidence: EvidenceSet) -> tuple[tuple[JournalLine, ...], tuple[NormaliserIssue, ...]]:
    """The lines that can be folded, and an issue for each that can't."""
    kept: list[JournalLine] = []
    other = foreign(evidence)
    issues = [*cut_issues(evidence)] if other is None else [other, *cut_issues(evidence)]
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


def foreign(evidence: EvidenceSet) -> NormaliserIssue | None:
    """Why the journal is not one of this plan, if it isn't: it must begin with this plan's opening."""
    if not evidence.lines:
        return issue(JOURNAL, "journal-empty", "no facts were recorded")
    first = evidence.lines[0]
    if not isinstance(first.fact, Opened):
        return issue(JOURNAL, "not-opened", f"the first fact is {first.fact.type}")
    if first.fact.plan_sha256 != evidence.plan_sha256 or first.prev != evidence.plan_sha256:
        return issue(JOURNAL, "plan-differs", "the journal was opened for another frozen plan")
    amended = [line.fact.plan_sha256 for line in evidence.lines if isinstance(line.fact, Amended)]
    if sha256_hex(canonical(evidence.plan)) != (amended or [evidence.plan_sha256])[-1]:
        return issue(JOURNAL, "plan-differs", "the plan is not the one that the journal says is in force")
    return None


def cut_issues(evidence: EvidenceSet) -> Iterable[NormaliserIssue]:
    """An issue for each artifact that proves that the journal was longer once, and one for the rest."""
    for artifact in evidence.cut[:_SHOWN_CUT]:
        yield issue(artifact, _CUT_KIND, CUT)
    more = len(evidence.cut) - _SHOWN_CUT
    if more > 0:
        yield issue(JOURNAL, _CUT_KIND, f"{more} more artifacts prove the same")
