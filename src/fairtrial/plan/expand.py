"""A frozen plan as TOML with every default spelled out."""

from collections.abc import Iterable

from fairtrial.plan.arms import BASELINE
from fairtrial.plan.gate_text import gates_text, limits_text
from fairtrial.plan.recipes import SERVED_MODEL
from fairtrial.plan.toml_text import inline as _inline
from fairtrial.plan.toml_text import key as _key
from fairtrial.plan.toml_text import text as _text
from fairtrial.plan.toml_text import texts as _list
from fairtrial.plan.toml_text import value as _value
from fairtrial.plan.units import write_duration, write_percent, write_size
from fairtrial.schema.client_vocab import ArrivalProcess
from fairtrial.schema.plan import (
    Conversations,
    Design,
    FrozenPlan,
    FrozenRecipe,
    FrozenWorkload,
    Requirement,
    RunLimits,
)
from fairtrial.schema.vocab import Metric, OrderSource, RecipeKind, Role, Statistic

_RECIPE_LEVEL = frozenset({SERVED_MODEL, "port"})
_NS_PER_MS = 10**6


def expanded_toml(plan: FrozenPlan) -> str:
    """The plan as a plan file that declares everything.

    It loads again to the same frozen plan if the plan has no private values; those it has stand
    as comments to be filled in.
    """
    lines = [
        f"id = {_text(plan.id)}",
        f"question = {_text(plan.question)}",
        f"level = {_text(plan.level)}",
    ]
    for arm in plan.arms:
        name = "baseline" if arm.name == BASELINE else f"candidates.{arm.name}"
        lines += ["", f"[{name}]", *_recipe(arm.recipe)]
    lines += ["", "[design]", *_design(plan.design)]
    for workload in plan.workloads:
        lines += ["", f"[workloads.{_key(workload.name)}]", *_workload(workload)]
    lines += ["", "[gates]", *gates_text(plan.gates)]
    lines += ["", "[limits]", *_limits(plan.limits)]
    return "\n".join(lines) + "\n"


def _recipe(recipe: FrozenRecipe) -> Iterable[str]:
    if recipe.kind is not RecipeKind.REFERENCE:
        yield from (f"# {_private_key(name)} = private" for name in sorted(recipe.private))
        yield f"engine = {_text(recipe.profile)}"
    else:
        yield f"engine = {_text(recipe.profile)}"
        yield from (f"# {_private_key(name)} = private" for name in sorted(recipe.private))
        options = {key: value for key, value in recipe.options.items() if key not in _RECIPE_LEVEL}
        yield f"options = {_inline({key: _value(value) for key, value in sorted(options.items())})}"
    if SERVED_MODEL in recipe.options:
        yield f"model = {_value(recipe.options[SERVED_MODEL])}"
    if "port" in recipe.options:
        yield f"port = {_value(recipe.options['port'])}"
    if recipe.kind is not RecipeKind.ATTACH:
        yield f"start_timeout = {_ms(recipe.timing.start_ms)}"
        yield f"stop_grace = {_ms(recipe.timing.stop_grace_ms)}"


def _private_key(name: str) -> str:
    return "model" if name == SERVED_MODEL else name


def _design(design: Design) -> Iterable[str]:
    if design.order_source is OrderSource.DECLARED:
        yield f"order = {_list(design.order)}"
    else:
        yield f"repetitions = {len(design.order)}  # randomised by the seed: {' '.join(design.order)}"
    yield f"seed = {design.seed}"
    yield f"alpha = {design.alpha!r}"
    yield f"power = {_text(write_percent(design.power))}"
    yield f"assumed_noise = {_text(write_percent(design.assumed_sd))}"
    if design.looks:
        yield f"looks = [{', '.join(map(str, design.looks))}]"
    if design.accept_underpowered is not None:
        yield f"accept_underpowered = {_text(design.accept_underpowered)}"


def _workload(workload: FrozenWorkload) -> Iterable[str]:
    source = workload.source
    if isinstance(source, Conversations):
        table = {
            "count": str(source.count),
            "input_tokens": str(source.input_tokens),
            "output_tokens": str(source.output_tokens),
            "replay": _text(source.replay),
            "natural": _value(not source.fixed_output),
        }
        yield f"conversations = {_inline(table)}"
    else:
        yield f"# requests = private  # {source.count} requests, sha256 {source.sha256}"
    yield from _load(workload)
    yield f"endpoint = {_text(workload.endpoint)}"
    phases = workload.phases
    yield f"phases = {{ warmup = {phases.warmup}, prime = {phases.prime}, measured = {phases.measured} }}"
    yield f"token_ids = {_value(workload.token_ids)}"
    yield f"seed = {workload.seed}"
    must = _must(workload.requirements)
    if must:
        yield f"must = {_inline(must)}"
    shown = [one.metric.value for one in workload.requirements if one.role is Role.INFORMATIONAL]
    if shown:
        yield f"show = {_list(shown)}"


def _load(workload: FrozenWorkload) -> Iterable[str]:
    arrivals = workload.arrivals
    if arrivals is not None:
        yield f"rate = {arrivals.rate!r}"
        yield f"arrivals = {_text(arrivals.process)}"
        if arrivals.process is ArrivalProcess.GAMMA:
            yield f"burstiness = {arrivals.burstiness!r}"
    yield f"concurrency = {workload.concurrency}"
    yield f"load = {_text(workload.load)}"
    yield f"ramp = {_ms(workload.ramp_ms)}"
    yield f"client_processes = {workload.client_processes}"


def _must(requirements: Iterable[Requirement]) -> dict[str, str]:
    by_metric: dict[Metric, dict[Statistic, str]] = {}
    found: dict[str, str] = {}
    for one in requirements:
        if one.role is Role.INFORMATIONAL:
            continue
        if one.limits is not None and one.at_least is not None:
            least = {"at_least": _text(write_percent(one.at_least))}
            found[one.metric] = _inline(limits_text(one.limits) | least)
        else:
            by_metric.setdefault(one.metric, {})[one.statistic] = _text(_claim(one))
            claims = by_metric[one.metric]
            plain = claims.keys() <= {Statistic.WHOLE}
            named = {statistic.value: text for statistic, text in claims.items()}
            found[one.metric] = claims[Statistic.WHOLE] if plain else _inline(named)
    return found


def _claim(one: Requirement) -> str:
    if one.margin is None:
        return f"better by {write_percent(one.min_effect)}" if one.min_effect else "better"
    absolute = f" or {write_duration(one.margin.absolute_ns)}" if one.margin.absolute_ns else ""
    return f"no worse than {write_percent(one.margin.relative)}{absolute}"


def _limits(limits: RunLimits) -> Iterable[str]:
    yield f"request_timeout = {_ms(limits.request_timeout_ms)}"
    yield f"cooldown = {_ms(limits.cooldown_ms)}"
    # 0 is what a plan without this key has: the need is estimated.
    yield f"disk = {_text(write_size(limits.disk_bytes))}" if limits.disk_bytes else "# disk = estimated"


def _ms(value: int) -> str:
    return _text(write_duration(value * _NS_PER_MS))
