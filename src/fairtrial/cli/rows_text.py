"""A comparison of rows in a few lines for people."""

from collections.abc import Iterator, Mapping

from fairtrial.judge.rows import Result
from fairtrial.schema.verdict import Companions, Finding, Needed
from fairtrial.schema.vocab import Verdict
from fairtrial.stats.wording import percent

_WORDS: Mapping[Verdict, str] = {
    Verdict.SUPERIOR: "better",
    Verdict.NON_INFERIOR: "no worse",
    Verdict.INFERIOR: "worse than allowed",
    Verdict.INCONCLUSIVE: "undecided",
}


def lines_of(result: Result) -> list[str]:
    """The verdict first, then the interval, what stands beside it, and what would decide it."""
    finding = result.finding
    head = f"{result.candidate} against {result.baseline}: {_WORDS[result.verdict]}: {result.reason}"
    body = [*_interval(finding), *_needed(finding.needed), *_flags(finding), *_beside(result.companions)]
    return [head, *(f"  {line}" for line in (*body, *result.notes))]


def _interval(finding: Finding) -> Iterator[str]:
    if finding.mean is None or finding.low is None or finding.high is None:
        return
    sure = 100 * (1 - 2 * finding.alpha)
    yield (
        f"harm {percent(finding.mean)}, from {percent(finding.low)} to {percent(finding.high)} (+ is worse; "
        f"{sure:g}% interval of {finding.n} repetitions, taken as near normal)"
    )
    flip = finding.sign_flip
    if flip is not None:
        yield (
            f"worse in {flip.worse} of {finding.n} repetitions; sign flip p {flip.one_sided:.3g} "
            f"(so many repetitions allow {flip.floor_one_sided:.3g} at least)"
        )


def _needed(needed: Needed | None) -> Iterator[str]:
    if needed is None:
        return
    power = f"{100 * needed.power:.0f}%"
    if needed.at_spread is not None:
        upper = "no number that a plan may have" if needed.at_upper is None else str(needed.at_upper)
        yield (
            f"needs {needed.at_spread} repetitions in all for a power of {power}; "
            f"{upper} at the upper bound of their spread"
        )
    if needed.reason:
        yield needed.reason


def _flags(finding: Finding) -> Iterator[str]:
    if finding.flags:
        yield f"flags: {', '.join(finding.flags)}"


def _beside(companions: Companions) -> Iterator[str]:
    for arm, spread in companions.spread.items():
        within = f"{100 * spread.within_sd:.2g}%"
        if spread.between_sd == 0:
            yield f"launches of {arm} differ by no more than requests within one ({within} sd) let expect"
            continue
        yield (
            f"launches of {arm} differ by {100 * spread.between_sd:.2g}% (sd), requests within one by "
            f"{within}: {spread.effective_n:.0f} independent requests' worth"
        )
    if companions.period is not None:
        effect, p = companions.period.effect, companions.period.p
        yield f"the second place in a repetition costs the candidate {percent(effect)} (p {p:.2g})"
    if companions.drift is not None:
        yield f"drift: {percent(companions.drift.slope)} a slot (rank correlation p {companions.drift.p:.2g})"
    for odd in companions.odd:
        yield (
            f"odd launch: {odd.arm} in repetition {odd.repetition}, {percent(odd.deviation)} off what the "
            f"others predict (corrected p {odd.p_adjusted:.2g})"
        )
    for name, why in companions.absent.items():
        yield f"{name.replace('_', ' ')}: {why}"
