"""Notes into the ledger, also while the trial runs: then through an inbox the session empties."""

import secrets
import time
from pathlib import Path

from fairtrial.evidence.files import make_private_dir, read_bounded, write_atomic
from fairtrial.schema.errors import EvidenceError, UsageError
from fairtrial.schema.facts import Noted
from fairtrial.schema.vocab import ArtifactRole
from fairtrial.trial.context import Context

NOTE_LIMIT = 64 * 2**10
"""Largest note in bytes."""


def check_note(text: str) -> bytes:
    """The note's bytes.

    Raises:
        UsageError: It is empty or too long.
    """
    data = text.encode("utf-8", "strict")
    if not text.strip() or len(data) > NOTE_LIMIT:
        raise UsageError(f"a note has 1 to {NOTE_LIMIT} bytes, this one {len(data)}")
    return data


def record_note(context: Context, data: bytes) -> None:
    """Seal a note and record it."""
    number = 1 + sum(1 for fact in context.journal.facts if isinstance(fact, Noted))
    artifact = context.seal(data, f"note-{number}", ArtifactRole.NOTE, None)
    context.record(Noted(artifact=artifact))


def leave_in_inbox(trial: Path, data: bytes) -> None:
    """Leave a note for the session that is running now."""
    make_private_dir(_inbox(trial))
    write_atomic(_inbox(trial) / f"{time.time_ns():020d}-{secrets.token_hex(4)}.note", data, 0o600)


def empty_inbox(context: Context) -> None:
    """Record every note that was left and remove it; one that can't be read is left and said once."""
    inbox = _inbox(context.directory.path)
    if not inbox.is_dir():
        return
    for path in sorted(inbox.glob("*.note")):
        try:
            data = read_bounded(path, NOTE_LIMIT)
        except EvidenceError as error:
            # Whatever lies there, a note must never end a session.
            if path.name not in context.bad_notes:
                context.bad_notes.add(path.name)
                context.watcher.say(f"a note can't be read and is left where it is: {error.line()}")
            continue
        record_note(context, data)
        path.unlink(missing_ok=True)


def _inbox(trial: Path) -> Path:
    return trial / "private" / "inbox"
