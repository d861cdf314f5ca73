"""Measures this machine's own floor: what concurrency and token rate it can measure honestly."""

import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from fairtrial import __version__
from fairtrial.bench.machine import kernel_stamps, machine_facts
from fairtrial.bench.trials import FULL, PACED_SECONDS, QUICK, QUICK_SECONDS, Trials
from fairtrial.drive.driver import Driver
from fairtrial.evidence import files
from fairtrial.schema.doctor import Diagnosis, LoadTried, PacingTried
from fairtrial.schema.vocab import StampSource

ShouldStop = Callable[[], bool]


class Watcher(Protocol):
    """Who is told how the examination goes on."""

    def trying(self, words: str, number: int, count: int, requests: int) -> None:
        """A load begins."""

    def traffic(self, done: int, failed: int) -> None:
        """Requests of the load that are over."""


@dataclass(frozen=True, slots=True)
class Doctor:
    """One examination."""

    driver: Driver
    watcher: Watcher
    should_stop: ShouldStop

    def examine(self, *, quick: bool) -> Diagnosis:
        """Try every load.

        Raises:
            FairtrialError: The paced server or the client can't run here at all.
        """
        with files.at_edge("make a directory", Path(tempfile.gettempdir())):
            folder = Path(tempfile.mkdtemp(prefix="fairtrial-doctor-"))
        try:
            return self._examine(
                Trials(driver=self.driver, folder=folder, should_stop=self.should_stop), quick
            )
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _examine(self, trials: Trials, quick: bool) -> Diagnosis:  # noqa: FBT001 - how long it may take
        plans = QUICK if quick else FULL
        facts = machine_facts()  # before the loads: they are load themselves
        count = len(plans) + (1 if quick else 2)
        loads = []
        for number, plan in enumerate(plans, start=1):
            if self.should_stop():
                break
            self.watcher.trying(plan.words, number, count, plan.requests)
            loads.append(trials.load(plan, self.watcher.traffic))
        pacing = self._pacing(trials, QUICK_SECONDS if quick else PACED_SECONDS, count, both=not quick)
        return Diagnosis(
            version=__version__,
            stamps=StampSource.KERNEL if kernel_stamps() else StampSource.USER,
            quick=quick,
            facts=facts,
            loads=tuple(loads),
            pacing=tuple(pacing),
            findings=findings(loads, pacing),
            problems=tuple(f"{fact.name}: {fact.problem}" for fact in facts if fact.problem),
        )

    def _pacing(self, trials: Trials, seconds: int, count: int, *, both: bool) -> list[PacingTried]:
        found = []
        for spin in (False, True) if both else (False,):
            if self.should_stop():
                break
            words = f"an open loop{', spinning' if spin else ''}"
            self.watcher.trying(words, count - (both and not spin), count, 0)
            found.append(trials.pacing(seconds, self.watcher.traffic, spin=spin))
        return found


def findings(loads: Sequence[LoadTried], pacing: Sequence[PacingTried]) -> tuple[str, ...]:
    """In words: what can be measured honestly here."""
    return (*_largest(loads), *_zero_delay(loads), *_open_loop(pacing))


def _largest(loads: Sequence[LoadTried]) -> list[str]:
    paced = [load for load in loads if load.itl_ms]
    honest = [load for load in paced if load.honest is True]
    if not paced:
        return []
    if not honest:
        return [f"nothing that was tried can be measured honestly here: {paced[0].reason}"]
    most = max(honest, key=lambda load: (load.tokens_per_second, load.concurrency))
    widest = max(honest, key=lambda load: (load.concurrency, load.tokens_per_second))
    said = [f"measured honestly here: {_load_words(most)}"]
    if widest is not most:
        said.append(f"measured honestly here: {_load_words(widest)}")
    said += [
        f"{'NOT' if load.honest is False else 'unknown whether'} measured honestly: "
        f"{_load_words(load)}: {load.reason}"
        for load in paced
        if load.honest is not True
    ]
    return said


def _load_words(load: LoadTried) -> str:
    error = load.ttft_error
    wrong = (
        f" (TTFT wrong by {error.p99_ns / 1e6:.2f} ms at p99)" if error is not None and load.honest else ""
    )
    requests = f"{load.concurrency:,} request{'' if load.concurrency == 1 else 's'} at once"
    return f"{requests}, {load.tokens_per_second:,.0f} tokens/s{wrong}"


def _zero_delay(loads: Sequence[LoadTried]) -> list[str]:
    return [
        f"without any pause: {load.output_throughput.value:,.0f} tokens/s, of client and server together "
        f"on this machine"
        for load in loads
        if not load.itl_ms and load.output_throughput.value is not None
    ]


def _open_loop(pacing: Sequence[PacingTried]) -> list[str]:
    return [
        f"open loop at {one.rate:g} requests/s{', spinning' if one.spin else ''}: sent "
        f"{one.lateness.p50_ns / 1e3:,.0f} us late at p50, {one.lateness.p99_ns / 1e3:,.0f} us at p99"
        for one in pacing
        if one.lateness is not None
    ]
