"""May it be said by name that a workload is worse? Holm over all guardrails. Pure."""

from fairtrial.schema.judgment import RequirementResult
from fairtrial.schema.judgment_parts import NamedRegression
from fairtrial.schema.verdict_vocab import Estimand
from fairtrial.schema.vocab import Role
from fairtrial.stats.multiplicity import holm


def named_regressions(
    requirements: tuple[RequirementResult, ...], alpha: float
) -> tuple[NamedRegression, ...]:
    """Every guardrail with a test against no harm at all, in the order of the requirements.

    The verdicts themselves need no correction, as promotion asks for all of them (intersection-union); but
    whoever points at the one of several that is worst must correct for having looked at all of them.
    """
    tested = [
        (result, p)
        for result in requirements
        if result.role is Role.GUARDRAIL and (p := _one_sided(result)) is not None
    ]
    adjusted = holm([p for _, p in tested])
    return tuple(
        NamedRegression(
            workload=result.workload,
            candidate=result.candidate,
            metric=result.metric,
            statistic=result.statistic,
            p=p,
            p_holm=p_holm,
            named=p_holm <= alpha,
        )
        for (result, p), p_holm in zip(tested, adjusted, strict=True)
    )


def _one_sided(result: RequirementResult) -> float | None:
    """The chance of a harm at least as large if there were none; None without a test against the baseline."""
    finding = result.finding
    if finding is None or finding.estimand is Estimand.SHARE:
        return None
    if finding.t is None or finding.p_two_sided is None:
        return None
    half = finding.p_two_sided / 2
    return half if finding.t > 0 else 1 - half
