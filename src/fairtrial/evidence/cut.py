"""Whether the private index remembers more history than the journal tells. Pure.

Whoever cuts lines off the end of a journal and resumes leaves a chain that holds. What was
sealed after those lines stays in the store's index, with the head of the journal at that moment.
Cutting the index in the same way is not seen here: only a head that was kept elsewhere shows that.
"""

from collections.abc import Iterable
from itertools import pairwise

from fairtrial.evidence.chain import JournalReading
from fairtrial.evidence.index import IndexEntry
from fairtrial.evidence.journal import GROUP
from fairtrial.schema.facts import Sealed


def find_cut(entries: Iterable[IndexEntry], reading: JournalReading, plan_sha256: str) -> tuple[str, ...]:
    """Artifacts whose sealing the journal once told, or must have told, and doesn't tell now.

    One of two things is wrong with each:

    - it was sealed after a line that is not in the journal;
    - it was sealed after a line of the journal, its ``sealed`` fact is missing, and yet more
      than a group of lines (:data:`~fairtrial.evidence.journal.GROUP`) follows that line in the
      same segment. A crash between sealing and recording, or a loss of power before a group was
      durable, is at the end of a segment and within a group: that is no fault.

    Entries without a head say nothing.

    Args:
        entries: The private index. Read it before the journal when a session may be running.
        reading: The journal.
        plan_sha256: Digest of the frozen plan: the head before the first line.

    Returns:
        Their ids, in the order of sealing.
    """
    following = _following(reading, plan_sha256)
    told = {line.fact.artifact for line in reading.lines if isinstance(line.fact, Sealed)}
    return tuple(
        entry.artifact
        for entry in entries
        if entry.head is not None
        and (entry.head not in following or (entry.artifact not in told and following[entry.head] > GROUP))
    )


def _following(reading: JournalReading, plan_sha256: str) -> dict[str, int]:
    """How many lines of the same segment follow each head."""
    total = len(reading.digests)
    after = {plan_sha256: reading.begins[1] if len(reading.begins) > 1 else total}
    for begin, end in pairwise((*reading.begins, total)):
        after |= {reading.digests[at]: end - at - 1 for at in range(begin, end)}
    return after
