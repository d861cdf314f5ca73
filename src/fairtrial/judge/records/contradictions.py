"""Contradictions of a record with itself, by general rules. Pure; each rule is one function."""

import re
from collections.abc import Callable, Iterator, Sequence

from fairtrial.judge.records import contradictions_gates as gates
from fairtrial.judge.records.claims import short_name
from fairtrial.judge.records.named_files import differences, digests
from fairtrial.judge.records.reading import DECISION_LABELS, HEADLINES
from fairtrial.judge.records.shapes import EVIDENCE
from fairtrial.schema.record import ArmResult, ImportedRecord, Kept, Place, StatedFlag
from fairtrial.schema.record_judgment import Contradiction, LaneVerdict, Rule
from fairtrial.schema.verdict_vocab import Flag
from fairtrial.schema.vocab import Role, Verdict

_COLD, _WARM = 0.05, 0.5
"""Cached shares up to and from which a population is called cold or warm here."""


def contradictions(record: ImportedRecord, lanes: Sequence[LaneVerdict]) -> tuple[Contradiction, ...]:
    """Everything that two places of the record can't both mean."""
    found = [one for rule in _RULES for one in rule(record)]
    return (*found, *_regressions(record, lanes))


def _cache_state(record: ImportedRecord) -> Iterator[Contradiction]:
    """An eligible population that is warm among eligible cold ones of the same group."""
    groups: dict[tuple[str, str], list[ArmResult]] = {}
    for result in record.results:
        if result.eligible and "cached_fraction" in result.numbers:
            groups.setdefault((result.place.file, result.group), []).append(result)
    for (_, group), results in groups.items():
        cold = [one for one in results if one.numbers["cached_fraction"] <= _COLD]
        for one in results if cold else ():
            share = one.numbers["cached_fraction"]
            if share >= _WARM:
                said = _excluding(record, one)
                yield Contradiction(
                    rule=Rule.ELIGIBLE_OUTSIDE_CACHE_STATE,
                    what=f"{one.arm} of {group} is performance_eligible with a cached share of {share:.2f}, "
                    f"beside {len(cold)} eligible cold populations" + (f"; {said[1]}" if said else ""),
                    places=(one.place, *((said[0],) if said else ())),
                )


def _excluding(record: ImportedRecord, result: ArmResult) -> tuple[Place, str] | None:
    """A sentence of the record that excludes the same arm."""
    name = short_name(result.arm).lower()
    for one in record.statements:
        lowered = one.text.lower()
        if name in lowered and "exclu" in lowered:
            return one.place, f"the record itself says: {one.text}"
    return None


_PLANNED = re.compile(r"/(?:usable_\w*|nominal_\w*|planned_\w*|needle_context_)(?:tokens|context)$")
_REAL = re.compile(r"/(?:actual|observed|measured)_\w*tokens\w*(?:/[^/]+)?$")


def _planned(record: ImportedRecord) -> Iterator[Contradiction]:
    """A planned number of prompt tokens that no observed one reaches."""
    real = [one for one in record.kept if one.number is not None and _REAL.search(one.place.at)]
    best = max((one.number or 0.0 for one in real), default=None)
    short: dict[float, list[Kept]] = {}
    for one in record.kept:
        planned = one.number is not None and _PLANNED.search(one.place.at)
        if planned and best is not None and one.number is not None and best < one.number:
            short.setdefault(one.number, []).append(one)
    for number, where in short.items():
        yield Contradiction(
            rule=Rule.PLANNED_NOT_REACHED,
            what=f"{number:,.0f} tokens were planned; the most that was observed is {best or 0:,.0f}",
            places=(*(one.place for one in where), *(one.place for one in real if one.number == best)),
        )


def _flags(record: ImportedRecord, name: str, *, value: bool) -> list[StatedFlag]:
    return [one for one in record.flags if one.name == name and one.value is value]


def _authorised(record: ImportedRecord) -> Iterator[Contradiction]:
    """Promotion is authorised of what is not qualified, not promoted, or labelled as not to be."""
    allowed = _flags(record, "promotion_authorized", value=True)
    against = [
        (one.place, f"{one.name} is false") for one in _flags(record, "challenger_qualified", value=False)
    ]
    against += [(one.place, f"{one.name} is false") for one in _flags(record, "promoted", value=False)]
    against += [(place, f"labelled {text}") for place, text in _labels(record) if text == _NO_PROMOTION]
    if allowed and against:
        texts = ", ".join(dict.fromkeys(text for _, text in against))
        yield Contradiction(
            rule=Rule.AUTHORISED_NOT_QUALIFIED,
            what=f"promotion_authorized is true, and {texts}: an authorisation, not a qualification",
            places=(*(one.place for one in allowed), *(place for place, _ in against)),
        )


_NO_PROMOTION = "no-promotion"
_STANDINGS = frozenset({"current", "promoted", "default", "qualified"})


def _labels(record: ImportedRecord) -> list[tuple[Place, str]]:
    return [(one.place, one.text) for one in record.statements if one.group == DECISION_LABELS]


def _labels_against_facts(record: ImportedRecord) -> Iterator[Contradiction]:
    """Labels of one list that give the candidate a standing and deny it."""
    lists: dict[tuple[str, str], list[tuple[Place, str]]] = {}
    for place, text in _labels(record):
        lists.setdefault((place.file, place.at.rpartition("/")[0]), []).append((place, text))
    found: dict[str, list[Place]] = {}
    for labels in lists.values():
        texts = {text for _, text in labels}
        standing = sorted(texts & _STANDINGS)
        if standing and _NO_PROMOTION in texts:
            what = f"the labels say {', '.join(standing)} and {_NO_PROMOTION} at once"
            found.setdefault(what, []).extend(place for place, _ in labels)
    for what, places in found.items():
        yield Contradiction(rule=Rule.LABELS_AGAINST_FACTS, what=what, places=tuple(places))


def _bare_evidence(record: ImportedRecord) -> Iterator[Contradiction]:
    """Evidence of the summary that is named without a digest."""
    known = digests(record)
    lists: dict[str, list[tuple[Place, str]]] = {}
    for one in record.references:
        top = one.place.at.rpartition("/")[0] == f"/{EVIDENCE}"
        if one.group == EVIDENCE and top and one.sha256 is None:
            lists.setdefault(one.place.file, []).append((one.place, one.path))
    for bare in lists.values():
        elsewhere = sum(1 for _, path in bare if path in known)
        yield Contradiction(
            rule=Rule.EVIDENCE_WITHOUT_DIGEST,
            what=f"{len(bare)} entries of evidence are bare names without a digest; "
            f"{elsewhere} of them have one elsewhere in the record",
            places=tuple(place for place, _ in bare),
        )


def _altered(record: ImportedRecord) -> Iterator[Contradiction]:
    """A file that is not the one which the record lists."""
    there = {one.path: one for one in record.files}
    for named in record.references:
        file = there.get(named.path)
        why = differences(named, file) if file is not None else ""
        if file is not None and why:
            size = "" if named.bytes is None else f" ({file.bytes:,} bytes here, {named.bytes:,} stated)"
            yield Contradiction(
                rule=Rule.FILE_DIFFERS, what=f"{named.path} is {why}{size}", places=(named.place,)
            )


def _two_digests(record: ImportedRecord) -> Iterator[Contradiction]:
    for path, stated in digests(record).items():
        if len(stated) > 1:
            yield Contradiction(
                rule=Rule.DIGESTS_DIFFER,
                what=f"{path} has {len(stated)} different digests",
                places=tuple(named[0].place for named in stated.values()),
            )


def _disagreeing_flags(record: ImportedRecord) -> Iterator[Contradiction]:
    """The same fact, true in one document and false in another."""
    for name in ("promotion_authorized", "promoted", "challenger_qualified"):
        sides = _flags(record, name, value=True), _flags(record, name, value=False)
        if all(sides):
            yield Contradiction(
                rule=Rule.FLAGS_DISAGREE,
                what=f"{name} is true in one place and false in another",
                places=tuple(one.place for side in sides for one in side),
            )


def _campaigns(record: ImportedRecord) -> Iterator[Contradiction]:
    if len(record.campaigns) > 1:
        yield Contradiction(
            rule=Rule.CAMPAIGNS_DIFFER,
            what=f"the documents belong to different campaigns: {', '.join(record.campaigns[:5])}",
            places=(),
        )


def _regressions(record: ImportedRecord, lanes: Sequence[LaneVerdict]) -> Iterator[Contradiction]:
    """A lane is said to have regressed, and its repetitions don't establish it."""
    open_lanes = {
        lane.lane: lane
        for lane in lanes
        if lane.role is Role.GUARDRAIL and lane.findings and _undecided(lane)
    }
    for one in record.statements:
        lowered = one.text.lower()
        if one.group not in {HEADLINES, "failures"} or "regress" not in lowered:
            continue
        named = sorted(name for name in open_lanes if name.lower() in lowered)
        if named:
            yield Contradiction(
                rule=Rule.REGRESSION_NOT_ESTABLISHED,
                what=f"{', '.join(named)} said to regress; over all repetitions: unresolved, not regressed",
                places=(one.place,),
            )


def _undecided(lane: LaneVerdict) -> bool:
    finding = lane.findings[0].finding
    return finding.verdict is Verdict.INCONCLUSIVE and Flag.REGRESSION_DETECTED not in finding.flags


_RULES: Sequence[Callable[[ImportedRecord], Iterator[Contradiction]]] = (
    gates.passes_over_false_proof,
    gates.passes_with_exceptions,
    gates.rests_on_altered_file,
    gates.without_outcome,
    gates.complete_with_gaps,
    gates.stage_not_run,
    _cache_state,
    _planned,
    _authorised,
    _labels_against_facts,
    _bare_evidence,
    _altered,
    _two_digests,
    _disagreeing_flags,
    _campaigns,
)
