"""A plan with its candidate replaced by the baseline: the same trial, in which nothing differs. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from fairtrial.plan.arms import BASELINE
from fairtrial.plan.checked import CheckedArm, CheckedPlan
from fairtrial.plan.order import balanced
from fairtrial.schema.errors import Problem
from fairtrial.schema.plan import Design, FrozenGate
from fairtrial.schema.vocab import ArmRole, OrderSource

LEAST_REPETITIONS = 6
"""From fewer a spread is hardly known."""
_ITSELF = "B"
_ARMS = (BASELINE, _ITSELF)
_SUFFIX = "-calibration"
_LONGEST_NAME = 100


def against_itself(checked: CheckedPlan) -> CheckedPlan:
    """The A/A calibration of a plan.

    Arm B is the baseline's recipe once more and further candidates are left out. Workloads,
    requirements and limits stay. The order is balanced and randomised by the plan's seed, at least
    six repetitions and never fewer than the plan has. Gates that only speak of candidates describe
    the candidate's mechanism and are left out; those that speak of the baseline speak of both arms.
    """
    baseline = checked.arms[0]
    itself = CheckedArm(_ITSELF, ArmRole.CANDIDATE, baseline.recipe)
    gates, left_out = _gates(checked.gates)
    notes = [Problem(checked.shown, f"gates.{name}", reason) for name, reason in left_out]
    dropped = [arm.name for arm in checked.arms[1:] if arm.name != _ITSELF]
    if dropped:
        message = f"candidates {', '.join(dropped)} are left out: the baseline runs against itself"
        notes.append(Problem(checked.shown, "candidates", message))
    return replace(
        checked,
        id=f"{checked.id[: _LONGEST_NAME - len(_SUFFIX)]}{_SUFFIX}",
        question=f"What does the baseline of {checked.id} do against itself on this host?",
        arms=(baseline, itself),
        design=_design(checked.design),
        use_calibration=False,
        gates=gates,
        notes=(*checked.notes, *notes),
        arm_paths={BASELINE: checked.arm_paths[BASELINE], _ITSELF: checked.arm_paths[BASELINE]},
    )


def _design(design: Design) -> Design:
    repetitions = max(LEAST_REPETITIONS, len(design.order))
    repetitions += repetitions % len(_ARMS)
    update = {
        "order": balanced(_ARMS, repetitions, design.seed),
        "order_source": OrderSource.RANDOMISED,
        "looks": (),
        "calibrates": True,
        "accept_underpowered": None,
    }
    return design.model_copy(update=update)


def _gates(declared: Sequence[FrozenGate]) -> tuple[tuple[FrozenGate, ...], list[tuple[str, str]]]:
    """The gates that make sense, and the names of the others with the reason."""
    out = {gate.name: "describes a candidate: left out" for gate in declared if _of_candidates(gate)}
    while more := set(_without_members(declared, out)):
        out |= dict.fromkeys(sorted(more), "rests on a gate that is left out: left out too")
    kept = tuple(_of_both(gate) for gate in declared if gate.name not in out)
    return kept, list(out.items())


def _of_candidates(gate: FrozenGate) -> bool:
    return gate.arms is not None and BASELINE not in gate.arms


def _without_members(declared: Iterable[FrozenGate], out: Iterable[str]) -> Iterable[str]:
    gone = set(out)
    for gate in declared:
        if gate.name not in gone and gone.intersection(gate.members or ()):
            yield gate.name


def _of_both(gate: FrozenGate) -> FrozenGate:
    return gate if gate.arms is None else gate.model_copy(update={"arms": _ARMS})
