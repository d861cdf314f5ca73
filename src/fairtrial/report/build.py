"""From a judgment to the document tree that every renderer shows. Pure."""

from fairtrial.judge.normal import all_the_same
from fairtrial.judge.values import Values
from fairtrial.report import evidence_parts, verdict_part, workload_parts
from fairtrial.report.counter_part import counters
from fairtrial.report.decision_part import decision, gates
from fairtrial.report.glance_part import glance
from fairtrial.schema.document import Report, Section
from fairtrial.schema.judgment import Judgment
from fairtrial.schema.plan import FrozenPlan


def build_report(plan: FrozenPlan, judgment: Judgment, values: Values) -> Report:
    """The report: the decision first, then what it rests on, then everything kept.

    Args:
        plan: The frozen plan.
        judgment: What the judge derived from the evidence.
        values: Every measured request's value, for the charts.
    """
    sections: list[Section] = [
        decision(plan, judgment),
        verdict_part.section(judgment),
        glance(plan, judgment),
        gates(judgment),
    ]
    sections += [workload_parts.section(plan, workload, judgment, values) for workload in plan.workloads]
    sections += [
        counters(plan, judgment),
        evidence_parts.failures(judgment),
        evidence_parts.coverage(judgment),
        evidence_parts.identities(plan, judgment),
        evidence_parts.windows(judgment),
        evidence_parts.ledger(judgment),
        evidence_parts.issues(judgment),
        evidence_parts.again(judgment),
    ]
    arms = ", ".join(f"{arm.name} ({arm.role.value})" for arm in plan.arms)
    declared, claimed = judgment.level_declared.value, judgment.level_claimed.value
    level = claimed if claimed == declared else f"{claimed} (declared: {declared})"
    kind = "A/A trial " if all_the_same(plan) else ""
    subtitle = f"{kind}{plan.id}: {arms}; run {judgment.run}; stage: {plan.stage.value}; level: {level}"
    return Report(title=plan.question, subtitle=subtitle, sections=tuple(sections))
