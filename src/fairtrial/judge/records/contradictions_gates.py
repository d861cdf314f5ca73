"""Contradictions between gates and what else the record says. Pure; each rule is one function."""

import re
from collections.abc import Iterator

from fairtrial.judge.records.named_files import differences
from fairtrial.judge.records.shapes import GATES, MISSING_GATES, STAGES
from fairtrial.schema.record import ImportedRecord, Place, StatedGate
from fairtrial.schema.record_judgment import Contradiction, Rule
from fairtrial.schema.vocab import GateOutcome

_LEAST_LETTERS = 6
_STEM = 6
_COMMON = frozenset(
    {"origin", "strict", "genera", "actual", "indepe", "candid", "eligib", "tested", "comple"}
)
"""Beginnings of words that say what kind of gate it is and not what it is about."""
_FALSE = re.compile(r"\b(?:false|falsely|not true|unproven|disproved)\b", re.IGNORECASE)
_EXCEPTION = re.compile(r"\b(?:exceptions?|waived?|waivers?|except|conditional(?:ly)?)\b", re.IGNORECASE)
_NOT_PASSED = {GateOutcome.FAILED, GateOutcome.MISSING, GateOutcome.NOT_RUN, GateOutcome.HELD}


def passes_over_false_proof(record: ImportedRecord) -> Iterator[Contradiction]:
    """A gate that passed, and a false proof or a failed gate on the same subject."""
    gates = [gate for gate in record.gates if gate.group == GATES]
    for gate in gates:
        if gate.outcome is not GateOutcome.PASSED:
            continue
        stems = _stems(gate.name)
        said = [
            (one.place, one.text)
            for one in record.statements
            if one.group == "failures" and _FALSE.search(one.text) and stems & _stems(one.text)
        ]
        said += [
            (other.place, f"gate {other.name}: {other.outcome.value}")
            for other in gates
            if other.outcome is GateOutcome.FAILED and stems & _stems(other.name)
        ]
        if said:
            texts = "; ".join(text for _, text in said)
            yield Contradiction(
                rule=Rule.GATE_OVER_FALSE_PROOF,
                what=f"gate {gate.name} is {gate.stated}, yet: {texts}",
                places=(gate.place, *(place for place, _ in said)),
            )


def _stems(text: str) -> frozenset[str]:
    words = re.findall(r"[a-z]+", text.lower())
    return frozenset(word[:_STEM] for word in words if len(word) >= _LEAST_LETTERS) - _COMMON


def passes_with_exceptions(record: ImportedRecord) -> Iterator[Contradiction]:
    """A gate that passed with a reason that tells of exceptions."""
    for gate in record.gates:
        if gate.outcome is GateOutcome.PASSED and gate.reason and _EXCEPTION.search(gate.reason):
            yield Contradiction(
                rule=Rule.GATE_WITH_EXCEPTIONS,
                what=f"gate {gate.name} is {gate.stated} with the reason: {gate.reason}",
                places=(gate.place,),
            )


def rests_on_altered_file(record: ImportedRecord) -> Iterator[Contradiction]:
    """A gate that passed because of a file which is not the one that was listed."""
    there = {one.path: one for one in record.files}
    for gate in record.gates:
        file = there.get(gate.source or "")
        if gate.outcome is not GateOutcome.PASSED or file is None:
            continue
        for named in record.references:
            why = differences(named, file) if named.path == file.path else ""
            if why:
                yield Contradiction(
                    rule=Rule.GATE_ON_ALTERED_FILE,
                    what=f"gate {gate.name} is {gate.stated} by {file.path}, which is {why}",
                    places=(gate.place, named.place),
                )


def without_outcome(record: ImportedRecord) -> Iterator[Contradiction]:
    """Gates and checks of which only words are published: nothing says that they passed."""
    groups: dict[tuple[str, str], list[StatedGate]] = {}
    for gate in record.gates:
        if gate.outcome is None and gate.group != STAGES:
            groups.setdefault((gate.place.file, gate.group), []).append(gate)
    for (file, group), found in groups.items():
        names = ", ".join(_short(gate.name) for gate in found[:3]) + (", ..." if len(found) > 3 else "")
        yield Contradiction(
            rule=Rule.GATE_WITHOUT_OUTCOME,
            what=f"{len(found)} of {group} in {file} have no typed outcome, which is no pass: {names}",
            places=tuple(gate.place for gate in found[:20]),
        )


def complete_with_gaps(record: ImportedRecord) -> Iterator[Contradiction]:
    """``complete: true`` beside gates that are missing, held or without an outcome."""
    complete = [one for one in record.flags if one.name == "complete" and one.value]
    gaps = [
        gate
        for gate in record.gates
        if gate.group in {GATES, MISSING_GATES}
        and gate.outcome in {GateOutcome.MISSING, GateOutcome.NOT_RUN, GateOutcome.HELD, None}
    ]
    for one in complete:
        if gaps:
            names = "; ".join(f"{_short(gate.name)} ({_state(gate)})" for gate in gaps[:5])
            yield Contradiction(
                rule=Rule.COMPLETE_WITH_GAPS,
                what=f"complete is true beside {len(gaps)} open gates: {names}",
                places=(one.place, *(gate.place for gate in gaps[:20])),
            )


def stage_not_run(record: ImportedRecord) -> Iterator[Contradiction]:
    """A stage that was not run in a campaign that calls itself complete."""
    done = _complete(record)
    for gate in record.gates:
        if done and gate.group == STAGES and gate.outcome in _NOT_PASSED:
            yield Contradiction(
                rule=Rule.STAGE_NOT_RUN,
                what=f"stage {gate.name} is {gate.stated} in a campaign that is called complete",
                places=(gate.place, *done),
            )


def _complete(record: ImportedRecord) -> tuple[Place, ...]:
    flags = [one.place for one in record.flags if one.name == "complete" and one.value]
    words = [one.place for one in record.kept if one.place.at == "/status" and one.value == '"complete"']
    return (*flags, *words)


def _state(gate: StatedGate) -> str:
    return "no outcome" if gate.outcome is None else gate.outcome.value


def _short(text: str) -> str:
    return text if len(text) <= 80 else text[:79] + "…"
