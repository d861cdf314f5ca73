"""The short form for a pull request: decision, verdicts, what failed, how to check it. Pure."""

from collections.abc import Iterator

from fairtrial.judge.basis import DEMANDING
from fairtrial.judge.normal import baseline_of
from fairtrial.report import effects, words
from fairtrial.report.glance_part import differences
from fairtrial.report.markdown import escape, intervals
from fairtrial.report.verdict_part import chart, overall, verdict
from fairtrial.schema.judgment import GateResult, Judgment, RequirementResult
from fairtrial.schema.plan import FrozenPlan
from fairtrial.schema.vocab import GateOutcome

_MARKS = {"good": ":white_check_mark:", "bad": ":x:", "warn": ":warning:", "plain": ":information_source:"}
_MOST_REASONS = 8


def render_pull_request(plan: FrozenPlan, judgment: Judgment) -> str:
    """Markdown to paste under a change: what a reviewer wants first, the rest folded."""
    title, tone = words.recommendation(judgment.decision.recommendation)
    asked = [result for result in judgment.requirements if result.role in DEMANDING]
    parts = [
        f"### {_MARKS[tone]} {escape(title)}",
        f"**{escape(plan.question)}** What differs from {baseline_of(plan)}: {escape(differences(plan))}.",
        "\n".join(_table(judgment, asked)),
        "\n".join(f"- {escape(words.sentence(reason))}" for reason in _reasons(judgment)),
        f"**Next:** {escape(judgment.decision.next_step)}",
        *_folded(judgment),
        _foot(plan, judgment),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _table(judgment: Judgment, asked: list[RequirementResult]) -> Iterator[str]:
    if not asked:
        yield "Nothing is demanded of the candidate."
        return
    yield "| workload | arm | demand | paired effect by repetition | over all [interval] | verdict |"
    yield "| :-- | :-- | :-- | :-- | :-- | :-- |"
    for result in asked:
        shown = verdict(result)
        cells = (
            result.workload,
            result.candidate,
            result.demand,
            effects.paired(judgment, effects.behind(judgment, result)).text,
            overall(result).text,
        )
        yield f"| {' | '.join(map(escape, cells))} | {_MARKS[shown.tone]} {escape(shown.text)} |"


def _reasons(judgment: Judgment) -> tuple[str, ...]:
    reasons = judgment.decision.reasons
    if len(reasons) <= _MOST_REASONS:
        return reasons
    more = words.count(len(reasons) - _MOST_REASONS, "more reason")
    return (*reasons[:_MOST_REASONS], f"{more} in the full report")


def _folded(judgment: Judgment) -> Iterator[str]:
    drawn = chart(judgment)
    if drawn is not None:
        yield f"<details><summary>Intervals</summary>\n\n{intervals(drawn)}\n\n</details>"
    if judgment.gates:
        passed = sum(gate.outcome is GateOutcome.PASSED for gate in judgment.gates)
        head = f"{passed} of {words.count(len(judgment.gates), 'gate')} passed"
        lines = "\n".join(_gate(gate) for gate in judgment.gates)
        yield f"<details><summary>{head}</summary>\n\n{lines}\n\n</details>"


def _gate(gate: GateResult) -> str:
    return f"- **{gate.outcome.value}** {escape(gate.name)}: {escape(gate.demand)} ({escape(gate.reason)})"


def _foot(plan: FrozenPlan, judgment: Judgment) -> str:
    level = judgment.level_claimed.value
    runs = words.count(len(plan.design.order), "repetition")
    requests = words.count(judgment.coverage.formal_attempted, "formal request")
    return (
        f"<sub>Level {level}, {runs}, {requests}, {judgment.coverage.formal_failed} failed; "
        f"run {escape(judgment.run)}, plan `{judgment.plan_sha256[:12]}`, "
        f"journal `{judgment.journal_head[:12]}`. "
        "The program recommends; only a person's signed act authorises.</sub>"
    )
