"""What a run will do and cost, before anything is taken down. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from fairtrial.profiles.reference_models import MODELS
from fairtrial.schema.cases import cases_of
from fairtrial.schema.plan import Conversations, Design, FrozenPlan, FrozenRecipe, FrozenWorkload
from fairtrial.schema.schedule import WindowPlan, schedule
from fairtrial.schema.vocab import LaunchScope, Phase, RecipeKind, ServiceState

_STOP_SECONDS = 0.5
_BYTES_PER_PROMPT_TOKEN = 8
_BYTES_PER_OUTPUT_TOKEN = 400
_BYTES_PER_REQUEST = 4096
_BYTES_PER_LAUNCH = 2 * 2**20
_FILE_PROMPT_TOKENS = 4096
_FILE_OUTPUT_TOKENS = 1024


@dataclass(frozen=True, slots=True)
class Cost:
    """Stated costs of one model shape of the reference engine on one core, in seconds."""

    start: float
    """From exec to proven ready."""
    prompt_token: float
    """Prefill of one prompt token that no cache holds."""
    output_token: float


REFERENCE_COSTS: Mapping[str, Cost] = MappingProxyType(
    {
        "laptop": Cost(start=3.0, prompt_token=0.00046, output_token=0.0068),
        "small": Cost(start=1.5, prompt_token=0.00006, output_token=0.002),
    },
)


@dataclass(frozen=True, slots=True)
class WindowEstimate:
    """One window."""

    name: str
    repetition: int
    arm: str
    launches: int
    requests: Mapping[Phase, int]
    seconds: float | None
    """None: nothing is known of this engine's speed."""
    baseline_down_seconds: float | None
    """How long the baseline is out of service, if it is in service; 0 where arms are attached."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The whole run."""

    windows: tuple[WindowEstimate, ...]
    launches: int
    requests: Mapping[Phase, int]
    seconds: float | None
    baseline_down_seconds: float | None
    disk_bytes: int
    """Space that the evidence may take, on the generous side."""
    assumptions: tuple[str, ...]

    @property
    def formal_requests(self) -> int:
        """Prime plus measured."""
        return self.requests[Phase.PRIME] + self.requests[Phase.MEASURED]


def estimate(plan: FrozenPlan) -> Estimate:
    """Estimate a run of a frozen plan."""
    windows = tuple(_window(plan, window) for window in schedule(plan))
    requests = {phase: sum(window.requests[phase] for window in windows) for phase in Phase}
    launches = sum(window.launches for window in windows)
    return Estimate(
        windows=windows,
        launches=launches,
        requests=requests,
        seconds=_sum([window.seconds for window in windows]),
        baseline_down_seconds=_sum([window.baseline_down_seconds for window in windows]),
        disk_bytes=estimate_disk(plan.workloads, plan.design),
        assumptions=_assumptions(plan),
    )


def estimate_disk(workloads: tuple[FrozenWorkload, ...], design: Design) -> int:
    """Space in bytes that the evidence may take, on the generous side."""
    windows = sum(len(order) for order in design.order)
    launches = windows * (len(workloads) if design.launch_scope is LaunchScope.WORKLOAD else 1)
    return launches * _BYTES_PER_LAUNCH + windows * sum(_disk(workload) for workload in workloads)


def _window(plan: FrozenPlan, window: WindowPlan) -> WindowEstimate:
    recipe = plan.arm(window.arm).recipe
    requests = {phase: sum(len(cases_of(workload, phase)) for workload in plan.workloads) for phase in Phase}
    cost = _cost(recipe)
    seconds = None
    if cost is not None:
        launches = len(window.launches)
        seconds = launches * (cost.start + _STOP_SECONDS + plan.limits.cooldown_ms / 1000)
        seconds += sum(_traffic(workload, cost) for workload in plan.workloads)
    down: float | None = 0.0
    if recipe.kind is not RecipeKind.ATTACH:
        baseline = _cost(plan.arms[0].recipe)
        down = None if seconds is None or baseline is None else seconds + _STOP_SECONDS + baseline.start
    return WindowEstimate(
        window.name, window.repetition, window.arm, len(window.launches), requests, seconds, down
    )


def _cost(recipe: FrozenRecipe) -> Cost | None:
    if recipe.kind is not RecipeKind.REFERENCE:
        return None
    model = recipe.options.get("model")
    return REFERENCE_COSTS.get(model) if isinstance(model, str) else None


def _traffic(workload: FrozenWorkload, cost: Cost) -> float:
    prompt, output = _tokens(workload)
    requests = sum(len(cases_of(workload, phase)) for phase in Phase)
    return requests * (prompt * cost.prompt_token + output * cost.output_token)


def _disk(workload: FrozenWorkload) -> int:
    prompt, output = _tokens(workload)
    requests = sum(len(cases_of(workload, phase)) for phase in Phase)
    each = _BYTES_PER_REQUEST + prompt * _BYTES_PER_PROMPT_TOKEN + output * _BYTES_PER_OUTPUT_TOKEN
    return requests * each


def _tokens(workload: FrozenWorkload) -> tuple[int, int]:
    source = workload.source
    if isinstance(source, Conversations):
        return source.input_tokens, source.output_tokens
    return _FILE_PROMPT_TOKENS, _FILE_OUTPUT_TOKENS


def _sum(parts: list[float | None]) -> float | None:
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def _assumptions(plan: FrozenPlan) -> tuple[str, ...]:
    found = []
    for model in sorted({str(arm.recipe.options.get("model")) for arm in plan.arms if _cost(arm.recipe)}):
        cost, pages = REFERENCE_COSTS[model], MODELS[model].page_tokens
        found.append(
            f"reference engine, model {model}: {cost.start:g} s to start, "
            f"{1000 * cost.prompt_token * pages:.3g} ms for {pages} prompt tokens, "
            f"{1000 * cost.output_token:.3g} ms an output token, one core, no cache hit, one at a time",
        )
    unknown = [arm.name for arm in plan.arms if _cost(arm.recipe) is None]
    if unknown:
        found.append(f"the speed of arm {', '.join(unknown)} is unknown")
    if any(arm.recipe.kind is RecipeKind.ATTACH for arm in plan.arms):
        found.append(f"servers that are {ServiceState.ATTACHED} stay up all the time")
    if any(not isinstance(workload.source, Conversations) for workload in plan.workloads):
        found.append(
            f"space for requests files: {_FILE_PROMPT_TOKENS} prompt and {_FILE_OUTPUT_TOKENS} "
            "output tokens a request",
        )
    return tuple(found)
