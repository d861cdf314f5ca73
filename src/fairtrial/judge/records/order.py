"""The order of the arms, as far as a record publishes it. Pure."""

import re
from dataclasses import dataclass

from fairtrial.schema.record import ImportedRecord, Place

_PAIRS = re.compile(r"\b(?:AB|BA)(?:(?:\s*[,|;]\s*|\s+)(?:AB|BA))*\b")
_LONGEST = 2_000
_PAIR = re.compile(r"AB|BA")
ASSUMED = "order assumed: timestamps are not published"


@dataclass(frozen=True, slots=True)
class Order:
    """One entry a repetition; empty where no order is published."""

    pairs: tuple[str, ...]
    note: str
    place: Place | None = None

    def slot(self, repetition: int, arm: str) -> int | None:
        """When an arm of a repetition ran, counted from 0; None where the order doesn't tell."""
        if not 1 <= repetition <= len(self.pairs):
            return None
        return 2 * (repetition - 1) + self.pairs[repetition - 1].index(arm)

    def candidate_second(self, repetition: int) -> bool | None:
        """Whether the candidate ran after the baseline."""
        return self.pairs[repetition - 1] == "AB" if 1 <= repetition <= len(self.pairs) else None


def order_of(record: ImportedRecord) -> Order:
    """The first order like ``AB, BA, AB`` with an entry for every repetition of the rows."""
    repetitions = max((row.repetition for row in record.rows), default=0)
    texts = [(kept.place, kept.value) for kept in record.kept if kept.value.startswith('"')]
    texts += [(said.place, said.text) for said in record.statements]
    for place, text in texts:
        for found in _PAIRS.finditer(text[:_LONGEST]):
            pairs = tuple(_PAIR.findall(found[0]))
            if len(pairs) == repetitions:
                return Order(pairs, ASSUMED, place)
    return Order((), "the order of the arms is not published")
