"""Which cases a workload sends in each phase: one pure rule for the client and for the judge."""

from dataclasses import dataclass

from fairtrial.schema.plan import Conversations, FrozenWorkload
from fairtrial.schema.vocab import Phase, Replay


@dataclass(frozen=True, slots=True)
class Case:
    """One unit of work, the unit of pairing inside a repetition."""

    name: str
    """``w003`` for a warm-up, ``c017`` for prompt 17, ``c017.2`` for its second return."""
    phase: Phase
    prompt: int
    """Ordinal of the prompt in the workload's corpus; warm-ups have a corpus of their own."""


def cases_of(workload: FrozenWorkload, phase: Phase) -> tuple[Case, ...]:
    """The cases of one phase in the order in which they are sent.

    Measured requests walk the prompts in the replay order, again and again until the
    declared number is reached; the second walk has the suffix ``.2``, and so on.
    """
    if phase is Phase.WARMUP:
        return tuple(Case(f"w{i:03d}", phase, i) for i in range(workload.phases.warmup))
    count = workload.source.count
    if phase is Phase.PRIME:
        return tuple(Case(f"c{i:03d}", phase, i) for i in range(workload.phases.prime))
    replay = workload.source.replay if isinstance(workload.source, Conversations) else Replay.FORWARD
    walk = list(range(count))
    if replay is Replay.REVERSE:
        walk.reverse()
    cases = []
    for i in range(workload.phases.measured):
        turn, prompt = i // count + 1, walk[i % count]
        name = f"c{prompt:03d}" if turn == 1 else f"c{prompt:03d}.{turn}"
        cases.append(Case(name, phase, prompt))
    return tuple(cases)


def formal_requests(workload: FrozenWorkload) -> int:
    """Prime plus measured requests of one repetition of one arm."""
    return workload.phases.prime + workload.phases.measured
