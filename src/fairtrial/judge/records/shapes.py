"""Shapes of objects that published records are made of. Pure.

Each reader takes an object and the way to it, and returns what it found with the keys that it read; None
where the object has another shape. Keys that no reader takes are walked on, and kept in the end.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from fairtrial.judge.records.values import Steps, count, flag, last_name, mapping, number, place, text
from fairtrial.schema.record import ArmResult, LaneRow, Reference, Side, StatedGate, TwoValues
from fairtrial.schema.vocab import GateOutcome, Metric, Role

Item = LaneRow | ArmResult | TwoValues | StatedGate | Reference

GATES = "gates"
MISSING_GATES = "missing_gates"
STAGES = "stages"
EVIDENCE = "evidence"
_GATE_LISTS = frozenset({GATES, MISSING_GATES, STAGES, "checks", "post_run_checks"})
_GATES_IN_WORDS = _GATE_LISTS - {"checks"}
"""``checks`` also lists what is to be checked."""
_REFERENCE_LISTS = frozenset({EVIDENCE, "files", "sources", "artifacts"})

ROLES: Mapping[str, Role] = MappingProxyType(
    {
        "protected": Role.GUARDRAIL,
        "guardrail": Role.GUARDRAIL,
        "primary": Role.PRIMARY,
        "descriptive": Role.INFORMATIONAL,
        "informational": Role.INFORMATIONAL,
    }
)
METRICS: Mapping[str, Metric] = MappingProxyType(
    {
        "ttft": Metric.TTFT,
        "client_generated_ttft": Metric.TTFT,
        "e2e": Metric.E2E,
        "tpot": Metric.TPOT,
        "itl": Metric.ITL,
        Metric.DECODE_TOKENS_PER_SECOND.value: Metric.DECODE_TOKENS_PER_SECOND,
        Metric.OUTPUT_THROUGHPUT.value: Metric.OUTPUT_THROUGHPUT,
    }
)
"""Records' names of metrics whose direction is known."""
OUTCOMES: Mapping[str, GateOutcome] = MappingProxyType(
    {
        "passed": GateOutcome.PASSED,
        "pass": GateOutcome.PASSED,
        "failed": GateOutcome.FAILED,
        "fail": GateOutcome.FAILED,
        "missing": GateOutcome.MISSING,
        "not_run": GateOutcome.NOT_RUN,
        "held": GateOutcome.HELD,
        "hold": GateOutcome.HELD,
    }
)
"""Single words of state; whatever else stands there is free text and no outcome."""


@dataclass(frozen=True, slots=True)
class Here:
    """Where the walk is."""

    file: str
    steps: Steps


@dataclass(frozen=True, slots=True)
class Read:
    """What a reader made of an object."""

    items: tuple[Item, ...]
    keys: frozenset[str]


Reader = Callable[[Mapping[str, object], Here], Read | None]


def as_json(value: object) -> str:
    """A value of the record as it stands there."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def outcome_of(value: object) -> GateOutcome | None:
    """An outcome from a boolean or a single word of state; never from a sentence."""
    if isinstance(value, bool):
        return GateOutcome.PASSED if value else GateOutcome.FAILED
    if isinstance(value, str):
        return OUTCOMES.get(value.strip().lower().replace("-", "_"))
    return None


def row(value: Mapping[str, object], here: Here) -> Read | None:
    """A lane and repetition with the medians of both arms."""
    lane, repetition = text(value.get("lane")), count(value.get("repetition"))
    metric = text(value.get("metric"))
    if lane is None or not repetition or not {"a_median", "b_median"} <= value.keys():
        return None
    role = text(value.get("role"))
    found = LaneRow(
        place=place(here.file, here.steps),
        lane=lane,
        repetition=repetition,
        metric=metric or "unnamed",
        known_metric=METRICS.get((metric or "").lower()),
        stated_role=role,
        role=ROLES.get((role or "").lower()),
        a=_side(value, "a"),
        b=_side(value, "b"),
        delta=number(value.get("observed_percent_delta")),
        work_matches=count(value.get("complete_work_matches")),
        work_mismatches=count(value.get("complete_work_mismatches")),
        output_equality=text(value.get("output_equality")),
        eligible=flag(value.get("performance_eligible")),
    )
    return Read((found,), _well_typed(value, _ROW_KEYS))


def _side(value: Mapping[str, object], arm: str) -> Side:
    return Side(
        n=count(value.get(f"{arm}_native_n")),
        median=number(value.get(f"{arm}_median")),
        p95=number(value.get(f"{arm}_p95_nearest_rank")),
    )


_ROW_KEYS: Mapping[str, Callable[[object], object]] = MappingProxyType(
    {
        "lane": text,
        "repetition": count,
        "metric": text,
        "role": text,
        "observed_percent_delta": number,
        "complete_work_matches": count,
        "complete_work_mismatches": count,
        "output_equality": text,
        "performance_eligible": flag,
        **dict.fromkeys(("a_native_n", "b_native_n"), count),
        **dict.fromkeys(("a_median", "b_median", "a_p95_nearest_rank", "b_p95_nearest_rank"), number),
    }
)


def _well_typed(
    value: Mapping[str, object], keys: Mapping[str, Callable[[object], object]]
) -> frozenset[str]:
    """The keys whose values are what they should be: all others stay to be kept and shown."""
    return frozenset(name for name, read in keys.items() if name in value and read(value[name]) is not None)


def arm_result(value: Mapping[str, object], here: Here) -> Read | None:
    """Counts and means of one population of one arm."""
    if not _counts_of(value) or len(here.steps) < 2:
        return None
    numbers = {name: known for name, inner in value.items() if (known := number(inner)) is not None}
    group, arm = here.steps[-2:]
    source, digest = text(value.get("source")), text(value.get("source_sha256"))
    eligible = flag(value.get("performance_eligible"))
    named = {"source": source, "source_sha256": digest, "performance_eligible": eligible}
    found = ArmResult(
        place=place(here.file, here.steps),
        group=str(group),
        arm=str(arm),
        numbers=numbers,
        source=source,
        source_sha256=digest,
        eligible=eligible,
    )
    return Read((found,), frozenset(numbers) | {name for name, inner in named.items() if inner is not None})


def _counts_of(value: Mapping[str, object]) -> bool:
    out_of = count(value.get("attempts", value.get("requests")))
    return out_of is not None and count(value.get("passed", value.get("completed"))) is not None


_SIDES = ("baseline", "candidate")
_CHANGES = "candidate_percent_change"


def two_numbers(value: Mapping[str, object], here: Here) -> Read | None:
    """One metric: a number of the baseline and one of the candidate."""
    baseline, candidate = (number(value.get(name)) for name in _SIDES)
    if baseline is None or candidate is None:
        return None
    names = [str(step) for step in here.steps if step != "metrics"] or [""]
    change = number(value.get("delta_percent"))
    found = TwoValues(
        place=place(here.file, here.steps),
        group=names[-2] if len(names) > 1 else "",
        metric=names[-1],
        baseline=baseline,
        candidate=candidate,
        change=change,
    )
    return Read((found,), frozenset(_SIDES) | ({"delta_percent"} if change is not None else set()))


def two_tables(value: Mapping[str, object], here: Here) -> Read | None:
    """All metrics of the baseline and all of the candidate, perhaps with the changes."""
    baseline, candidate = (mapping(value.get(name)) for name in _SIDES)
    changes = mapping(value.get(_CHANGES)) or {}
    if baseline is None or candidate is None or not _all_numbers(baseline, candidate, changes):
        return None
    if _counts_of(baseline) and _counts_of(candidate):  # two populations, read one by one
        return None
    group = last_name(here.steps)
    items = tuple(
        TwoValues(
            place=place(here.file, (*here.steps, _CHANGES if name in changes else _SIDES[1], name)),
            group=group,
            metric=name,
            baseline=number(baseline.get(name)),
            candidate=number(candidate.get(name)),
            change=number(changes.get(name)),
        )
        for name in dict.fromkeys((*baseline, *candidate, *changes))
    )
    return Read(items, frozenset((*_SIDES, _CHANGES)))


def changes_alone(value: Mapping[str, object], here: Here) -> Read | None:
    """Changes between the arms that are repeated without their values."""
    changes, group = mapping(value.get(_CHANGES)), text(value.get("population"))
    if changes is None or group is None or "baseline" in value or not _all_numbers(changes):
        return None
    items = tuple(
        TwoValues(
            place=place(here.file, (*here.steps, _CHANGES, name)),
            group=group,
            metric=name,
            baseline=None,
            candidate=None,
            change=number(change),
        )
        for name, change in changes.items()
    )
    return Read(items, frozenset({_CHANGES, "population"}))


def _all_numbers(*tables: Mapping[str, object]) -> bool:
    return all(number(inner) is not None for table in tables for inner in table.values())


def gate(value: Mapping[str, object], here: Here) -> Read | None:
    """A gate, a check or a stage in a list of them."""
    group = last_name(here.steps)
    name_key = next((key for key in ("name", "gate", "id") if text(value.get(key))), None)
    state_key = next((key for key in ("passed", "status", "outcome") if key in value), None)
    if group not in _GATE_LISTS or name_key is None or state_key is None:
        return None
    reason_key = next((key for key in ("reason", "detail") if text(value.get(key))), None)
    source_key = next((key for key in ("source", EVIDENCE) if text(value.get(key))), None)
    found = StatedGate(
        place=place(here.file, here.steps),
        group=group,
        name=str(value[name_key]),
        outcome=outcome_of(value[state_key]),
        stated=as_json(value[state_key]),
        reason=text(value.get(reason_key)) if reason_key else None,
        source=text(value.get(source_key)) if source_key else None,
    )
    return Read((found,), frozenset(key for key in (name_key, state_key, reason_key, source_key) if key))


def gate_table(value: Mapping[str, object], here: Here) -> Read | None:
    """Gates as an object of names and booleans."""
    if not here.steps or here.steps[-1] != GATES or not value:
        return None
    typed = {name: inner for name, inner in value.items() if isinstance(inner, bool)}
    items = tuple(
        StatedGate(
            place=place(here.file, (*here.steps, name)),
            group=GATES,
            name=name,
            outcome=outcome_of(inner),
            stated=as_json(inner),
        )
        for name, inner in typed.items()
    )
    return Read(items, frozenset(typed)) if items else None


def reference(value: Mapping[str, object], here: Here) -> Read | None:
    """A file that is named with its digest or its size."""
    path, sha256, size = text(value.get("path")), text(value.get("sha256")), count(value.get("bytes"))
    if path is None or (sha256 is None and size is None):
        return None
    found = Reference(
        place=place(here.file, here.steps), group=last_name(here.steps), path=path, sha256=sha256, bytes=size
    )
    named = {"path": path, "sha256": sha256, "bytes": size}
    return Read((found,), frozenset(name for name, inner in named.items() if inner is not None))


def gate_in_words(value: str, here: Here) -> StatedGate | None:
    """A gate of which only a sentence is published: it has no outcome, whatever the sentence says."""
    group = last_name(here.steps)
    if group not in _GATES_IN_WORDS or not isinstance(here.steps[-1], int):
        return None
    outcome = GateOutcome.MISSING if group == MISSING_GATES else None
    return StatedGate(
        place=place(here.file, here.steps), group=group, name=value, outcome=outcome, stated=as_json(value)
    )


def named_file(value: str, here: Here) -> Reference | None:
    """A file in a list of evidence or files, without digest or size."""
    group = last_name(here.steps)
    if group not in _REFERENCE_LISTS or not isinstance(here.steps[-1], int):
        return None
    return Reference(place=place(here.file, here.steps), group=group, path=value, sha256=None, bytes=None)


READERS: tuple[Reader, ...] = (
    row,
    arm_result,
    two_numbers,
    two_tables,
    changes_alone,
    gate,
    gate_table,
    reference,
)
