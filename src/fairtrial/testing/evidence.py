"""A small complete trial's evidence, fabricated in memory: plan, journal, tables, captures, counters.

Everything in it is what a real run leaves, down to the HTTP bytes; only no server ever ran.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from fairtrial.decode.record import decode_capture
from fairtrial.evidence.documents import canonical, commitment, json_line, sha256_hex
from fairtrial.evidence.evidence_set import EvidenceSet
from fairtrial.profiles.registry import profile
from fairtrial.schema.cases import Case, cases_of
from fairtrial.schema.client import ClientReport
from fairtrial.schema.client_vocab import Transport
from fairtrial.schema.facts import (
    BaselineRestored,
    BaselineRestoring,
    BaselineTakenDown,
    Closed,
    CountersRead,
    Fact,
    HostLoad,
    JournalLine,
    LaunchEnded,
    LaunchReady,
    LaunchStarted,
    LaunchStarting,
    LaunchStopping,
    Opened,
    PhaseEnded,
    PhaseStarted,
    Sealed,
    StartState,
    WindowClosed,
    WindowOpened,
)
from fairtrial.schema.identity import Geometry, Identity
from fairtrial.schema.plan import Conversations, FrozenPlan
from fairtrial.schema.requests import CAPTURE_SCHEMA, REQUESTS_SCHEMA, TableHeader
from fairtrial.schema.schedule import LaunchPlan, WindowPlan, schedule
from fairtrial.schema.vocab import (
    ArtifactRole,
    Counter,
    CounterPoint,
    EndedBy,
    LaunchPurpose,
    Outcome,
    Phase,
    Proof,
    ServiceState,
    StampSource,
    WindowOutcome,
)
from fairtrial.stats.due_times import due_times
from fairtrial.testing.client_reports import client_report
from fairtrial.testing.replies import MODEL, MS, Reply, Traffic, request_id
from fairtrial.testing.small_plan import ROW_PERCENT, small_plan

RUN = "run-of-a-test"
ORIGIN_MONO = "5000000000"
ORIGIN_WALL = "1790000000000000000"
TableSchema = Literal["fairtrial.requests/v1", "fairtrial.capture/v1"]
_POINTS = {
    Phase.WARMUP: CounterPoint.AFTER_WARMUP,
    Phase.PRIME: CounterPoint.AFTER_PRIME,
    Phase.MEASURED: CounterPoint.AFTER_MEASURED,
}


@dataclass(frozen=True, slots=True)
class Where:
    """What a fabricated server is being asked in."""

    workload: str
    repetition: int
    arm: str
    phase: Phase


def default_reply(where: Where, case: Case) -> Reply:
    """Misses at 40 to 46 ms; in ``returning``, B hits the host tier in half the time.

    Prompt ``n`` takes ``2 * n`` ms longer in both arms, a repetition more 1 ms longer in both.
    """
    late = 2.0 * case.prompt + (where.repetition - 1)
    hit = where.phase is Phase.MEASURED and where.workload == "returning" and where.arm == "B"
    return Reply(ttft_ms=(40 + late) / 2, cached_host=16) if hit else Reply(ttft_ms=40 + late)


def default_counts(where: Where) -> Mapping[Counter, int]:
    """Two rows of pressure in A for each phase of ``returning``; requests as sent."""
    pressed = where.workload == "returning" and where.arm == "A" and where.phase is not Phase.WARMUP
    return {Counter.ROW_PRESSURE: 2 if pressed else 0, Counter.REQUESTS: 4}


def default_identity(plan: FrozenPlan, arm: str, launch: str) -> Identity:
    """The engine's own words: the same for every launch of an arm."""
    del launch
    percent = plan.arm(arm).recipe.options.get(ROW_PERCENT)
    percent = percent if isinstance(percent, int) and percent else 50
    rows, pages = percent, 100 - percent
    geometry = Geometry(
        pool_bytes=102_400,
        row_percent=percent,
        row_bytes=1024,
        page_bytes=1024,
        rows=rows,
        pages=pages,
        slack_bytes=0,
    )
    return Identity(
        engine="test",
        version="1",
        model=MODEL,
        model_sha256=None,
        max_model_len=128,
        geometry=geometry,
        settings={},
    )


@dataclass(slots=True)
class Script:
    """How the fabricated trial went. Every hook has a harmless default."""

    plan: FrozenPlan = field(default_factory=small_plan)
    reply: Callable[[Where, Case], Reply] = default_reply
    counts: Callable[[Where], Mapping[Counter, int]] = default_counts
    identity: Callable[[FrozenPlan, str, str], Identity] = default_identity
    restored: Callable[[str], Proof] = lambda _: Proof.TRUE
    client: Callable[[Where, ClientReport], ClientReport | None] = lambda _, report: report
    """The client's report of a phase, from the punctual one; None: it made none."""
    host: Callable[[Where, HostLoad], HostLoad | None] = lambda _, load: load
    """Processor time over a phase, from a host that does nothing else; None: it was not recorded."""
    windows: Callable[[Sequence[WindowPlan]], Sequence[WindowPlan]] = lambda planned: planned
    """The windows that ran, in the order in which they ran."""


def fabricate(script: Script | None = None) -> EvidenceSet:
    """The evidence of a trial that went as the script says."""
    return _Run(script or Script()).evidence()


def with_files(evidence: EvidenceSet, changes: Mapping[str, bytes | None]) -> EvidenceSet:
    """The evidence with some sealed files replaced, or gone where the change is None."""
    files = {**evidence.files, **{name: data for name, data in changes.items() if data is not None}}
    for name, data in changes.items():
        if data is None:
            files.pop(name, None)
    return replace(evidence, files=files)


def with_facts(evidence: EvidenceSet, facts: Iterable[Fact]) -> EvidenceSet:
    """The evidence with another journal, correctly chained, one millisecond a line."""
    timed = [(fact, number * MS) for number, fact in enumerate(facts)]
    lines, head = chain(evidence.plan_sha256, timed)
    return replace(evidence, lines=lines, head=head)


def chain(plan_sha256: str, facts: Iterable[tuple[Fact, int]]) -> tuple[tuple[JournalLine, ...], str]:
    """Journal lines from facts with their offsets, and the digest of the last."""
    prev, lines = plan_sha256, []
    for number, (fact, mono_ns) in enumerate(facts):
        line = JournalLine(
            seq=number, prev=prev, t="2026-11-30T12:00:00Z", mono_ns=mono_ns, boot=1, fact=fact
        )
        lines.append(line)
        prev = sha256_hex(canonical(line))
    return tuple(lines), prev


class _Run:
    def __init__(self, script: Script) -> None:
        self.script = script
        self.plan = script.plan
        self.facts: list[tuple[Fact, int]] = []
        self.files: dict[str, bytes] = {}
        self.now_ns = 0
        self.launched = 0

    def evidence(self) -> EvidenceSet:
        digest = sha256_hex(canonical(self.plan))
        self.note(
            Opened(run=RUN, plan_sha256=digest, origin_mono_ns=ORIGIN_MONO, origin_wall_ns=ORIGIN_WALL),
            StartState(state=ServiceState.NOTHING),
        )
        planned = schedule(self.plan)
        ran = self.script.windows(planned)
        for window in ran:
            self.window(window)
        self.note(Closed(windows=len(ran), launches=self.launched, complete=len(ran) == len(planned)))
        lines, head = chain(digest, self.facts)
        return EvidenceSet(self.plan, digest, lines, head, self.files)

    def note(self, *facts: Fact) -> None:
        for fact in facts:
            self.now_ns += MS
            self.facts.append((fact, self.now_ns))

    def seal(self, artifact: str, role: ArtifactRole, data: bytes, launch: str) -> str:
        key = sha256_hex(artifact.encode()).encode()
        self.files[artifact] = data
        self.note(
            Sealed(
                artifact=artifact,
                role=role,
                commitment=commitment(key, data),
                size=len(data),
                launch=launch,
            )
        )
        return artifact

    def window(self, plan: WindowPlan) -> None:
        name = f"{plan.name}.1"
        self.note(
            WindowOpened(window=name, repetition=plan.repetition, arm=plan.arm, attempt=1),
            BaselineTakenDown(window=name, state=ServiceState.NOTHING, proof=Proof.TRUE),
        )
        for launch in plan.launches:
            self.launch(name, launch)
        proof = self.script.restored(plan.name)
        self.note(
            BaselineRestoring(window=name, attempt=1),
            BaselineRestored(window=name, state=ServiceState.NOTHING, proof=proof),
            WindowClosed(window=name, outcome=WindowOutcome.COMPLETED),
        )

    def launch(self, window: str, plan: LaunchPlan) -> None:
        name = f"{plan.name}.1"
        self.launched += 1
        identity = canonical(self.script.identity(self.plan, plan.arm, name))
        self.note(
            LaunchStarting(
                launch=name,
                purpose=LaunchPurpose.MEASURE,
                window=window,
                arm=plan.arm,
                workloads=plan.workloads,
                port=8000,
                identities=self.plan.arm(plan.arm).recipe.identities,
            ),
            LaunchStarted(launch=name, pid=1000 + self.launched, started_ticks=5000 + self.launched),
        )
        artifact = self.seal(f"{name}-identity", ArtifactRole.IDENTITY, identity, name)
        self.note(_ready(name, sha256_hex(identity), artifact))
        for workload in plan.workloads:
            self.workload(name, plan, workload)
        self.note(
            LaunchStopping(launch=name),
            LaunchEnded(
                launch=name,
                ended_by=EndedBy.TERMINATED,
                exit_code=0,
                tree_gone=Proof.TRUE,
                port_free=Proof.TRUE,
                log=None,
            ),
        )

    def workload(self, launch: str, plan: LaunchPlan, workload: str) -> None:
        totals: dict[Counter, int] = {}
        self.read_counters(launch, plan.arm, workload, CounterPoint.READY, totals)
        for phase, point in _POINTS.items():
            where = Where(workload, plan.repetition, plan.arm, phase)
            self.phase(launch, where)
            for counter, rise in self.script.counts(where).items():
                totals[counter] = totals.get(counter, 0) + rise
            self.read_counters(launch, plan.arm, workload, point, totals)

    def read_counters(
        self, launch: str, arm: str, workload: str, point: CounterPoint, totals: Mapping[Counter, int]
    ) -> None:
        names = profile(self.plan.arm(arm).recipe.profile).counters
        page = "".join(
            f"# TYPE {name} counter\n{name} {totals.get(counter, 0)}\n" for counter, name in names.items()
        )
        artifact = self.seal(
            f"{launch}-{workload}-{point.value}", ArtifactRole.COUNTERS, page.encode(), launch
        )
        self.note(CountersRead(launch=launch, workload=workload, point=point, artifact=artifact))

    def phase(self, launch: str, where: Where) -> None:
        cases = cases_of(self.plan.workload(where.workload), where.phase)
        self.note(
            PhaseStarted(launch=launch, workload=where.workload, phase=where.phase, expected=len(cases))
        )
        if not cases:
            return
        workload = self.plan.workload(where.workload)
        source = workload.source
        asked = source.output_tokens if isinstance(source, Conversations) else None
        started, traffic, records = self.now_ns, Traffic(self.now_ns, asked), []
        due = due_times(workload, where.phase, where.repetition, len(cases))
        for number, (case, offset) in enumerate(zip(cases, due, strict=True)):
            name = request_id(launch, where.workload, where.phase.value, number)
            due_ns = None if offset is None else started + offset
            asked_for = traffic.ask(name, case, number, self.script.reply(where, case), due_ns)
            records.append(decode_capture(*asked_for))
        self.now_ns = traffic.now_ns
        failed = sum(1 for record in records if record.outcome is not Outcome.OK)
        stem = f"{launch}-{where.workload}-{where.phase.value}"
        report = client_report(self.plan.workload(where.workload), traffic.captures)
        stated = self.script.client(where, report)
        client = None if stated is None else json_line(stated)
        index = _table(_header(CAPTURE_SCHEMA, launch, where), traffic.captures)
        table = _table(_header(REQUESTS_SCHEMA, launch, where), records)
        self.note(
            PhaseEnded(
                launch=launch,
                workload=where.workload,
                phase=where.phase,
                attempted=len(cases),
                failed=failed,
                started_ns=started,
                ended_ns=traffic.captures[-1].done_ns,
                requests=self.seal(f"{stem}-requests", ArtifactRole.REQUESTS, table, launch),
                capture_index=self.seal(f"{stem}-index", ArtifactRole.CAPTURE_INDEX, index, launch),
                capture_bytes=self.seal(
                    f"{stem}-response", ArtifactRole.CAPTURE_BYTES, bytes(traffic.response), launch
                ),
                sent_bytes=self.seal(f"{stem}-sent", ArtifactRole.SENT_BYTES, bytes(traffic.sent), launch),
                client=client and self.seal(f"{stem}-client", ArtifactRole.CLIENT, client, launch),
                host=self.script.host(where, _quiet(traffic.captures[-1].done_ns - started)),
            )
        )


def _quiet(wall_ns: int) -> HostLoad:
    """A host of eight processors on which only the server and its client work: half of one and a tenth."""
    server, own = wall_ns // 2, wall_ns // 10
    return HostLoad(wall_ns=wall_ns, processors=8, busy_ns=server + own, own_ns=own, server_ns=server)


def _ready(launch: str, identity: str, artifact: str) -> LaunchReady:
    return LaunchReady(
        launch=launch,
        alive=Proof.TRUE,
        port_ours=Proof.TRUE,
        healthy=Proof.TRUE,
        model=Proof.TRUE,
        answers=Proof.TRUE,
        identity=identity,
        identity_artifact=artifact,
    )


def _header(schema: TableSchema, launch: str, where: Where) -> TableHeader:
    return TableHeader(
        schema=schema,
        launch=launch,
        workload=where.workload,
        phase=where.phase,
        repetition=where.repetition,
        arm=where.arm,
        boot=1,
        origin_mono_ns=ORIGIN_MONO,
        origin_wall_ns=ORIGIN_WALL,
        transport=Transport.OWN,
        stamps=StampSource.KERNEL,
    )


def _table(header: TableHeader, rows: Iterable[object]) -> bytes:
    return b"".join(json_line(row) for row in (header, *rows))
