"""The A/A calibrations of this host: private files that outlive boots. The newest wins, older ones stay."""

import hashlib
import os
import re
import secrets
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fairtrial.evidence.documents import canonical, commitment, read, sha256_hex
from fairtrial.evidence.files import at_edge, read_bounded, write_atomic
from fairtrial.schema.calibration import Calibration
from fairtrial.schema.errors import EvidenceError
from fairtrial.serve.state import lasting_dir

_FOLDER = "calibrations"
_HOST_FILE = "host-id"
_SECRET_BYTES = 32
_SECRET_TEXT = re.compile(rb"[0-9a-f]{64}\n?")
_MACHINE_IDS = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))
_LIMIT = 4 * 2**20
_SHORT = 16
"""Digits of a digest in a file's name."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The stored calibrations that were asked for, newest first, and what could not be read."""

    calibrations: tuple[Calibration, ...]
    troubles: tuple[str, ...]


def host_id() -> str:
    """The random id of this host: sha256 of 32 random bytes, drawn once, and the machine's own id.

    It says that two trials ran on one host and nothing else of it. A home that several hosts share
    has one set of random bytes; the machine's id keeps the hosts apart.

    Raises:
        UsageError: There is no state directory.
        EvidenceError: The random bytes can't be read or written.
    """
    return hashlib.sha256(_secret() + _machine_id()).hexdigest()


def private_mark(data: bytes) -> str:
    """A mark of private values under this host's key: tells two baselines apart that look alike in public.

    Raises:
        UsageError: There is no state directory.
        EvidenceError: The key can't be read or written.
    """
    return commitment(_secret(), data)


def keep(calibration: Calibration, mark: str) -> Path:
    """Store a calibration; nothing that is stored already is replaced by another trial's.

    Args:
        calibration: What to store.
        mark: Of the baseline's private values (:func:`private_mark`).

    Returns:
        The file.

    Raises:
        UsageError: There is no state directory.
        EvidenceError: It can't be written.
    """
    workloads = sha256_hex(canonical(dict(calibration.workloads)))
    name = f"{_stem(calibration.baseline, mark)}-{workloads[:_SHORT]}.{calibration.run}.json"
    path = lasting_dir(_FOLDER) / name
    write_atomic(path, canonical(calibration) + b"\n", mode=0o600)
    return path


def kept(baseline: str, mark: str, host: str) -> Kept:
    """The stored calibrations of a baseline on this host, newest first.

    Args:
        baseline: Its public digest (:func:`fairtrial.evidence.fingerprints.baseline_digest`).
        mark: Of its private values.
        host: Id of this host.

    Raises:
        UsageError: There is no state directory.
    """
    found: list[Calibration] = []
    troubles: list[str] = []
    for path in sorted(lasting_dir(_FOLDER).glob(f"{_stem(baseline, mark)}-*.json")):
        try:
            one = read(Calibration, read_bounded(path, _LIMIT), where=str(path))
        except EvidenceError as error:
            troubles.append(f"a stored calibration can't be used: {error.line()}")
            continue
        if (one.baseline, one.host) == (baseline, host):
            found.append(one)
    found.sort(key=lambda one: (one.made, one.run), reverse=True)
    return Kept(tuple(found), tuple(troubles))


def _stem(baseline: str, mark: str) -> str:
    return f"{baseline[:_SHORT]}-{mark[:_SHORT]}"


def _secret() -> bytes:
    """The host's random bytes, drawn at the first use."""
    path = lasting_dir(_FOLDER) / _HOST_FILE
    if not path.exists():
        _draw(path)
    text = read_bounded(path, 2 * _SECRET_BYTES + 1)
    if not _SECRET_TEXT.fullmatch(text):
        raise EvidenceError(
            "not the random id of a host",
            where=str(path),
            hint="remove it: another is drawn, and the host's calibrations must be made anew",
        )
    return bytes.fromhex(text.decode("ascii"))


def _draw(path: Path) -> None:
    """Put random bytes in place whole; of two that draw at once the first wins."""
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    write_atomic(fresh, secrets.token_hex(_SECRET_BYTES).encode() + b"\n", mode=0o600)
    try:
        with at_edge("write", path), suppress(FileExistsError):
            os.link(fresh, path)
    finally:
        fresh.unlink(missing_ok=True)


def _machine_id() -> bytes:
    for path in _MACHINE_IDS:
        with suppress(OSError):
            if text := path.read_bytes().strip():
                return text
    return os.uname().nodename.encode()
