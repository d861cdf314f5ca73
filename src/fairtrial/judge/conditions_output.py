"""Did both arms give the same output, or differ no more than the baseline differs from itself? Pure."""

from fairtrial.judge.cell_view import Answer, CellView
from fairtrial.judge.conditions_traffic import equal
from fairtrial.schema.calibration import CalibratedEquality
from fairtrial.schema.verdict_vocab import CalibrationState
from fairtrial.stats.failures import share_upper_bound

LEAST_COMPARED = 100
"""Fewest outputs of an A/A that say how often the baseline differs from itself: fewer bound it too widely."""


def output_equal(view: CellView) -> Answer:
    """Both arms gave the same token ids for every case.

    Where a valid A/A calibration shows that the baseline doesn't repeat its own output, exact equality can
    tell no arm from another. Then the share of differing outputs over all repetitions must stay within the
    upper 95 % bound (Clopper and Pearson) of the share that the baseline has against itself. A calibration of
    fewer than :data:`LEAST_COMPARED` outputs changes nothing: its bound would let nearly anything pass.
    """
    count = view.equality.output
    alone = _baseline_alone(view)
    if alone is None or count.ids_absent or count.missing or not (count.matched or count.unmatched):
        return equal(count, "output", "have no token ids")
    return _no_more_than(view, alone)


def _baseline_alone(view: CellView) -> CalibratedEquality | None:
    """How often the baseline differs from itself; None where it never does, or too few say so."""
    calibration = view.normal.plan.design.calibration
    valid = view.calibration is not None and view.calibration.state is CalibrationState.VALID
    if calibration is None or not valid:
        return None
    found = (one for one in calibration.equality if one.workload == view.workload.name)
    one = next(found, None)
    if one is None or one.compared < LEAST_COMPARED:
        return None
    return one if one.matched < one.compared else None


def _no_more_than(view: CellView, alone: CalibratedEquality) -> Answer:
    pooled = view.pooled or view.equality.output
    compared = pooled.matched + pooled.unmatched
    most = share_upper_bound(alone.compared - alone.matched, alone.compared)
    itself = f"the baseline differs from itself in {alone.compared - alone.matched} of {alone.compared} (A/A)"
    said = f"outputs of {pooled.unmatched} of {compared} cases of all repetitions differ; {itself}"
    if pooled.unmatched / compared > most:
        return False, f"{said}, which lets expect at most {100 * most:.2g}%"
    return True, f"{said}, so exact equality can't be asked, and this is no more"
