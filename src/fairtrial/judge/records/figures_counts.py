"""Numbers of requests, launches and warm-ups: sums that must come out. Pure."""

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from fairtrial.judge.records.order import order_of
from fairtrial.schema.record import ImportedRecord, Kept, Place
from fairtrial.schema.record_judgment import Agreement, Figure, FigureKind

_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_WORDS: Mapping[str, int] = MappingProxyType({word: value for value, word in enumerate(_NUMBERS, start=1)})
_LAUNCHES = re.compile(r"\b([\d,]+)\s+(?:fresh\s+)?(?:formal\s+)?(?:incarnations|launches)\b", re.IGNORECASE)
_LONGEST = 2_000
_LANES = re.compile(r"\b(\d+|" + "|".join(_WORDS) + r")\s+(?:lanes|workloads)\b", re.IGNORECASE)


def count_figures(record: ImportedRecord) -> Iterator[Figure]:
    """Sums of requests, lanes, launches and warm-ups."""
    named = {_name(one): one for one in record.kept if one.number is not None}
    yield from _formal(named)
    yield from _measured(record, named)
    yield from _launches(record, named)


def _name(one: Kept) -> str:
    return one.place.at.rpartition("/")[2]


def _first(named: Mapping[str, Kept], *names: str) -> tuple[Kept, int] | None:
    for name in names:
        one = named.get(name)
        if one is not None and one.number is not None and one.number == int(one.number):
            return one, int(one.number)
    return None


def _formal(named: Mapping[str, Kept]) -> Iterator[Figure]:
    formal = _first(named, "formal_requests")
    parts = _first(named, "prime_requests"), _first(named, "measured_requests")
    if formal is None:
        return
    if None in parts:
        yield _figure("formal requests", formal[0].place, formal[1], None, "its parts are not published")
        return
    prime, measured = (part[1] for part in parts if part is not None)
    yield _figure(
        "formal requests",
        formal[0].place,
        formal[1],
        prime + measured,
        f"{prime:,} prime + {measured:,} measured",
    )


def _measured(record: ImportedRecord, named: Mapping[str, Kept]) -> Iterator[Figure]:
    sizes = [side.n for row in record.rows for side in (row.a, row.b)]
    for name in ("measured_requests", "sample_count"):
        found = _first(named, name)
        if found is None or not record.rows:
            continue
        known = [size for size in sizes if size is not None]
        total = sum(known) if len(known) == len(sizes) else None
        reason = "sum of the requests of every lane, repetition and arm"
        if total is None:
            reason = f"{len(sizes) - len(known)} of {len(sizes)} populations have no published size"
        yield _figure(name.replace("_", " "), found[0].place, found[1], total, reason)


def _launches(record: ImportedRecord, named: Mapping[str, Kept]) -> Iterator[Figure]:
    order, lanes = order_of(record), len({row.lane for row in record.rows})
    arms = sum(len(pair) for pair in order.pairs)
    launches = None
    for place, text in _sentences(record):
        stated = _LAUNCHES.search(text)
        if stated and lanes:
            launches = int(stated[1].replace(",", ""))
            derived = lanes * arms if arms else None
            reason = f"{lanes} lanes x {arms} arms of {', '.join(order.pairs)}" if arms else order.note
            yield _figure("launches", place, launches, derived, reason)
        said = _LANES.search(text)
        if said and lanes and stated:
            number = _WORDS.get(said[1].lower()) or int(said[1])
            yield _figure("lanes", place, number, lanes, "different lanes among the rows")
    warm = _first(named, "warmups", "warmup_requests")
    if warm is not None and launches:
        whole, rest = divmod(warm[1], launches)
        reason = f"{launches} launches x {whole}" + (f" and {rest} left over" if rest else "")
        yield _figure("warm-ups", warm[0].place, warm[1], launches * whole, reason)


def _sentences(record: ImportedRecord) -> Iterator[tuple[Place, str]]:
    """Texts of the JSON documents: prose repeats them."""
    for kept in record.kept:
        if kept.value.startswith('"') and len(kept.value) <= _LONGEST:
            yield kept.place, kept.value


def _figure(what: str, place: Place, stated: int, derived: int | None, reason: str) -> Figure:
    if derived is None:
        outcome = Agreement.NOT_DERIVABLE
    else:
        outcome = Agreement.AGREES if stated == derived else Agreement.DIFFERS
    return Figure(
        kind=FigureKind.COUNT,
        what=what,
        place=place,
        stated=f"{stated:,}",
        derived=None if derived is None else f"{derived:,}",
        outcome=outcome,
        reason=reason,
    )
