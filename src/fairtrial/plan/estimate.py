"""What a run will do and cost, before anything is taken down. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from fairtrial.plan.load import arrival_seconds
from fairtrial.plan.workloads import phase_counts
from fairtrial.profiles.reference_models import MODELS
from fairtrial.schema.plan import Conversations, Design, FrozenPlan, FrozenRecipe, FrozenWorkload
from fairtrial.schema.schedule import WindowPlan, schedule
from fairtrial.schema.vocab import LaunchScope, Phase, RecipeKind, ServiceState

_STOP_SECONDS = 0.5
_BYTES_PER_PROMPT_TOKEN = 8
_BYTES_PER_OUTPUT_TOKEN = 400
_BYTES_PER_REQUEST = 4096
_BYTES_PER_LAUNCH = 2 * 2**20
_FILE_REQUEST_BYTES = 32 * 2**10
"""Assumed for a request of a file of unknown size."""
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
    """The whole window with a baseline in service: taking it down, every launch with its traffic
    and cooldown, bringing it back. None: the engines' speed or the size of the prompts is unknown."""
    baseline_down_seconds: float | None
    """The part of ``seconds`` in which a baseline in service can't be asked: all of it from the start
    of its stop until it is ready again. 0 where the baseline is attached: it stays up. None: unknown."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The whole run."""

    windows: tuple[WindowEstimate, ...]
    launches: int
    requests: Mapping[Phase, int]
    seconds: float | None
    """Sum over the windows; None if it is unknown for one."""
    baseline_down_seconds: float | None
    """Sum over the windows, never more than ``seconds``; None if it is unknown for one."""
    disk_bytes: int
    """Space that the evidence may take, on the generous side."""
    assumptions: tuple[str, ...]

    @property
    def formal_requests(self) -> int:
        """Prime plus measured."""
        return self.requests[Phase.PRIME] + self.requests[Phase.MEASURED]


def estimate(plan: FrozenPlan, file_bytes: Mapping[str, int] = MappingProxyType({})) -> Estimate:
    """Estimate a run of a frozen plan.

    Args:
        plan: The plan.
        file_bytes: Size of the requests file of each workload that has one, where it is known.
    """
    windows = tuple(_window(plan, window) for window in schedule(plan))
    requests = {phase: sum(window.requests[phase] for window in windows) for phase in Phase}
    launches = sum(window.launches for window in windows)
    return Estimate(
        windows=windows,
        launches=launches,
        requests=requests,
        seconds=_sum([window.seconds for window in windows]),
        baseline_down_seconds=_sum([window.baseline_down_seconds for window in windows]),
        disk_bytes=estimate_disk(plan.workloads, plan.design, file_bytes),
        assumptions=_assumptions(plan, file_bytes),
    )


def estimate_disk(
    workloads: tuple[FrozenWorkload, ...],
    design: Design,
    file_bytes: Mapping[str, int] = MappingProxyType({}),
) -> int:
    """Space in bytes that the evidence may take, on the generous side.

    Args:
        workloads: What is sent.
        design: How often.
        file_bytes: Size of the requests file of each workload that has one, where it is known.
    """
    windows = sum(len(order) for order in design.order)
    launches = windows * (len(workloads) if design.launch_scope is LaunchScope.WORKLOAD else 1)
    traffic = sum(_disk(workload, file_bytes.get(workload.name)) for workload in workloads)
    return launches * _BYTES_PER_LAUNCH + windows * traffic


def _window(plan: FrozenPlan, window: WindowPlan) -> WindowEstimate:
    requests = {
        phase: sum(phase_counts(workload.phases)[phase] for workload in plan.workloads) for phase in Phase
    }
    launches = len(window.launches)
    working, service = _working(plan, window), _service(plan)
    seconds = None if working is None or service is None else working + service
    down = 0.0 if plan.arms[0].recipe.kind is RecipeKind.ATTACH else seconds
    return WindowEstimate(window.name, window.repetition, window.arm, launches, requests, seconds, down)


def _working(plan: FrozenPlan, window: WindowPlan) -> float | None:
    """Seconds of a window's launches with their traffic; None if unknown."""
    cost = _cost(plan.arm(window.arm).recipe)
    if cost is None:
        return None
    each = cost.start + _STOP_SECONDS + plan.limits.cooldown_ms / 1000
    traffic = _sum([_traffic(workload, cost) for workload in plan.workloads])
    return None if traffic is None else len(window.launches) * each + traffic


def _service(plan: FrozenPlan) -> float | None:
    """Seconds to take the baseline in service down and to bring it back; None if unknown."""
    recipe = plan.arms[0].recipe
    if recipe.kind is RecipeKind.ATTACH:
        return 0.0
    cost = _cost(recipe)
    return None if cost is None else _STOP_SECONDS + cost.start


def _cost(recipe: FrozenRecipe) -> Cost | None:
    if recipe.kind is not RecipeKind.REFERENCE:
        return None
    model = recipe.options.get("model")
    return REFERENCE_COSTS.get(model) if isinstance(model, str) else None


def _traffic(workload: FrozenWorkload, cost: Cost) -> float | None:
    """Seconds; None for a requests file: its lengths in tokens are unknown."""
    source = workload.source
    if not isinstance(source, Conversations):
        return None
    each = source.input_tokens * cost.prompt_token + source.output_tokens * cost.output_token
    return sum(_phase(workload, count, each) for count in phase_counts(workload.phases).values() if count)


def _phase(workload: FrozenWorkload, count: int, each: float) -> float:
    """Seconds of one phase: its answers one after another, or its arrivals if they take longer."""
    answers, ramp_s = count * each, workload.ramp_ms / 1000
    if workload.arrivals is None:
        # A ramp holds back all but the first slot for a while, never longer than itself.
        return answers + ramp_s
    return max(answers, arrival_seconds(workload.arrivals, ramp_s, count) + each)


def _disk(workload: FrozenWorkload, file_bytes: int | None) -> int:
    counts, source = phase_counts(workload.phases).values(), workload.source
    if isinstance(source, Conversations):
        output = source.output_tokens
        prompts = sum(counts) * source.input_tokens * _BYTES_PER_PROMPT_TOKEN
    else:
        output = _FILE_OUTPUT_TOKENS
        size = source.count * _FILE_REQUEST_BYTES if file_bytes is None else file_bytes
        # A phase that sends a part of the file may send its longest lines: count whole files.
        prompts = sum(-(-count // source.count) * size for count in counts)
    return prompts + sum(counts) * (_BYTES_PER_REQUEST + output * _BYTES_PER_OUTPUT_TOKEN)


def _sum(parts: list[float | None]) -> float | None:
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def _assumptions(plan: FrozenPlan, file_bytes: Mapping[str, int]) -> tuple[str, ...]:
    found = []
    for model in sorted({str(arm.recipe.options.get("model")) for arm in plan.arms if _cost(arm.recipe)}):
        cost, pages = REFERENCE_COSTS[model], MODELS[model].page_tokens
        found.append(
            f"reference engine, model {model}: {cost.start:g} s to start, "
            f"{1000 * cost.prompt_token * pages:.3g} ms for {pages} prompt tokens, "
            f"{1000 * cost.output_token:.3g} ms an output token, one core, no cache hit, one at a time",
        )
    if any(workload.arrivals is not None for workload in plan.workloads):
        found.append(
            "an open loop lasts until its last request is due and answered, or longer if it can't keep up"
        )
    unknown = [arm.name for arm in plan.arms if _cost(arm.recipe) is None]
    if unknown:
        found.append(f"the speed of arm {', '.join(unknown)} is unknown")
    if any(arm.recipe.kind is RecipeKind.ATTACH for arm in plan.arms):
        found.append(f"servers that are {ServiceState.ATTACHED} stay up all the time")
    service = _service(plan)
    if service:
        found.append(f"the baseline is in service; a window takes {service:g} s less if it isn't")
    return (*found, *_file_assumptions(plan, file_bytes))


def _file_assumptions(plan: FrozenPlan, file_bytes: Mapping[str, int]) -> Iterator[str]:
    names = [one.name for one in plan.workloads if not isinstance(one.source, Conversations)]
    if not names:
        return
    yield f"the length of the requests of {', '.join(names)} in tokens is unknown, so no time is given"
    yield f"space for requests files: {_FILE_OUTPUT_TOKENS} output tokens a request"
    if any(name not in file_bytes for name in names):
        yield f"space for requests files of unknown size: {_FILE_REQUEST_BYTES // 2**10} KiB a request"
