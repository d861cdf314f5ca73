"""One phase of a trial as the driver is told it, and the traffic that it is made into."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fairtrial.drive.corpus import Corpus
from fairtrial.drive.message import request_id
from fairtrial.drive.order import MAX_RESPONSE_BYTES, Address, TimeLimits
from fairtrial.drive.request_lines import requests_lines
from fairtrial.drive.stamping import stamp_source
from fairtrial.drive.traffic import Origin, Outgoing, TrafficJob
from fairtrial.profiles.profile import Profile
from fairtrial.schema.client_vocab import Capability, Transport
from fairtrial.schema.requests import CAPTURE_SCHEMA, REQUESTS_SCHEMA, TableHeader
from fairtrial.schema.vocab import LoadKind, Phase
from fairtrial.stats.due_times import due_times

if TYPE_CHECKING:  # reading plans takes longer than sending a request
    from fairtrial.schema.cases import Case
    from fairtrial.schema.plan import FrozenWorkload

MS = 1_000_000


@dataclass(frozen=True, slots=True)
class PhaseJob:
    """All requests of one phase of one workload against one launch."""

    launch: str
    arm: str
    repetition: int
    workload: "FrozenWorkload"
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
    capabilities: frozenset[Capability] | None = None
    """What the server was seen to take when the plan was frozen; None: its profile says it."""
    token: str | None = field(default=None, repr=False)
    """Bearer token, if the server wants one; it goes to the workers and into no file."""

    @property
    def cases(self) -> tuple["Case", ...]:
        """The cases in the order in which they are sent."""
        from fairtrial.schema.cases import cases_of

        return cases_of(self.workload, self.phase)

    @property
    def concurrency(self) -> int:
        """Most requests in flight at the same time."""
        return 1 if self.workload.load is LoadKind.SERIAL else self.workload.concurrency


def traffic_of(job: PhaseJob) -> TrafficJob:
    """The traffic of a phase; its requests are built as they are taken.

    Raises:
        UsageError: The address or the requests file can't be used.
    """
    workload = job.workload
    address = Address.parse(job.base_url)
    lines = requests_lines(workload, job.requests_path)
    corpus = Corpus(workload, job.profile, job.model, lines, job.capabilities)
    return TrafficJob(
        address=address,
        route=job.profile.paths[workload.endpoint],
        requests=_outgoing(job, corpus),
        load=workload.load,
        concurrency=job.concurrency,
        processes=workload.client_processes,
        limits=job.limits,
        max_response_bytes=job.max_response_bytes,
        ramp_ns=workload.ramp_ms * MS,
        origin=job.origin,
        directory=job.directory,
        capture_header=_header(job, address, CAPTURE_SCHEMA),
        table_header=_header(job, address, REQUESTS_SCHEMA),
        token=job.token,
    )


def _outgoing(job: PhaseJob, corpus: Corpus) -> Iterator[Outgoing]:
    cases = job.cases
    due = due_times(job.workload, job.phase, job.repetition, len(cases))
    for sequence, (case, due_ns) in enumerate(zip(cases, due, strict=True)):
        name = request_id(job.launch, job.workload.name, job.phase, sequence)
        yield Outgoing(sequence, case.name, name, corpus.body(case, job.repetition), due_ns)


def _header(
    job: PhaseJob, address: Address, schema: Literal["fairtrial.requests/v1", "fairtrial.capture/v1"]
) -> TableHeader:
    return TableHeader(
        schema=schema,
        launch=job.launch,
        workload=job.workload.name,
        phase=job.phase,
        repetition=job.repetition,
        arm=job.arm,
        boot=job.origin.boot,
        origin_mono_ns=str(job.origin.mono_ns),
        origin_wall_ns=str(job.origin.wall_ns),
        transport=Transport.OWN,
        stamps=stamp_source(address, Transport.OWN),
    )
