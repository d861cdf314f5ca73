"""Amendments of the plan as the journal and their sealed documents tell them. Pure."""

from collections.abc import Iterable, Mapping

from fairtrial.evidence.strictjson import loads
from fairtrial.judge.tables import clip
from fairtrial.schema.errors import EvidenceError
from fairtrial.schema.facts import Amended, JournalLine
from fairtrial.schema.judgment import PlanAmendment

_NO_REASON = "its reason is not there"


def plan_amendments(lines: Iterable[JournalLine], files: Mapping[str, bytes]) -> tuple[PlanAmendment, ...]:
    """Every amendment, oldest first; one whose document can't be read stays, without its keys."""
    return tuple(amendment_of(line.t, line.fact, files) for line in lines if isinstance(line.fact, Amended))


def amendment_of(at: str, fact: Amended, files: Mapping[str, bytes]) -> PlanAmendment:
    """One amendment with what its sealed document says."""
    keys, reason = _document(files, fact.artifact)
    return PlanAmendment(
        artifact=fact.artifact, at=at, retroactive=fact.retroactive, keys=keys, reason=reason
    )


def in_words(amendment: PlanAmendment) -> str:
    """What was changed and why, e.g. ``changed limits.cooldown_ms; reason: it ran hot``."""
    changed = ", ".join(amendment.keys) or "unknown: its document can't be read"
    return f"changed {changed}; reason: {amendment.reason}"


def _document(files: Mapping[str, bytes], artifact: str) -> tuple[tuple[str, ...], str]:
    """The changed keys and the reason; the plan in it is read where the plan in force is made."""
    try:
        document = loads(files[artifact], where=artifact)
    except (KeyError, EvidenceError):
        return (), _NO_REASON
    found: Mapping[object, object] = document if isinstance(document, dict) else {}
    keys, reason = found.get("keys"), found.get("reason")
    listed = keys if isinstance(keys, list) else []
    return (
        tuple(clip(key) for key in listed if isinstance(key, str)),
        clip(" ".join(reason.split())) if isinstance(reason, str) else _NO_REASON,
    )
