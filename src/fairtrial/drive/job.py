"""What the driver is told: all requests of one phase against one launch."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from fairtrial.drive.order import MAX_RESPONSE_BYTES, TimeLimits
from fairtrial.evidence.clock import ClockLike
from fairtrial.profiles.profile import Profile
from fairtrial.schema.cases import Case, cases_of
from fairtrial.schema.plan import FrozenWorkload
from fairtrial.schema.requests import CAPTURE_SCHEMA, TableHeader
from fairtrial.schema.vocab import LoadKind, Phase, StampSource


@dataclass(frozen=True, slots=True)
class Origin:
    """The instant that all offsets of a boot count from."""

    boot: int
    """Ordinal of the boot, from 1."""
    mono_ns: int
    """CLOCK_MONOTONIC."""
    wall_ns: int
    """CLOCK_REALTIME: a label."""

    @classmethod
    def of(cls, clock: ClockLike) -> Self:
        """The origin of a trial's clock."""
        return cls(clock.boot, int(clock.origin_mono_ns), int(clock.origin_wall_ns))


@dataclass(frozen=True, slots=True)
class PhaseJob:
    """All requests of one phase of one workload against one launch."""

    launch: str
    arm: str
    repetition: int
    workload: FrozenWorkload
    phase: Phase
    profile: Profile
    model: str
    base_url: str
    origin: Origin
    directory: Path
    """Where the phase's files go; it must hold no other phase's."""
    limits: TimeLimits = field(default_factory=TimeLimits)
    max_response_bytes: int = MAX_RESPONSE_BYTES
    """Longest response; one that goes on is cut off there and has failed."""
    requests_path: Path | None = None
    """The workload's requests file, where it has one."""
    token: str | None = field(default=None, repr=False)
    """Bearer token, if the server wants one; it goes to the worker and into no file."""

    @property
    def header(self) -> TableHeader:
        """First line of the capture index."""
        return TableHeader(
            schema_=CAPTURE_SCHEMA,
            launch=self.launch,
            workload=self.workload.name,
            phase=self.phase,
            repetition=self.repetition,
            arm=self.arm,
            boot=self.origin.boot,
            origin_mono_ns=str(self.origin.mono_ns),
            origin_wall_ns=str(self.origin.wall_ns),
            stamps=StampSource.USER,
        )

    @property
    def cases(self) -> tuple[Case, ...]:
        """The cases in the order in which they are sent."""
        return cases_of(self.workload, self.phase)

    @property
    def concurrency(self) -> int:
        """Number of requests in flight at the same time."""
        return 1 if self.workload.load is LoadKind.SERIAL else self.workload.concurrency
