"""What a stage came to: figures, failures and whether the client can be trusted. Pure."""

from fairtrial.bench.advice import advice
from fairtrial.bench.figures import (
    NO_SUCCESS,
    bounded_share,
    goodput,
    metric_figures,
    output_throughput,
    rate,
    token_counts,
)
from fairtrial.bench.options import as_options
from fairtrial.bench.tally import Tally
from fairtrial.schema.bench import ClientTrust, FailureKind, StageSpec, StageSummary
from fairtrial.schema.client import ClientReport
from fairtrial.schema.vocab import LoadKind, Metric
from fairtrial.stats.client_error import client_error
from fairtrial.stats.quantiles import median


def stage_summary(
    spec: StageSpec,
    tally: Tally,
    report: ClientReport | None,
    *,
    span: tuple[int, int],
    processes: int,
    ended_early: str | None,
) -> StageSummary:
    """What a load came to.

    Args:
        spec: What it was.
        tally: Its records.
        report: What the client says of itself.
        span: Offsets of the start and the end of its traffic.
        processes: Load processes.
        ended_early: Why not every request was attempted; None when all were.
    """
    started, ended = span
    return StageSummary(
        spec=spec,
        processes=processes,
        started_ns=started,
        ended_ns=ended,
        attempted=tally.attempted,
        ok=tally.ok,
        failures=failure_kinds(tally),
        ended_early=ended_early,
        metrics=metric_figures(tally, open_loop=spec.load is LoadKind.OPEN_LOOP),
        output_throughput=output_throughput(tally, ended - started),
        request_throughput=rate(tally.ok, ended - started),
        goodput=goodput(tally, spec.requests),
        tokens=token_counts(tally),
        client=report,
        trust=client_trust(tally, report),
    )


def failure_kinds(tally: Tally) -> tuple[FailureKind, ...]:
    """The ways in which requests failed, the most frequent first."""
    kinds = [
        FailureKind(
            error=error,
            outcome=outcome,
            count=failed.count,
            http_status=failed.http_status,
            words=failed.words,
            advice=advice(error, outcome, tally.proxy),
        )
        for (error, outcome), failed in tally.failures.items()
    ]
    return tuple(sorted(kinds, key=lambda kind: -kind.count))


def client_trust(tally: Tally, report: ClientReport | None) -> ClientTrust:
    """Whether the client was fast enough, by its own report."""
    bounded = bounded_share(tally)
    if report is None or not tally.ok:
        return ClientTrust(
            usable=False if not tally.ok else None,
            reason=NO_SUCCESS if not tally.ok else "the client left no report of itself",
            hint="",
            error_bound_ns=None,
            stamp_error_ns=None,
            cpu_share=None,
            loop_lag_ns=None,
            bounded_share=bounded,
        )
    first = tally.first_tokens_bounded / tally.first_tokens if tally.first_tokens else 0.0
    trust = client_error(
        report,
        median_ttft_ns=median(tally.values[Metric.TTFT]),
        bounded_share=first,
    )
    return ClientTrust(
        usable=trust.holds,
        reason=trust.reason,
        hint=as_options(trust.hint),
        error_bound_ns=trust.error_bound_ns,
        stamp_error_ns=trust.stamp_error_ns,
        cpu_share=trust.cpu_share,
        loop_lag_ns=trust.loop_lag_ns,
        bounded_share=bounded,
    )
