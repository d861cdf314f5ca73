"""Workloads: what is sent, how often, and what it must show."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fairtrial.plan.load import LOAD_KEYS, check_length, read_loads
from fairtrial.plan.reader import IDENTIFIER, IDENTIFIER_HINT, Table, kind
from fairtrial.plan.request_files import RequestLines, read_request_lines
from fairtrial.plan.requirements import read_requirements
from fairtrial.schema.plan import Conversations, FrozenWorkload, Phases, RequestsFile
from fairtrial.schema.vocab import Endpoint, Phase, Replay

_KNOWN = (
    "conversations",
    "requests",
    *LOAD_KEYS,
    "endpoint",
    "phases",
    "token_ids",
    "seed",
    "must",
    "show",
)
_DEFAULT_WARMUP = 3
_MOST_REQUESTS = 10_000_000


@dataclass(frozen=True, slots=True)
class WorkloadContext:
    """What a workload needs to know of the plan around it."""

    seed: int
    """Seed of the design: the default seed of every workload comes from it."""
    corpus_per_repetition: bool
    prompt_limit: int | None
    """Longest prompt plus output in tokens, where an arm's engine has a known one."""
    without_ids: tuple[str, ...]
    """Engine profiles of arms that never give output token ids."""


@dataclass(frozen=True, slots=True)
class Workloads:
    """All workloads after lists of concurrency and of rates became one workload a value."""

    frozen: tuple[FrozenWorkload, ...]
    files: Mapping[str, Path]
    """Requests file of each workload that has one."""
    groups: Mapping[str, tuple[str, ...]]
    """Names of the workloads that each declared name stands for."""


@dataclass(frozen=True, slots=True)
class _Source:
    source: Conversations | RequestsFile
    endpoint: Endpoint | None = None
    """The one that the bodies of a requests file are for."""
    file: Path | None = None


def phase_counts(phases: Phases) -> dict[Phase, int]:
    """Number of requests by phase, without making the cases."""
    return {Phase.WARMUP: phases.warmup, Phase.PRIME: phases.prime, Phase.MEASURED: phases.measured}


def read_workloads(plan: Table, context: WorkloadContext) -> Workloads:
    """Read every ``[workloads.NAME]``; every fault becomes a problem."""
    table = plan.table("workloads")
    if table is None or not table.values:
        if "workloads" not in plan or table is not None:
            plan.missing("workloads", "declare at least one [workloads.NAME]")
        return Workloads((), {}, {})
    frozen: dict[str, FrozenWorkload] = {}
    files: dict[str, Path] = {}
    groups: dict[str, tuple[str, ...]] = {}
    for declared in table.values:
        inner = table.table(declared)
        if inner is None:
            continue
        expanded, file = _workload(inner, _name(table, declared), context)
        for workload in expanded:
            if workload.name in frozen:
                inner.findings.problem(inner.path, f"duplicate workload name {workload.name!r}")
            frozen[workload.name] = workload
            if file is not None:
                files[workload.name] = file
        groups[declared] = tuple(workload.name for workload in expanded)
    return Workloads(tuple(frozen.values()), files, groups)


def _name(table: Table, declared: str) -> str:
    if IDENTIFIER.fullmatch(declared):
        return declared
    table.wrong(declared, f"{declared[:60]!r} is not a plain name", IDENTIFIER_HINT)
    # A stand-in that differs for each, so that reading goes on without further problems.
    return f"stand-in-{hashlib.sha256(declared.encode()).hexdigest()[:16]}"


def _workload(
    table: Table, name: str, context: WorkloadContext
) -> tuple[tuple[FrozenWorkload, ...], Path | None]:
    before = len(table.findings.problems)
    table.only(*_KNOWN)
    source = _source(table, context.prompt_limit)
    conversations = source.source if isinstance(source.source, Conversations) else None
    requirements = read_requirements(table, conversations.output_tokens if conversations else None)
    phases = _phases(table, source.source)
    endpoint = _endpoint(table, source)
    seed = table.integer("seed", 0) if "seed" in table else None
    token_ids = _token_ids(table, context, default=conversations is not None)
    workloads = []
    loads = read_loads(table)
    if len(table.findings.problems) == before:
        for load in loads:
            check_length(table, load, phases)
    for load in loads:
        full = _expanded_name(table, name, load.key, load.suffix)
        workloads.append(
            FrozenWorkload(
                name=full,
                load=load.kind,
                concurrency=load.concurrency,
                arrivals=load.arrivals,
                ramp_ms=load.ramp_ms,
                client_processes=load.processes,
                endpoint=endpoint,
                source=source.source,
                phases=phases,
                seed=_default_seed(context.seed, full) if seed is None else seed,
                corpus_per_repetition=context.corpus_per_repetition,
                token_ids=token_ids,
                requirements=requirements,
            )
        )
    return tuple(workloads), source.file


def _token_ids(table: Table, context: WorkloadContext, *, default: bool) -> bool:
    """Ids are compared between arms: all arms' engines must give them."""
    asked = table.switch("token_ids", default=default and not context.without_ids)
    if not asked or not context.without_ids:
        return asked
    names = ", ".join(context.without_ids)
    hint = "leave it out, or name the engine's own profile"
    table.wrong("token_ids", f"no token ids are given by the engine profile {names}", hint)
    return False


def _default_seed(seed: int, name: str) -> int:
    """Each workload gets prompts of its own, so that none finds another's in a cache."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{name}".encode()).digest()[:4], "big")


def _expanded_name(table: Table, name: str, key: str, suffix: str) -> str:
    full = f"{name}{suffix}"
    if not IDENTIFIER.fullmatch(full):
        table.wrong(key, f"the name {full[:20]}... is too long with its {key}")
        return name
    return full


def _source(table: Table, prompt_limit: int | None) -> _Source:
    both = "conversations" in table and "requests" in table
    if both:
        table.wrong("requests", "a workload has conversations or requests, not both")
    if "requests" in table:
        lines = _request_lines(table)
        if lines is not None:
            return _Source(
                RequestsFile(sha256=lines.sha256, count=lines.count),
                lines.endpoint,
                lines.path,
            )
    elif "conversations" in table:
        inner = table.table("conversations")
        if inner is not None:
            return _Source(_conversations(inner, prompt_limit))
    else:
        table.findings.problem(
            table.path,
            "sends nothing: conversations or requests is missing",
            "conversations = { count = 12, input_tokens = 512, output_tokens = 1 }, or a JSONL file",
        )
    stand_in = Conversations(
        count=_MOST_REQUESTS, input_tokens=1, output_tokens=2, replay=Replay.FORWARD, fixed_output=True
    )
    return _Source(stand_in)


def _request_lines(table: Table) -> RequestLines | None:
    text = table.text("requests")
    if not text.strip():
        return None
    lines, problems = read_request_lines(table.findings.folder / Path(text), text)
    for where, message, hint in problems:
        table.findings.problem_in(where or None, (*table.path, "requests"), message, hint)
    return lines


def _conversations(table: Table, limit: int | None) -> Conversations:
    table.only("count", "input_tokens", "output_tokens", "replay", "natural")
    for key in ("count", "input_tokens", "output_tokens"):
        if key not in table:
            table.missing(key)
    # Stand-ins are chosen so that they cause no further problem.
    count = table.integer("count", _MOST_REQUESTS, 1, _MOST_REQUESTS)
    inputs = table.integer("input_tokens", 1, 1)
    outputs = table.integer("output_tokens", 2, 1)
    if limit is not None and inputs + outputs > limit:
        table.wrong("input_tokens", f"{inputs} + {outputs} tokens are more than the engine's {limit}")
    return Conversations(
        count=count,
        input_tokens=inputs,
        output_tokens=outputs,
        replay=table.word("replay", Replay.NONE),
        fixed_output=not table.switch("natural", default=False),
    )


def _phases(table: Table, source: Conversations | RequestsFile) -> Phases:
    inner = table.table("phases") or Table(table.findings, (*table.path, "phases"), {})
    inner.only("warmup", "prime", "measured")
    count = source.count
    returns = isinstance(source, Conversations) and source.replay is not Replay.NONE
    from_file = isinstance(source, RequestsFile)
    usual = min(_DEFAULT_WARMUP, count) if from_file else _DEFAULT_WARMUP
    warmup = inner.integer("warmup", usual, 0, _MOST_REQUESTS)
    prime = inner.integer("prime", count if returns else 0)
    if prime > count:
        inner.wrong("prime", f"{prime} is more than the {count} {_units(source)} there are")
    if from_file and warmup > count:
        inner.wrong("warmup", f"{warmup} is more than the {count} requests there are")
    if isinstance(source, Conversations) and not returns and prime and "prime" in inner:
        inner.wrong("prime", "nothing returns: replay is none", 'say replay = "forward" or "reverse"')
    return Phases(warmup=warmup, prime=prime, measured=inner.integer("measured", count, 1, _MOST_REQUESTS))


def _units(source: Conversations | RequestsFile) -> str:
    return "conversations" if isinstance(source, Conversations) else "requests"


def _endpoint(table: Table, source: _Source) -> Endpoint:
    endpoint = table.word("endpoint", source.endpoint or Endpoint.COMPLETIONS)
    if source.endpoint is not None and endpoint is not source.endpoint:
        table.wrong("endpoint", f"the bodies of the file are for {source.endpoint}, not {kind(endpoint)}")
    return endpoint
