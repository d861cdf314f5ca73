"""Calibrations of this host around a trial: found when a plan is frozen, kept when one was made."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from fairtrial.evidence.documents import canonical
from fairtrial.evidence.fingerprints import baseline_digest, workload_digests
from fairtrial.judge.calibration import calibration_of, days_between, unfit_reasons
from fairtrial.plan.freeze import Frozen, private_values, settled
from fairtrial.schema.calibration import Calibration
from fairtrial.schema.judgment import Judgment
from fairtrial.schema.plan import FrozenPlan
from fairtrial.schema.servers import Private
from fairtrial.serve.calibrations import host_id, keep, kept, private_mark
from fairtrial.trial.directory import open_trial
from fairtrial.trial.outcome import evidence_of
from fairtrial.trial.probing import BASELINE


@dataclass(frozen=True, slots=True)
class Stored:
    """The calibration that applies to a plan on this host."""

    host: str
    calibration: Calibration | None
    """The newest one of this baseline that covers the plan's traffic."""
    age_days: float | None
    """Now; None without one, or where the clock stands before it was made."""
    unfit: tuple[str, ...]
    """Why it may not be used; empty when it may, or there is none."""
    remarks: tuple[str, ...]
    """What is worth knowing of others."""
    left_out: bool = False
    """The plan wants none."""

    @property
    def fit(self) -> Calibration | None:
        """The calibration if it is fit to plan by."""
        return None if self.unfit else self.calibration


@dataclass(frozen=True, slots=True)
class Made:
    """A calibration that was made and stored."""

    calibration: Calibration
    path: Path
    unfit: tuple[str, ...]


def stored_for(frozen: Frozen, *, wanted: bool = True) -> Stored:
    """The newest stored calibration of this host that covers a plan.

    Args:
        frozen: The plan as it was frozen, with its private values.
        wanted: False looks for none: the plan leaves calibrations out.

    Raises:
        UsageError: There is no state directory.
        EvidenceError: The host's random id can't be read.
    """
    host = host_id()
    if not wanted:
        return Stored(host, None, None, (), (), left_out=True)
    found = kept(baseline_digest(frozen.plan), _mark(frozen.private), host)
    covering = [one for one in found.calibrations if _covers(one, frozen.plan)]
    remarks = list(found.troubles)
    if found.calibrations and not covering:
        remarks.append("the stored calibrations of this baseline were made with other traffic")
    if not covering:
        return Stored(host, None, None, (), tuple(remarks))
    best = covering[0]
    age = days_between(best.made, f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}")
    return Stored(host, best, age, unfit_reasons(best), tuple(remarks))


def with_stored(frozen: Frozen, stored: Stored) -> Frozen:
    """The frozen plan with its host and the calibration that applies."""
    return settled(frozen, stored.host, stored.calibration)


def keep_calibration(trial: Path, judgment: Judgment) -> Made:
    """Make a calibration from a judged calibrating trial, and store it for later plans.

    Raises:
        UsageError: Not a trial directory, or no state directory.
        EvidenceError: The trial gives no calibration, or it can't be written.
    """
    directory = open_trial(trial)
    calibration = calibration_of(evidence_of(trial), judgment)
    path = keep(calibration, _mark(directory.private))
    return Made(calibration, path, unfit_reasons(calibration))


def _mark(private: Private) -> str:
    return private_mark(canonical(private_values(private.recipes[BASELINE])))


def _covers(calibration: Calibration, plan: FrozenPlan) -> bool:
    return all(calibration.workloads.get(name) == digest for name, digest in workload_digests(plan).items())
