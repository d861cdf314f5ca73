"""A trial directory read into everything that a judgment is made of."""

from pathlib import Path

from fairtrial.evidence import chain, documents, files, strictjson
from fairtrial.evidence.cut import find_cut
from fairtrial.evidence.evidence_set import EvidenceSet
from fairtrial.evidence.journal import read_journal
from fairtrial.evidence.store import Store
from fairtrial.schema.errors import EvidenceError
from fairtrial.schema.facts import JournalLine, Sealed
from fairtrial.schema.plan import FrozenPlan

PLAN_FILE = "plan.frozen.json"
JOURNAL = "journal"
WORK = "work"
PLAN_LIMIT = 16 * 2**20
"""Largest frozen plan in bytes."""


def load_plan(directory: Path) -> tuple[FrozenPlan, str]:
    """The frozen plan of a trial and its digest.

    Returns:
        The plan, and the sha256 of its bytes.

    Raises:
        EvidenceError: It is missing, unreadable, not a frozen plan, or not canonical JSON.
    """
    path = directory / PLAN_FILE
    data = files.read_bounded(path, PLAN_LIMIT)
    plan = documents.read(FrozenPlan, data, where=str(path))
    if documents.canonical(strictjson.loads(data, where=str(path))) != data:
        raise EvidenceError("not in canonical form (RFC 8785): edited after freezing?", where=str(path))
    return plan, documents.sha256_hex(data)


def load_evidence(directory: Path) -> EvidenceSet:
    """Read the plan, check the journal's chain, and give access to the sealed files.

    Each file is checked against size, digest and the journal's commitment when it is asked for.

    Args:
        directory: Of the trial: ``plan.frozen.json``, ``journal/``, ``objects/``, ``private/``.

    Raises:
        EvidenceError: Plan, journal or index are missing, damaged or contradict each other, or
            the journal does not begin with ``opened``.
    """
    plan, plan_sha256 = load_plan(directory)
    store = Store.open(directory)
    # Before the journal: what a running session seals from now on may be missing in our journal.
    entries = store.entries()
    reading = read_journal(directory / JOURNAL, plan_sha256)
    chain.expect_opened(reading, str(directory / JOURNAL))
    sealed = _sealed_once(reading.lines)
    store.refresh()
    return EvidenceSet(
        plan=plan,
        plan_sha256=plan_sha256,
        lines=reading.lines,
        head=reading.head,
        files=store.files(sealed),
        cut=find_cut(entries, reading, plan_sha256),
    )


def _sealed_once(lines: tuple[JournalLine, ...]) -> tuple[Sealed, ...]:
    found: dict[str, Sealed] = {}
    for line in lines:
        if not isinstance(line.fact, Sealed):
            continue
        if found.setdefault(line.fact.artifact, line.fact) != line.fact:
            raise EvidenceError(f"record {line.seq} seals {line.fact.artifact} again, as something else")
    return tuple(found.values())
