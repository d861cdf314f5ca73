"""What the report rests on: failures, coverage, identities, windows, ledger, issues, digests. Pure."""

from collections import Counter as Tally

from fairtrial.judge.normal import baseline_of, candidates_of, without_difference
from fairtrial.report import words
from fairtrial.report.glance_part import difference
from fairtrial.schema.document import Paragraph, Section, Span, Table
from fairtrial.schema.judgment import Judgment, LaunchSummary
from fairtrial.schema.plan import FrozenPlan
from fairtrial.schema.vocab import Outcome, Phase


def failures(judgment: Judgment) -> Section:
    """Every request that didn't succeed, what no failure still allows, and what is not known."""
    tally: Tally[tuple[str, str, str, str]] = Tally()
    for population in judgment.populations:
        for outcome, count in population.outcomes.items():
            if outcome is not Outcome.OK and count:
                tally[population.workload, population.arm, population.phase.value, outcome.value] += count
    blocks: list[Table | Paragraph] = []
    if tally:
        rows = tuple(
            words.spans(*key, Span(text=str(count), tone="bad")) for key, count in sorted(tally.items())
        )
        blocks.append(
            Table(
                caption="Requests that did not succeed",
                columns=("workload", "arm", "phase", "outcome", "requests"),
                numeric=(False, False, False, False, True),
                rows=rows,
                note="Each stays in its denominator and ranks worst in medians and percentiles.",
            )
        )
    else:
        blocks.append(Paragraph(text="No request with a proven record failed."))
    bounds = [
        f"arm {arm} at most {100 * share:.3g}%" for arm, share in sorted(judgment.failed_share_upper.items())
    ]
    if bounds:
        text = f"No failures still allow some: with 95% confidence the failure share is, {'; '.join(bounds)}."
        blocks.append(Paragraph(text=text))
    if judgment.step_ms:
        blocks.append(
            Paragraph(text=f"The wall clock stepped by {judgment.step_ms:,} ms during the run.", tone="warn")
        )
    limits = (
        "Limits: the numbers and verdicts hold for these workloads, this load and this host. A verdict "
        "assumes that the harms of the repetitions are near-normal, and can't know of a launch that none of "
        "them showed."
    )
    blocks.append(Paragraph(text=limits))
    return Section(title="Failures and limits", blocks=tuple(blocks))


def coverage(judgment: Judgment) -> Section:
    """Planned against run."""
    found = judgment.coverage
    rows = (
        words.spans("launches", f"{found.launches_planned:,}", f"{found.launches_counted:,}", words.ABSENT),
        words.spans(
            "prime and measured requests",
            f"{found.formal_planned:,}",
            f"{found.formal_attempted:,}",
            f"{found.formal_failed:,}",
        ),
        words.spans(
            "warm-up requests", f"{found.warmup_planned:,}", f"{found.warmup_attempted:,}", words.ABSENT
        ),
    )
    table = Table(
        caption="Planned against run",
        columns=("what", "planned", "with proof", "failed"),
        numeric=(False, True, True, True),
        rows=rows,
        note="Warm-up is kept as evidence outside the denominators.",
    )
    if not found.missing:
        return Section(title="Coverage", blocks=(table, Paragraph(text="Every planned launch was run.")))
    listed = "; ".join(found.missing[:12])
    more = f"; and {len(found.missing) - 12} more" if len(found.missing) > 12 else ""
    return Section(
        title="Coverage",
        blocks=(table, Paragraph(text=f"Not run, or not counted: {listed}{more}.", tone="warn")),
    )


def identities(plan: FrozenPlan, judgment: Judgment) -> Section:
    """What differs between the arms, and which identity each launch proved."""
    differences = tuple(words.spans(entry.arm, entry.key, *difference(entry)) for entry in plan.differences)
    rows = []
    for arm in plan.arms:
        launches = [launch for launch in judgment.launches if launch.arm == arm.name and launch.counted]
        digests = dict.fromkeys(launch.identity or words.ABSENT for launch in launches)
        rows.append(
            words.spans(
                arm.name,
                arm.recipe.kind.value,
                arm.recipe.profile,
                str(len(launches)),
                Span(
                    text=", ".join(digest[:12] for digest in digests) or words.ABSENT,
                    tone="plain" if len(digests) == 1 else "warn",
                ),
                _geometry(launches),
            )
        )
    return Section(
        title="What was compared",
        blocks=(
            Table(
                caption="What differs between the arms",
                columns=("arm", "key", "baseline", "candidate"),
                numeric=(False,) * 4,
                rows=differences,
                note="The commitment of a private value is in the frozen plan."
                if differences
                else "A/A trial: the plan states no difference.",
            ),
            Table(
                caption="Identity that the counted launches proved",
                columns=("arm", "server", "profile", "launches", "identity", "host pool"),
                numeric=(False, False, False, True, False, False),
                rows=tuple(rows),
            ),
            *_told_apart(plan, judgment),
        ),
    )


def _told_apart(plan: FrozenPlan, judgment: Judgment) -> tuple[Paragraph, ...]:
    """A warning for each candidate that is declared another than the baseline and says that it's the same."""
    baseline = baseline_of(plan)
    same = without_difference(plan)
    stated = {
        arm.name: {
            launch.identity for launch in judgment.launches if launch.arm == arm.name and launch.counted
        }
        for arm in plan.arms
    }
    return tuple(
        Paragraph(
            text=(
                f"The servers of {baseline} and {candidate} said the same of themselves: nothing that they "
                "state tells them apart."
            ),
            tone="warn",
        )
        for candidate in candidates_of(plan)
        if candidate not in same
        and None not in stated[candidate]
        and stated[candidate] & stated.get(baseline, set())
    )


def _geometry(launches: list[LaunchSummary]) -> str:
    found = dict.fromkeys(
        f"{launch.geometry.rows:,} rows, {launch.geometry.pages:,} pages"
        for launch in launches
        if launch.geometry is not None
    )
    return "; ".join(found) or words.ABSENT


def windows(judgment: Judgment) -> Section:
    """Every window and whether it brought back what it found."""
    if not judgment.windows:
        return Section(title="Windows", blocks=(Paragraph(text="No window was opened.", tone="warn"),))
    rows = tuple(
        words.spans(
            window.window,
            str(window.repetition),
            window.arm,
            words.duration(window.baseline_down_ns),
            words.proof(window.restored),
        )
        for window in judgment.windows
    )
    return Section(
        title="Windows",
        blocks=(
            Table(
                caption="Windows in the order in which they ran",
                columns=("window", "rep", "arm", "baseline down", "restored"),
                numeric=(False, True, False, True, False),
                rows=rows,
                note="Baseline down: from taking it down to its proven return; - where that can't be told.",
            ),
        ),
    )


def ledger(judgment: Judgment) -> Section:
    """What failed, was left out or was said."""
    if not judgment.ledger:
        text = "Nothing failed outside the requests, nothing was left out, nothing was noted."
        return Section(title="Ledger", blocks=(Paragraph(text=text),))
    return Section(
        title="Ledger",
        blocks=(
            Table(
                caption="What failed, was left out, or was said; kept",
                columns=("when", "what", "where", "reason"),
                numeric=(False,) * 4,
                rows=tuple(
                    words.spans(entry.at or words.ABSENT, entry.what, entry.where, entry.reason)
                    for entry in judgment.ledger
                ),
                note="When: UTC time of the journal line.",
            ),
        ),
    )


def issues(judgment: Judgment) -> Section:
    """Input that could not be read as what it should be."""
    if not judgment.issues:
        text = "Every sealed file could be read, and every record was derived again from its bytes."
        return Section(title="Parser issues", blocks=(Paragraph(text=text),))
    shown = judgment.issues[:50]
    more = (
        f" The first 50 of {len(judgment.issues):,} are shown." if len(judgment.issues) > len(shown) else ""
    )
    return Section(
        title="Parser issues",
        blocks=(
            Table(
                caption="Input that is not what it should be",
                columns=("artifact", "kind", "reason"),
                numeric=(False,) * 3,
                rows=tuple(words.spans(issue.artifact, issue.kind, issue.reason) for issue in shown),
                note=f"Issues are not failed requests; what they touch counts as missing.{more}",
            ),
        ),
    )


def again(judgment: Judgment) -> Section:
    """How a sceptic derives the same numbers."""
    measured = sum(
        population.used for population in judgment.populations if population.phase is Phase.MEASURED
    )
    text = (
        "Everything here is computed from the frozen plan, the journal and the sealed files, and from "
        f"nothing else: {words.count(measured, 'measured request')} derived again from the captured bytes. "
        "Run fairtrial judge on the trial's directory and compare: the same evidence gives the same "
        "judgment, byte for byte."
    )
    rows = (
        words.spans("run", judgment.run),
        words.spans("frozen plan, sha256", judgment.plan_sha256),
        words.spans("journal head, sha256", judgment.journal_head),
        words.spans("journal records", f"{judgment.journal_size:,}"),
    )
    return Section(
        title="Derive it again",
        blocks=(
            Paragraph(text=text),
            Table(caption="What to compare", columns=("what", "value"), numeric=(False, False), rows=rows),
        ),
    )
