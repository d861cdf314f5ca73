"""From a client's report and the server's truth to figures: pure arithmetic."""

import math
from collections.abc import Iterable, Mapping, Sequence

from clients import Load, Report
from cost import Cost
from truths import Answered, Moment, Truth

Figures = dict[str, float]


def percentile(values: Iterable[float], percent: int) -> float | None:
    """By nearest rank; None without values."""
    ordered = sorted(values)
    return ordered[max(math.ceil(percent * len(ordered) / 100), 1) - 1] if ordered else None


def spread(name: str, values: Sequence[float]) -> Figures:
    """Median and p99 under two names; nothing without values."""
    found = {f"{name} p50": percentile(values, 50), f"{name} p99": percentile(values, 99)}
    return {key: value for key, value in found.items() if value is not None}


def measured(report: Report, truth: Truth, load: Load) -> Sequence[Answered]:
    """The answers that belong to the load: by id where the client tells them, else the last ones."""
    mine = [answer for answer in truth.answers if answer.request_id in report.requests]
    return mine or truth.answers[-load.requests :]


def of_run(report: Report, truth: Truth, load: Load, cost: Cost) -> Figures:
    """All figures that one run gives; those that it can't give are not there."""
    answers = measured(report, truth, load)
    if not answers:
        return {"ok": 0.0}
    began, ended = min(a.came_ns for a in answers), max(a.done_ns for a in answers)
    seconds, tokens = (ended - began) / 1e9, sum(a.tokens for a in answers)
    figures = {
        "ok": float(report.ok),
        "req/s": len(answers) / seconds,
        "tok/s": tokens / seconds,
        "cpu s": cost.cpu_s,
        "tokens": float(sum(a.tokens for a in truth.answers)),
        "cpu ms per 1k": 1e6 * cost.cpu_s / tokens,
        "overhead s": cost.wall_s - seconds,
        "before s": (began - cost.began_ns) / 1e9,
        "after s": (cost.ended_ns - ended) / 1e9,
    }
    if cost.peak_mb is not None:
        figures |= {"pss MB": cost.peak_mb, "processes": float(cost.processes)}
    return (
        figures
        | ttft_error(report, answers)
        | token_error(report, truth.writes)
        | pacing(report, answers, load)
    )


def ttft_error(report: Report, answers: Sequence[Answered]) -> Figures:
    """How far the reported time to first token is from the true one, in milliseconds.

    Request by request where the client tells them, as an absolute value; else quantile minus
    quantile, which hides errors that cancel out.
    """
    true = {answer.request_id: answer for answer in answers}
    errors = []
    for name, seen in report.requests.items():
        if name in true and seen.first_ns is not None:
            answer = true[name]
            began, ended = answer.first
            errors.append(
                outside(seen.first_ns - seen.sent_ns, (began - answer.came_ns, ended - answer.came_ns))
            )
    if errors:
        return spread("ttft error ms", [error / 1e6 for error in errors])
    if report.ttft_ms is None:
        return {}
    spans = [(answer.first[1] - answer.came_ns) / 1e6 for answer in answers]
    middle, high = percentile(spans, 50), percentile(spans, 99)
    return {"ttft error ms p50": report.ttft_ms[0] - middle, "ttft error ms p99": report.ttft_ms[1] - high}


def outside(value: int, moment: Moment) -> int:
    """How far a value is from a span in which the true one lies; 0 inside."""
    return max(moment[0] - value, value - moment[1], 0)


def token_error(report: Report, writes: Mapping[str, Sequence[Moment]]) -> Figures:
    """How far the stamp of each token is from the moment at which the server sent it, in microseconds."""
    errors, tokens, bounded = [], 0, 0
    for name, seen in report.requests.items():
        sent = writes.get(name, ())
        if seen.tokens_ns and len(sent) == len(seen.tokens_ns):
            tokens += len(sent)
            bounded += seen.bounded
            errors += [outside(*pair) / 1e3 for pair in zip(seen.tokens_ns, sent, strict=True)]
    share = {"bounded %": 100 * bounded / tokens} if tokens else {}
    return spread("token error us", errors) | share


def pacing(report: Report, answers: Sequence[Answered], load: Load) -> Figures:
    """How late an open loop sent: as the client says, and by the server's own arrivals, in microseconds.

    The server doesn't know the plan, only that requests were to come at equal distances: its
    figure counts from the earliest line of that slope, so it holds the way to the server, too.
    """
    if load.rate is None:
        return {}
    said = [
        (seen.sent_ns - seen.due_ns) / 1e3 for seen in report.requests.values() if seen.due_ns is not None
    ]
    ordered = sorted(answers, key=lambda answer: answer.came_ns)
    lines = [answer.came_ns - number * 1e9 / load.rate for number, answer in enumerate(ordered)]
    seen = [(line - min(lines)) / 1e3 for line in lines]
    return spread("lateness us", said) | spread("arrival lateness us", seen)
