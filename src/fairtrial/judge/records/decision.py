"""What a record supports, derived again; and what it says itself. Pure."""

from collections.abc import Sequence

from fairtrial.judge.records.shapes import GATES, MISSING_GATES
from fairtrial.schema.record import ImportedRecord
from fairtrial.schema.record_judgment import LaneVerdict, RecordDecision
from fairtrial.schema.verdict import Finding
from fairtrial.schema.verdict_vocab import Flag
from fairtrial.schema.vocab import GateOutcome, Recommendation, Role, Verdict

_STATED = ("decision_labels", "decision", "selected_profile", "next_gate")


def decide(record: ImportedRecord, lanes: Sequence[LaneVerdict]) -> RecordDecision:
    """The recommendation; never that a candidate is eligible: its evidence isn't here to look at."""
    guardrails = [lane for lane in lanes if lane.role is Role.GUARDRAIL]
    usable = [lane for lane in guardrails if lane.usable]
    worse = [lane for lane in usable if _verdict(lane) is Verdict.INFERIOR]
    open_lanes = [lane for lane in usable if _verdict(lane) in {Verdict.INCONCLUSIVE, None}]
    unusable = [lane for lane in guardrails if not lane.usable]
    failed = _gates(record, GateOutcome.FAILED)
    missing = _gates(record, GateOutcome.MISSING, GateOutcome.NOT_RUN, GateOutcome.HELD)
    if worse:
        recommendation = Recommendation.KEEP_BASELINE
    elif open_lanes:
        recommendation = Recommendation.UNDECIDED
    elif failed:
        recommendation = Recommendation.KEEP_BASELINE
    elif not lanes or missing:
        recommendation = Recommendation.INCOMPLETE
    else:
        recommendation = Recommendation.UNDECIDED
    reasons = (
        *_lane_reasons(worse, open_lanes, unusable),
        *_passed_reasons(usable, lanes),
        *_repetition_reason(lanes),
        *_gate_reasons(failed, missing),
        *(() if lanes else ("no lane has paired repetitions of both arms, so nothing has a verdict",)),
        "an imported record holds no evidence that a promotion could rest on",
    )
    return RecordDecision(
        recommendation=recommendation,
        reasons=reasons,
        next_step=_next(open_lanes, failed, missing),
        stated=_stated(record),
    )


def _first(lane: LaneVerdict) -> Finding | None:
    return lane.findings[0].finding if lane.findings else None


def _verdict(lane: LaneVerdict) -> Verdict | None:
    finding = _first(lane)
    return None if finding is None else finding.verdict


def _names(lanes: Sequence[LaneVerdict]) -> str:
    return ", ".join(lane.lane for lane in lanes)


def _lane_reasons(
    worse: Sequence[LaneVerdict], open_lanes: Sequence[LaneVerdict], unusable: Sequence[LaneVerdict]
) -> list[str]:
    found = []
    if worse:
        found.append(f"worse than allowed: {_names(worse)}")
    if open_lanes:
        regressed = [lane for lane in open_lanes if _regressed(lane)]
        word = "guardrail is" if len(open_lanes) == 1 else "guardrails are"
        what = "unresolved" if regressed else "unresolved, not regressed"
        found.append(f"{len(open_lanes)} {word} {what}: {_names(open_lanes)}")
    found += [f"not usable: {lane.lane} ({lane.why_not})" for lane in unusable]
    return found


def _regressed(lane: LaneVerdict) -> bool:
    finding = _first(lane)
    return finding is not None and Flag.REGRESSION_DETECTED in finding.flags


def _passed_reasons(usable: Sequence[LaneVerdict], lanes: Sequence[LaneVerdict]) -> list[str]:
    held = [lane for lane in usable if _verdict(lane) is Verdict.NON_INFERIOR]
    better = [
        lane
        for lane in lanes
        if lane.role is Role.PRIMARY and lane.usable and _verdict(lane) is Verdict.SUPERIOR
    ]
    found = [f"no worse than allowed: {_names(held)}"] if held else []
    return [*found, *([f"better, for that workload only: {_names(better)}"] if better else [])]


def _repetition_reason(lanes: Sequence[LaneVerdict]) -> list[str]:
    floors = {
        (finding.n, finding.sign_flip.floor_one_sided, finding.sign_flip.floor_two_sided)
        for lane in lanes
        if (finding := _first(lane)) is not None
        and finding.sign_flip is not None
        and Flag.EXACT_CANNOT_REJECT in finding.flags
    }
    return [
        f"with {n} repetitions the smallest exact p is {one:.4g} one-sided and {two:.4g} two-sided: no exact "
        f"test can reject at 5%, and every verdict rests on a t interval with {n - 1} degrees of freedom"
        for n, one, two in sorted(floors)
    ]


def _gates(record: ImportedRecord, *outcomes: GateOutcome) -> list[str]:
    found = [
        gate for gate in record.gates if gate.group in {GATES, MISSING_GATES} and gate.outcome in outcomes
    ]
    return list(dict.fromkeys(gate.name for gate in found))


def _gate_reasons(failed: Sequence[str], missing: Sequence[str]) -> list[str]:
    found = [f"the record's own failed gates: {', '.join(failed)}"] if failed else []
    return [*found, *([f"the record's own open gates: {', '.join(missing)}"] if missing else [])]


def _next(open_lanes: Sequence[LaneVerdict], failed: Sequence[str], missing: Sequence[str]) -> str:
    needed = [
        (lane.lane, finding.needed.at_spread, finding.needed.at_upper)
        for lane in open_lanes
        if (finding := _first(lane)) is not None and finding.needed is not None
    ]
    if needed:
        texts = [f"{lane} {_many(one)} (up to {_many(upper)})" for lane, one, upper in needed]
        return f"repetitions in all that would decide it, were the candidate harmless: {', '.join(texts)}"
    if failed or missing:
        return f"answer the open gates first: {', '.join([*failed, *missing][:5])}"
    return "run it as a trial: paired repetitions on fresh servers, with the evidence kept"


def _many(number: int | None) -> str:
    return "more than a plan may have" if number is None else str(number)


def _stated(record: ImportedRecord) -> tuple[str, ...]:
    texts = [f"{one.group}: {one.text}" for one in record.statements if one.group in _STATED]
    flags = [
        f"{one.name}: {str(one.value).lower()} ({one.place.file} {one.place.at})" for one in record.flags
    ]
    return tuple(dict.fromkeys([*texts, *flags]))
