"""What the design and the evidence together may claim. A report never claims above it. Pure."""

from collections import Counter as Tally

from fairtrial.evidence.progress import LaunchState
from fairtrial.judge.gate_restoration import proven
from fairtrial.judge.identity import arm_identity, other_models
from fairtrial.judge.normal import Normal
from fairtrial.judge.normal import planned as planned_places
from fairtrial.schema.judgment import Cell
from fairtrial.schema.judgment_parts import CalibrationUse
from fairtrial.schema.plan import FrozenPlan
from fairtrial.schema.verdict_vocab import CalibrationState
from fairtrial.schema.vocab import Condition, LaunchScope, Level, Proof, RecipeKind, Stage

LIMITED = "the claim is limited to these launches: servers that already ran, and were not started again"
"""What no number of repetitions on running servers goes beyond."""
_ORDER = (Level.QUICK, Level.STANDARD, Level.FORMAL)


def claimed_level(
    normal: Normal, cells: tuple[Cell, ...], use: CalibrationUse
) -> tuple[Level, tuple[str, ...]]:
    """The level that may be claimed, and why it is less than declared.

    Args:
        normal: The evidence.
        cells: Every cell with its conditions of use.
        use: What may be said of the A/A calibration.
    """
    reasons: tuple[str, ...] = ()
    declared = normal.plan.level
    claimed = declared
    lacking = {Level.FORMAL: _lacks_formal(normal, cells, use), Level.STANDARD: _lacks_standard(normal)}
    for level in (Level.FORMAL, Level.STANDARD):
        if _ORDER.index(declared) >= _ORDER.index(level) and lacking[level]:
            reasons += tuple(f"{level.value}: {reason}" for reason in lacking[level])
            below = _ORDER[_ORDER.index(level) - 1]
            claimed = min(claimed, below, key=_ORDER.index)
    if any(arm.recipe.kind is RecipeKind.ATTACH for arm in normal.plan.arms):
        reasons += (LIMITED,)
    return claimed, reasons


def _lacks_standard(normal: Normal) -> tuple[str, ...]:
    found = [doubt for doubt in (normal.foreign, normal.cut) if doubt]
    kinds = {arm.recipe.kind for arm in normal.plan.arms}
    if RecipeKind.ATTACH in kinds or normal.plan.design.launch_scope is LaunchScope.ATTACHED:
        found.append("servers that already ran are not fresh launches")
    if len(normal.plan.design.order) < 2:
        found.append("one repetition is not a balanced design")
    if not _balanced(normal.plan):
        found.append("the arms don't take each place in the order equally often")
    planned = {launch.name for _, launch in planned_places(normal.plan)}
    absent = len(planned - {launch.plan_name for launch in normal.launches.values()})
    if absent:
        found.append(f"{absent} of {len(planned)} planned launches were not run, or don't count")
    return tuple(found)


def _lacks_formal(normal: Normal, cells: tuple[Cell, ...], use: CalibrationUse) -> tuple[str, ...]:
    found = []
    if normal.plan.stage is not Stage.FORMAL:
        found.append(f"the stage is {normal.plan.stage.value}, and only formal counts")
    if normal.plan.design.launch_scope is not LaunchScope.WORKLOAD:
        found.append("a launch serves more than one workload")
    if any(not _alone(launch) for launch in normal.launches.values()):
        found.append("a launch that counts served more than one workload")
    windows = normal.progress.windows
    unproven = sum(1 for window in windows if proven(normal, window)[0] is not Proof.TRUE)
    if unproven or not windows:
        found.append(f"{unproven} of {len(windows)} windows are not proven restored")
    found.extend(
        reason
        for arm in normal.plan.arms
        for holds, reason in [arm_identity(normal, arm.name)]
        if holds is not True
    )
    found.extend(other_models(normal, normal.places())[:1])
    found.extend(_unmonitored(cells))
    if use.state is not CalibrationState.VALID:
        found.append(f"no valid A/A calibration: {use.reason}")
    return tuple(found)


def _unmonitored(cells: tuple[Cell, ...]) -> list[str]:
    answers = [
        result
        for cell in cells
        for result in cell.conditions
        if result.condition is Condition.MONITORING_ENFORCED and result.holds is not True
    ]
    if not answers:
        return []
    return [f"monitoring is not proven in {len(answers)} of {len(cells)} cells: {answers[0].reason}"]


def _alone(launch: LaunchState) -> bool:
    return len({*launch.starting.workloads, *(workload for workload, _ in launch.begun)}) == 1


def _balanced(plan: FrozenPlan) -> bool:
    # An odd number of repetitions can't be balanced: one more is allowed, not two.
    for position in range(max((len(order) for order in plan.design.order), default=0)):
        tally = Tally(order[position] for order in plan.design.order if position < len(order))
        counts = [tally.get(arm.name, 0) for arm in plan.arms]
        if max(counts) - min(counts) > 1:
            return False
    return True
