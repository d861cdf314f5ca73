"""A load, and a way of failing, in a few words each. Pure."""

from fairtrial.schema.bench import FailureKind, StageSpec, StageSummary
from fairtrial.schema.vocab import ErrorClass, LoadKind


def load_words(spec: StageSpec) -> str:
    """The load of a stage in a few words."""
    if spec.load is LoadKind.OPEN_LOOP:
        bursts = f" (burstiness {spec.burstiness:g})" if spec.burstiness is not None else ""
        return f"{spec.rate:g} requests/s, {spec.arrivals}{bursts}"
    ramp = f", ramp {spec.ramp_ns / 1e9:g} s" if spec.ramp_ns else ""
    return f"concurrency {spec.concurrency}{ramp}"


def failure_line(kind: FailureKind) -> str:
    """One way of failing: class, count, the server's own words, what to do."""
    what = kind.outcome.value if kind.error is None else kind.error.value
    status = f" (HTTP {kind.http_status})" if kind.http_status not in (None, 200) else ""
    words = f": {' '.join(kind.words.split())}" if kind.words else ""
    return f"{kind.count}x {what}{status}{words} -> {kind.advice}"


def interrupted(stage: StageSummary) -> int:
    """Requests that were in flight when the run was stopped: no answer of theirs was slow."""
    return sum(kind.count for kind in stage.failures if kind.error is ErrorClass.INTERRUPTED)
