"""The clocks of a trial: offsets from the origin of each boot, and wall-clock labels."""

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal, Protocol

from pydantic import Field

from fairtrial.evidence import documents, files
from fairtrial.schema.base import Record
from fairtrial.schema.types import AbsoluteNs, Positive, Text

BOOTS_FILE = "boots.json"
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_BOOTS_LIMIT = 2**20
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PAIR_TRIES = 5


class ClockLike(Protocol):
    """What the journal and the client need of a clock."""

    @property
    def boot(self) -> int:
        """Ordinal of this boot in the trial, from 1."""

    @property
    def origin_mono_ns(self) -> str:
        """CLOCK_MONOTONIC at the origin of this boot, nanoseconds as a decimal string."""

    @property
    def origin_wall_ns(self) -> str:
        """CLOCK_REALTIME at the origin of this boot, nanoseconds as a decimal string."""

    def offset_ns(self) -> int:
        """Nanoseconds since the origin of this boot."""

    def utc(self) -> str:
        """The wall clock as a label, in UTC with microseconds."""

    def step_ms(self) -> int:
        """How far the wall clock moved against the monotonic clock since the last call."""


class Boot(Record):
    """One boot of the machine, as the trial knows it."""

    boot_id: Text
    """The kernel's random id of the boot; private."""
    boot: Positive
    origin_mono_ns: AbsoluteNs
    origin_wall_ns: AbsoluteNs


class Boots(Record):
    """Every boot during which the trial had a session."""

    schema_: Literal["fairtrial.boots/v1"] = Field(default="fairtrial.boots/v1", alias="schema")
    boots: tuple[Boot, ...]


class Clock:
    """The clocks of this machine, with the origin of its present boot."""

    def __init__(self, boot: Boot) -> None:
        self._boot = boot
        self._origin = int(boot.origin_mono_ns)
        mono, wall = _pair()
        self._drift = wall - mono

    @classmethod
    def open(cls, private_dir: Path) -> "Clock":
        """The clock of a trial; the first session of a boot sets the boot's origin.

        Args:
            private_dir: The trial's private directory, where ``boots.json`` is kept.

        Raises:
            EvidenceError: The kernel's boot id or ``boots.json`` can't be read or written.
        """
        files.make_private_dir(private_dir)
        path = private_dir / BOOTS_FILE
        known = _known_boots(path)
        boot_id = _boot_id()
        mono, wall = _pair()
        last = next((boot for boot in reversed(known) if boot.boot_id == boot_id), None)
        # A machine restored from a snapshot keeps its boot id while its clock goes back: a new origin.
        if last is not None and int(last.origin_mono_ns) <= mono:
            return cls(last)
        new = Boot(
            boot_id=boot_id,
            boot=len(known) + 1,
            origin_mono_ns=str(mono),
            origin_wall_ns=str(wall),
        )
        files.write_atomic(path, documents.canonical(Boots(boots=(*known, new))) + b"\n", mode=0o600)
        return cls(new)

    @property
    def boot(self) -> int:
        """Ordinal of this boot in the trial, from 1."""
        return self._boot.boot

    @property
    def origin_mono_ns(self) -> str:
        """CLOCK_MONOTONIC at the origin of this boot, nanoseconds as a decimal string."""
        return self._boot.origin_mono_ns

    @property
    def origin_wall_ns(self) -> str:
        """CLOCK_REALTIME at the origin of this boot, nanoseconds as a decimal string."""
        return self._boot.origin_wall_ns

    def offset_ns(self) -> int:
        """Nanoseconds of CLOCK_MONOTONIC since the origin of this boot."""
        return time.monotonic_ns() - self._origin

    def utc(self) -> str:
        """CLOCK_REALTIME as a label, in UTC with microseconds."""
        return utc_label(time.time_ns())

    def step_ms(self) -> int:
        """Milliseconds that CLOCK_REALTIME moved against CLOCK_MONOTONIC since the last call.

        What is less than a millisecond is kept for the next call, so that slow drift adds up.
        """
        mono, wall = _pair()
        step = round((wall - mono - self._drift) / 1e6)
        self._drift += step * 1_000_000
        return step


def utc_label(wall_ns: int) -> str:
    """Nanoseconds since 1970 as a UTC label with microseconds."""
    moment = _EPOCH + timedelta(microseconds=wall_ns // 1000)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _pair() -> tuple[int, int]:
    """Both clocks at one moment: the tightest of a few tries, as the process may be interrupted."""
    readings = [(time.monotonic_ns(), time.time_ns(), time.monotonic_ns()) for _ in range(_PAIR_TRIES)]
    before, wall, after = min(readings, key=lambda reading: reading[2] - reading[0])
    return (before + after) // 2, wall


def _boot_id() -> str:
    with files.at_edge("read the boot id", _BOOT_ID):
        return _BOOT_ID.read_text("ascii").strip()


def _known_boots(path: Path) -> tuple[Boot, ...]:
    if not path.exists():
        return ()
    data = files.read_bounded(path, _BOOTS_LIMIT)
    return documents.read(Boots, data, where=str(path)).boots
