"""A small frozen plan for tests: two arms, a few repetitions, a returning and a cold workload."""

from types import MappingProxyType

from fairtrial.schema.plan import (
    ArmDifference,
    Conversations,
    Design,
    FrozenArm,
    FrozenGate,
    FrozenPlan,
    FrozenRecipe,
    FrozenWorkload,
    Margin,
    Phases,
    Requirement,
    RunLimits,
)
from fairtrial.schema.vocab import (
    ArmRole,
    Counter,
    Endpoint,
    GateKind,
    LaunchScope,
    Level,
    LoadKind,
    Metric,
    OrderSource,
    Phase,
    RecipeKind,
    Replay,
    Role,
    Stage,
    Statistic,
)

ROW_PERCENT = "host_row_percent"
"""The option that differs between the arms."""
RETURNING = "returning"
COLD = "cold"
IDENTITIES = MappingProxyType({"executable": "a" * 64, "source": "b" * 64})
"""What both servers are started from."""


def small_plan(order: tuple[str, ...] = ("AB", "BA"), level: Level = Level.FORMAL) -> FrozenPlan:
    """The plan. Tests change the rest of it with ``model_copy(update=...)``.

    Args:
        order: One string of arm names a repetition. Two repetitions are too few for any verdict.
        level: The level that it declares.
    """
    return FrozenPlan(
        id="small-trial",
        question="Do more state rows speed up returning conversations?",
        level=level,
        stage=Stage.FORMAL,
        tool="fairtrial 0.1.0",
        arms=(_arm("A", ArmRole.BASELINE, 25), _arm("B", ArmRole.CANDIDATE, 75)),
        differences=(ArmDifference(arm="B", key=ROW_PERCENT, baseline=25, candidate=75),),
        workloads=(
            _workload(RETURNING, Replay.REVERSE, 4, (_requirement(Role.PRIMARY),)),
            _workload(COLD, Replay.NONE, 0, (_requirement(Role.GUARDRAIL),)),
        ),
        design=Design(
            order=order,
            order_source=OrderSource.DECLARED,
            seed=7,
            launch_scope=LaunchScope.WORKLOAD,
        ),
        gates=gates(),
        limits=RunLimits(),
    )


def gates() -> tuple[FrozenGate, ...]:
    """One gate of each kind."""
    return (
        FrozenGate(name="restoration", kind=GateKind.RESTORATION),
        FrozenGate(name="failures", kind=GateKind.FAILURES, at_most_share=0.0),
        FrozenGate(name="completeness", kind=GateKind.COMPLETENESS),
        FrozenGate(name="identity", kind=GateKind.IDENTITY),
        FrozenGate(name="equality", kind=GateKind.EQUALITY, at_most_share=0.0),
        FrozenGate(
            name="pressure",
            kind=GateKind.COUNTER,
            workloads=(RETURNING,),
            arms=("B",),
            counter=Counter.ROW_PRESSURE,
            phases=(Phase.PRIME, Phase.MEASURED),
            at_most=0,
        ),
    )


def _arm(name: str, role: ArmRole, rows: int) -> FrozenArm:
    recipe = FrozenRecipe(
        kind=RecipeKind.REFERENCE,
        profile=RecipeKind.REFERENCE.value,
        options={ROW_PERCENT: rows},
        identities=dict(IDENTITIES),
    )
    return FrozenArm(name=name, role=role, recipe=recipe)


def _workload(name: str, replay: Replay, prime: int, requirements: tuple[Requirement, ...]) -> FrozenWorkload:
    return FrozenWorkload(
        name=name,
        load=LoadKind.SERIAL,
        concurrency=1,
        endpoint=Endpoint.COMPLETIONS,
        source=Conversations(count=4, input_tokens=16, output_tokens=3, replay=replay, fixed_output=True),
        phases=Phases(warmup=1, prime=prime, measured=4),
        seed=11,
        corpus_per_repetition=False,
        token_ids=True,
        requirements=requirements,
    )


def _requirement(role: Role) -> Requirement:
    margin = Margin(relative=0.05, absolute_ns=2_000_000) if role is Role.GUARDRAIL else None
    return Requirement(metric=Metric.TTFT, statistic=Statistic.MEDIAN, role=role, margin=margin)
