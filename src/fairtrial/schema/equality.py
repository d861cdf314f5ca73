"""Whether the arms of a pair did the same work and gave the same output, case by case."""

from collections.abc import Iterable

from fairtrial.schema.base import Record
from fairtrial.schema.types import ArmName, Count, Identifier, Positive
from fairtrial.schema.vocab import Equality

SHOWN_UNMATCHED = 20
"""Most cases that are named in a count."""


class EqualityCount(Record):
    """Equality over the paired cases; every declared case is in one of the counts."""

    matched: Count
    unmatched: Count
    ids_absent: Count
    missing: Count
    failed: Count
    """Pairs in which a request failed: counted as failures, and no evidence of equal or other work."""
    unmatched_cases: tuple[Identifier, ...]  # at most twenty, in case order

    @property
    def comparable(self) -> int:
        """Pairs that could be compared, were everything known of them: those that didn't fail."""
        return self.matched + self.unmatched + self.ids_absent + self.missing


def counted(answers: Iterable[tuple[str, Equality]]) -> EqualityCount:
    """The count of answers by case."""
    by_answer: dict[Equality, list[str]] = {answer: [] for answer in Equality}
    for case, answer in answers:
        by_answer[answer].append(case)
    return EqualityCount(
        matched=len(by_answer[Equality.MATCHED]),
        unmatched=len(by_answer[Equality.UNMATCHED]),
        ids_absent=len(by_answer[Equality.IDS_ABSENT]),
        missing=len(by_answer[Equality.MISSING]),
        failed=len(by_answer[Equality.FAILED]),
        unmatched_cases=tuple(by_answer[Equality.UNMATCHED][:SHOWN_UNMATCHED]),
    )


def pooled(counts: Iterable[EqualityCount]) -> EqualityCount:
    """The sum of the counts of several cells; cases of which have one name in each, so none is named."""
    every = tuple(counts)
    return EqualityCount(
        matched=sum(count.matched for count in every),
        unmatched=sum(count.unmatched for count in every),
        ids_absent=sum(count.ids_absent for count in every),
        missing=sum(count.missing for count in every),
        failed=sum(count.failed for count in every),
        unmatched_cases=(),
    )


class CellEquality(Record):
    """Work and output of the pairs of one cell."""

    workload: Identifier
    repetition: Positive
    candidate: ArmName
    work: EqualityCount
    output: EqualityCount


class PairedEquality(Record):
    """Work and output of one case of one cell."""

    case: Identifier
    work: Equality
    output: Equality
