"""Where several candidates are on trial together: how each of them stands. Pure."""

from fairtrial.judge.basis import Basis
from fairtrial.schema.judgment import RequirementResult


def standings(basis: Basis) -> tuple[str, ...]:
    """One sentence a candidate; none where there is but one.

    The recommendation is for the trial as a whole, and rests on all candidates together: a person may still
    want to go on with the one that meets everything.
    """
    grouped: dict[str, list[RequirementResult]] = {}
    for result in basis.demanding:
        grouped.setdefault(result.candidate, []).append(result)
    if len(grouped) < 2 or basis.distrust or basis.same_arms:
        return ()
    return tuple(f"candidate {name}: {_standing(basis, name, results)}" for name, results in grouped.items())


def well(basis: Basis) -> tuple[str, ...]:
    """The candidates that meet all demands on them, in cells that can all be used."""
    names = dict.fromkeys(result.candidate for result in basis.demanding)
    short = {result.candidate for result in basis.unmet}
    return tuple(name for name in names if name not in short and not _unusable(basis, name))


def _standing(basis: Basis, name: str, results: list[RequirementResult]) -> str:
    total = len(results)
    harmful = sum(1 for result in basis.harmful if result.candidate == name)
    unmet = sum(1 for result in basis.unmet if result.candidate == name)
    if harmful:
        return f"worse than allowed in {harmful} of {total} demands"
    if unmet:
        return f"meets {total - unmet} of {total} demands, proven worse in none"
    if cells := _unusable(basis, name):
        return f"meets all {total} demands, but {cells} of its cells can't be used"
    return f"meets all {total} demands" if total > 1 else "meets its one demand"


def _unusable(basis: Basis, name: str) -> int:
    return sum(1 for cell in basis.cells if cell.candidate == name and not cell.usable)
