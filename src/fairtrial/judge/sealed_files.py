"""Whether what was sealed is still there, also what no number comes from. Pure."""

from collections.abc import Mapping, Sequence

from fairtrial.judge.tables import sealed
from fairtrial.schema.facts import JournalLine, Sealed


def lost_files(lines: Sequence[JournalLine], files: Mapping[str, bytes]) -> tuple[str, ...]:
    """The artifacts that the journal commits to and that are missing, or not the bytes that were sealed.

    Args:
        lines: The journal.
        files: The sealed bytes by artifact id; one after the other is read.
    """
    names = dict.fromkeys(line.fact.artifact for line in lines if isinstance(line.fact, Sealed))
    return tuple(name for name in names if sealed(files, name)[1] is not None)
