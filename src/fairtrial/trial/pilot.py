"""A pilot: one small repetition on servers that already run, to learn how long a whole one takes.

It is a trial of its own, of stage pilot, with prompts of its own: nothing of it is in the main trial's
denominators, and no prompt of the main trial is in a cache because of it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fairtrial.evidence.journal import read_journal
from fairtrial.plan.budget import with_repetitions
from fairtrial.plan.checked import CheckedPlan
from fairtrial.plan.freeze import freeze
from fairtrial.plan.workloads import phase_counts
from fairtrial.schema.errors import InterruptedTrialError, LaunchError
from fairtrial.schema.facts import JournalLine, PhaseEnded, WindowClosed, WindowOpened
from fairtrial.schema.plan import Conversations, FrozenWorkload, Phases
from fairtrial.schema.vocab import Phase, Stage
from fairtrial.trial.actions import HaltReason
from fairtrial.trial.directory import open_trial
from fairtrial.trial.stopping import StopFlag
from fairtrial.trial.verbs import run_new
from fairtrial.trial.watch import Silent

_LEAST_REQUESTS = 4
_ROUNDS = 2
"""Requests for each that is in flight: the first ones of a load meet an idle server."""
_OTHER_SEED = 0x5F17_0D1E
"""Mixed into a workload's seed, so that a pilot's prompts are not the trial's."""


@dataclass(frozen=True, slots=True)
class Pilot:
    """What a pilot measured."""

    repetition_s: float
    """Seconds that one repetition of the whole plan takes, both arms."""
    repetition_requests: int
    """Requests of one repetition of the whole plan, both arms, warm-ups included."""
    requests: int
    """Requests that it sent, to both servers."""
    failed: int


def run_pilot(checked: CheckedPlan, path: Path, stop: StopFlag) -> Pilot:
    """Run a pilot of a plan whose servers already run.

    Args:
        checked: The whole plan, its open arms already looked at.
        path: New directory of the pilot's evidence.
        stop: A person's wish to stop.

    Raises:
        InterruptedTrialError: A person stopped it.
        LaunchError: A server was not ready, or the pilot could not be driven.
        UsageError: The directory is not empty, or another trial holds the host.
    """
    small = _small(checked)
    end = run_new(freeze(small), path, Silent(), stop)
    if end.reason is HaltReason.STOPPED:
        raise InterruptedTrialError("stopped during the pilot: nothing was measured yet")
    if end.reason is not HaltReason.FINISHED:
        raise LaunchError(f"the pilot failed: {end.trouble}", hint="look at the server's log")
    directory = open_trial(path)
    lines = read_journal(directory.journal, directory.plan_sha256).lines
    ends = [line.fact for line in lines if isinstance(line.fact, PhaseEnded)]
    traffic = sum((one.ended_ns - one.started_ns) / 1e9 for one in ends)
    around = max(0.0, sum(_windows_s(lines)) - traffic)
    return Pilot(
        repetition_s=around + sum(_scaled_s(checked, one) for one in ends),
        repetition_requests=len(checked.arms)
        * sum(sum(phase_counts(workload.phases).values()) for workload in checked.workloads),
        requests=sum(one.attempted for one in ends),
        failed=sum(one.failed for one in ends),
    )


def _small(checked: CheckedPlan) -> CheckedPlan:
    arms = tuple(arm.name for arm in checked.arms)
    return replace(
        checked,
        id=f"{checked.id}-pilot",
        stage=Stage.PILOT,
        workloads=tuple(_fewer(workload) for workload in checked.workloads),
        design=with_repetitions(checked.design.model_copy(update={"looks": ()}), arms, 1),
    )


def _fewer(workload: FrozenWorkload) -> FrozenWorkload:
    most = max(_LEAST_REQUESTS, _ROUNDS * workload.concurrency)
    phases, source = workload.phases, workload.source
    if isinstance(source, Conversations):
        source = source.model_copy(update={"count": min(source.count, most)})
    few = Phases(
        warmup=min(phases.warmup, 1), prime=min(phases.prime, most), measured=min(phases.measured, most)
    )
    update = {"phases": few, "source": source, "seed": workload.seed ^ _OTHER_SEED}
    return workload.model_copy(update=update)


def _windows_s(lines: Sequence[JournalLine]) -> Iterator[float]:
    """Seconds of each window, from its opening to its end."""
    opened = 0
    for line in lines:
        if isinstance(line.fact, WindowOpened):
            opened = line.mono_ns
        elif isinstance(line.fact, WindowClosed):
            yield (line.mono_ns - opened) / 1e9


def _scaled_s(checked: CheckedPlan, ended: PhaseEnded) -> float:
    """Seconds that the whole plan's phase takes, at the pace of the pilot's."""
    workload = next(one for one in checked.workloads if one.name == ended.workload)
    if not ended.attempted:
        return 0.0
    each = (ended.ended_ns - ended.started_ns) / 1e9 / ended.attempted
    return each * phase_counts(workload.phases)[Phase(ended.phase)]
