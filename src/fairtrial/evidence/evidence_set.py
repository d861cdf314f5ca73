"""Everything a judgment is made of: plan, journal, sealed files. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from fairtrial.schema.facts import JournalLine
from fairtrial.schema.plan import FrozenPlan


@dataclass(frozen=True, slots=True)
class EvidenceSet:
    """The input of the judge and of every recomputation."""

    plan: FrozenPlan
    plan_sha256: str
    lines: tuple[JournalLine, ...]
    head: str
    """sha256 of the last journal line's bytes."""
    files: Mapping[str, bytes]
    """Sealed bytes by artifact id. A missing artifact is a KeyError, never empty bytes."""
    cut: tuple[str, ...] = ()
    """Artifacts that prove that the journal was longer once (:mod:`fairtrial.evidence.cut`)."""
