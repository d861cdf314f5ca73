"""A summary as plain text: columns aligned by hand, so that nothing has to be imported for them. Pure."""

import re
from collections.abc import Iterator, Sequence

from fairtrial.bench.words import failure_line, interrupted, load_words
from fairtrial.schema.bench import (
    BenchHeader,
    BenchSummary,
    Figure,
    GoodputLimits,
    MetricFigures,
    StageSummary,
)
from fairtrial.schema.client_vocab import Sample
from fairtrial.schema.metrics import METRICS
from fairtrial.schema.vocab import ErrorClass, Metric

_MS = 1e6
_DETAIL = re.compile(r" \([^()]*\)")
_LABEL = 14
_COUNT = 9
_NUMBER = 13


def summary_lines(summary: BenchSummary) -> list[str]:
    """The whole summary."""
    lines = header_lines(summary.header)
    for stage in summary.stages:
        lines += ["", *stage_lines(stage, summary.header)]
    if len(summary.stages) > 1:
        lines += ["", *sweep_lines(summary.stages)]
    if summary.canary is not None:
        lines += ["", f"canary: {summary.canary.words}"]
    if summary.output is not None:
        lines += ["", f"requests: {summary.output}"]
    return lines


def header_lines(header: BenchHeader) -> list[str]:
    """What was measured."""
    tokens = header.tokens
    length = "exactly" if tokens.fixed_output else "at most"
    if tokens.requests_file is not None:
        asked = f"requests of {tokens.requests_file}"
        if tokens.output_tokens is not None:
            asked += f", {length} {tokens.output_tokens} tokens out"
    else:
        shared = f", {tokens.shared_prefix_tokens} of them shared" if tokens.shared_prefix_tokens else ""
        asked = (
            f"prompts of {tokens.input_tokens} tokens{shared} ({tokens.how}), "
            f"{length} {tokens.output_tokens} tokens out"
        )
    proxied = ", through a proxy" if header.proxied else ""
    lines = [
        f"{header.model} at {header.target}{header.route} ({header.engine})",
        f"{asked}; seed {header.seed}",
        f"client: {header.transport}{proxied}, stamps by the {header.stamps}",
    ]
    return [*lines, *(f"note: {note}" for note in header.notes)]


def all_failed(summary: BenchSummary) -> str | None:
    """One line where no request of the whole run succeeded; None where one did."""
    if any(stage.ok for stage in summary.stages):
        return None
    attempted = sum(stage.attempted for stage in summary.stages)
    kinds = [kind for stage in summary.stages for kind in stage.failures]
    if not kinds:
        return "no request was sent"
    worst = max(kinds, key=lambda kind: kind.count)
    return f"all {attempted} requests failed: {failure_line(worst)}"


def stage_lines(stage: StageSummary, header: BenchHeader) -> list[str]:
    """One stage."""
    spec, failed = stage.spec, stage.attempted - stage.ok
    seconds = (stage.ended_ns - stage.started_ns) / 1e9
    missing, stopped = spec.requests - stage.attempted, interrupted(stage)
    counts = [f"{stage.ok} ok", f"{failed - stopped} failed"]
    counts += [f"{stopped} interrupted"] if stopped else []
    counts += [f"{missing} {_absence(stage)}"] if missing else []
    sent = f"{stage.attempted} of {spec.requests}" if missing else f"{spec.requests}"
    early = "" if stage.ended_early is None else f" ({stage.ended_early})"
    lines = [
        f"{load_words(spec)}: {sent} requests in {seconds:.2f} s{early}, after {spec.warmup} warm-ups",
        _row("requests", ", ".join(counts)),
    ]
    lines += [
        _row("", failure_line(kind)) for kind in stage.failures if kind.error is not ErrorClass.INTERRUPTED
    ]
    if stage.ok:
        lines += quantile_lines(stage.metrics, failed=failed > stopped)
    lines.append(_row("throughput", _throughput(stage, header.limits)))
    lines.append(_row("load", _load(stage)))
    lines.append(_row("tokens", _tokens(stage, header)))
    lines += _client(stage)
    return lines


def _absence(stage: StageSummary) -> str:
    """What is known of requests without a record: where the client ended, nobody says what it had sent."""
    if stage.client is not None:
        return "never sent"
    return "without a record (in flight when the client ended, or never sent)"


def quantile_lines(metrics: Sequence[MetricFigures], *, failed: bool) -> Iterator[str]:
    """A table in milliseconds; with failures, a second row for each metric that ranks them."""
    names = ("median", "p90", "p95", "p99", "max")
    yield _row("ms", f"{'n':>{_COUNT}}" + "".join(f"{name:>{_NUMBER}}" for name in names))
    for figures in metrics:
        title = METRICS[figures.metric].title
        label = f"{title} *" if figures.from_schedule else title
        yield _row(label, _quantiles(figures, with_failures=False))
        if failed and figures.sample is Sample.REQUESTS:
            yield _row("  +failed", _quantiles(figures, with_failures=True))
    if any(figures.sample is Sample.TOKEN_GAPS and figures.successes.n for figures in metrics):
        yield _row("", f"{METRICS[Metric.ITL].title}: n counts gaps between tokens, not requests")
    if any(figures.from_schedule for figures in metrics):
        yield _row("", "* counted from when the request was due, not from when it was sent")
    if failed:
        yield _row("", "+failed: each failed request ranks as slower than any other")


def sweep_lines(stages: Sequence[StageSummary]) -> list[str]:
    """One row for each load."""
    names = ("TTFT p50", "TTFT p99", "tok/s", "req/s", "goodput", "failed", "usable")
    lines = [f"{'load':<28}" + "".join(f"{name:>{_NUMBER}}" for name in names)]
    for stage in stages:
        ttft = next(figures for figures in stage.metrics if figures.metric is Metric.TTFT)
        cells = (
            _ms(ttft.successes.median),
            _ms(ttft.successes.p99),
            _plain(stage.output_throughput),
            _plain(stage.request_throughput),
            _percent(stage.goodput),
            str(stage.attempted - stage.ok - interrupted(stage)),
            usable_word(stage),
        )
        lines.append(f"{load_words(stage.spec):<28}" + "".join(f"{cell:>{_NUMBER}}" for cell in cells))
    return lines


def usable_word(stage: StageSummary) -> str:
    """Whether the client was fast enough, in a word."""
    return {True: "yes", False: "NO", None: "unknown"}[stage.trust.usable]


def _throughput(stage: StageSummary, limits: GoodputLimits | None) -> str:
    parts = [
        _said(stage.output_throughput, "{:,.1f} output tokens/s", "output tokens/s"),
        _said(stage.request_throughput, "{:,.2f} requests/s", "requests/s"),
    ]
    if limits is not None:
        declared = ", ".join(
            f"{metric} <= {ns / _MS:g} ms"
            for metric, ns in (
                (Metric.TTFT, limits.ttft_ns),
                (Metric.TPOT, limits.tpot_ns),
                (Metric.E2E, limits.e2e_ns),
            )
            if ns is not None
        )
        share = stage.goodput
        good = f"{share.value:.1%}" if share.value is not None else f"unknown ({share.reason})"
        parts.append(f"goodput {good} ({declared})")
    return "; ".join(parts)


def _load(stage: StageSummary) -> str:
    spec, client = stage.spec, stage.client
    if client is None:
        return "unknown: the client left no report"
    flight = f"{client.in_flight:.1f} requests in flight on average"
    ramp = f", ramp {spec.ramp_ns / 1e9:g} s" if spec.ramp_ns else ""
    if spec.rate is None:
        return f"{flight}, {spec.concurrency} asked{ramp}"
    spin = ", spinning" if spec.spin else ""
    achieved = "unknown" if client.achieved_rate is None else f"{client.achieved_rate:,.2f}/s"
    asked = spec.rate if client.asked_rate is None else client.asked_rate
    due = f"{asked:,.2f}/s due (rate {spec.rate:g}{ramp}{spin})"
    return f"{achieved} sent, {due}; {flight}, at most {spec.concurrency}"


def _tokens(stage: StageSummary, header: BenchHeader) -> str:
    counts, asked = stage.tokens, header.tokens
    if not stage.ok:
        return "unknown: no request succeeded"
    parts = [
        _counted("in", counts.input_mean, (counts.input_least, counts.input_most), asked.input_tokens),
        _counted("out", counts.output_mean, (counts.output_least, counts.output_most), asked.output_tokens),
        f"cached {_percent(counts.cached_share)}"
        if counts.cached_share.value is not None
        else f"cached unknown ({counts.cached_share.reason})",
    ]
    return "; ".join(parts)


def _counted(name: str, mean: Figure, ends: tuple[int | None, int | None], asked: int | None) -> str:
    nominal = "" if asked is None else f" ({asked} asked)"
    if mean.value is None:
        return f"{name} unknown: {mean.reason}{nominal}"
    span = f"{mean.value:.1f}, {ends[0]} to {ends[1]}" if ends[0] != ends[1] else f"{ends[0]}"
    return f"{name} {span}{nominal}"


def _client(stage: StageSummary) -> Iterator[str]:
    trust = stage.trust
    stamp = "unknown" if trust.stamp_error_ns is None else f"{trust.stamp_error_ns / 1e3:.0f} us"
    bound = "unknown" if trust.error_bound_ns is None else f"{trust.error_bound_ns / _MS:.2f} ms"
    lag = "unknown" if trust.loop_lag_ns is None else f"{trust.loop_lag_ns / _MS:.2f} ms"
    share = "unknown" if trust.cpu_share is None else f"{trust.cpu_share:.0%}"
    yield _row(
        "client",
        f"TTFT error at most {bound}, stamps {stamp}, loop lag p99 {lag}, CPU {share} "
        f"of {stage.processes} process{'' if stage.processes == 1 else 'es'}, "
        f"{_percent(trust.bounded_share)} of the stamps are upper bounds",
    )
    figure, *more = _short(stage)
    yield _row("usable", f"{usable_word(stage)}: {figure}")
    yield from (_row("", line) for line in more)


def _short(stage: StageSummary) -> Iterator[str]:
    """The figure that decides, its limit and what to do, a line each; the JSON summary has every word."""
    trust = stage.trust
    if trust.usable is True:
        yield trust.reason
        return
    figure, *others = (_DETAIL.sub("", part) for part in trust.reason.split("; "))
    yield figure
    yield from others[:1]
    hint, _, why = _DETAIL.sub("", trust.hint).partition(": ")
    if hint:
        yield f"-> {hint}"
    if why:
        yield f"   {why}"


def _quantiles(figures: MetricFigures, *, with_failures: bool) -> str:
    found = figures.with_failures if with_failures else figures.successes
    cells = [_ms(figure) for figure in (found.median, found.p90, found.p95, found.p99, found.max)]
    if found.n == 0:
        return f"{0:>{_COUNT}}  {found.median.reason}"
    return f"{found.n:>{_COUNT}}" + "".join(f"{cell:>{_NUMBER}}" for cell in cells)


def _ms(figure: Figure) -> str:
    if figure.value is None:
        reason = figure.reason or "-"
        return "not attained" if reason.startswith("not attained") else reason
    return f"{figure.value / _MS:.2f}"


def _plain(figure: Figure) -> str:
    return "-" if figure.value is None else f"{figure.value:,.1f}"


def _percent(figure: Figure) -> str:
    return "-" if figure.value is None else f"{figure.value:.1%}"


def _said(figure: Figure, form: str, what: str) -> str:
    return f"{what} unknown ({figure.reason})" if figure.value is None else form.format(figure.value)


def _row(label: str, text: str) -> str:
    return f"  {label:<{_LABEL}}{text}".rstrip()
