"""The plan of a comparison of two running servers, as the text of a plan.toml. Pure.

It goes the way of every plan: what is written here is checked, shown and frozen like a person's own.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fairtrial.schema.errors import UsageError
from fairtrial.schema.vocab import Endpoint, Statistic

CONVERSATIONS = 30
CONCURRENCY = 4
_FRESH = 12
_INPUT_TOKENS, _OUTPUT_TOKENS = 256, 16
_LOAD_NAME, _FILE_NAME = "returning", "requests"
_METRIC = re.compile(r"[a-z][a-z0-9_]*")
_FORM = 'write it like "ttft no worse than 10%", "e2e p95 no worse than 10% or 5 ms" or "ttft better"'
_PLAIN: Mapping[str, str] = {"ttft": "no worse than 10% or 2 ms", "e2e": "no worse than 10% or 5 ms"}
_FRESH_MUST: Mapping[str, str] = {"ttft": _PLAIN["ttft"], "tpot": "no worse than 10%"}

Must = Mapping[str, str | Mapping[str, str]]
"""Claim by metric, or by metric and statistic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a person says of the comparison."""

    urls: tuple[str, str]
    """The baseline's address and the candidate's."""
    endpoint: Endpoint
    seed: int
    """Of the order and of the prompts: a new one each time, so that no cache knows them."""
    repetitions: int
    requests: Path | None = None
    """A requests file; None sends synthetic conversations."""
    must: Sequence[str] = ()
    """Demands in words; empty takes the usual guardrails."""
    concurrency: int = CONCURRENCY
    conversations: int = CONVERSATIONS
    model: str | None = None
    token_env: str | None = None


def plan_text(asked: Asked) -> str:
    """The plan as TOML.

    Raises:
        UsageError: A demand can't be read as one.
    """
    lines = [
        'id = "ab"',
        'question = "Is the second running server no worse than the first?"',
        'level = "quick"',
        f"baseline = {_recipe(asked, asked.urls[0])}",
        f"candidate = {_recipe(asked, asked.urls[1])}",
        "",
        "[design]",
        f"repetitions = {asked.repetitions}",
        f"seed = {asked.seed}",
    ]
    must = read_must(asked.must)
    if asked.requests is not None:
        lines += _workload(_FILE_NAME, f"requests = {_text(str(asked.requests.resolve()))}", must or _PLAIN)
        lines += [f"concurrency = {asked.concurrency}"]
    else:
        lines += _workload("fresh", _conversations(_FRESH), must or _FRESH_MUST)
        lines += [f"endpoint = {_text(asked.endpoint)}"]
        lines += _workload(_LOAD_NAME, _conversations(asked.conversations, "forward"), must or _PLAIN)
        lines += [f"endpoint = {_text(asked.endpoint)}", f"concurrency = {asked.concurrency}"]
    return "\n".join(lines) + "\n"


def read_must(demands: Sequence[str]) -> Must:
    """Demands in words, by metric and where one is named by statistic.

    Raises:
        UsageError: One has no metric or no claim, or two are about the same.
    """
    found: dict[str, dict[str, str]] = {}
    for demand in demands:
        metric, _, rest = " ".join(demand.split()).partition(" ")
        first, _, claim = rest.partition(" ")
        named = first in set(Statistic)
        statistic, claim = (first, claim) if named else ("", rest)
        if not _METRIC.fullmatch(metric) or not claim:
            raise UsageError(f"not a demand: {demand[:80]!r}", where="--must", hint=_FORM)
        if statistic in found.setdefault(metric, {}):
            raise UsageError(f"two demands on {metric} {statistic}".rstrip(), where="--must", hint=_FORM)
        found[metric][statistic] = claim
    return {metric: _by_statistic(claims) for metric, claims in found.items()}


def _by_statistic(claims: Mapping[str, str]) -> str | Mapping[str, str]:
    if claims.keys() == {""}:
        return claims[""]
    return {statistic or Statistic.MEDIAN.value: claim for statistic, claim in claims.items()}


def _recipe(asked: Asked, url: str) -> str:
    values = {"url": url, "engine": "auto", "model": asked.model, "token_env": asked.token_env}
    return _inline({key: value for key, value in values.items() if value is not None})


def _workload(name: str, source: str, must: Must) -> list[str]:
    return ["", f"[workloads.{name}]", source, f"must = {_inline(must)}"]


def _conversations(count: int, replay: str | None = None) -> str:
    returns = f", replay = {_text(replay)}" if replay else ""
    lengths = f"input_tokens = {_INPUT_TOKENS}, output_tokens = {_OUTPUT_TOKENS}"
    return f"conversations = {{ count = {count}, {lengths}{returns} }}"


def _inline(values: Mapping[str, str | Mapping[str, str]]) -> str:
    parts = (
        f"{key} = {_text(value) if isinstance(value, str) else _inline(value)}"
        for key, value in values.items()
    )
    return f"{{ {', '.join(parts)} }}"


def _text(value: str) -> str:
    """A TOML basic string: JSON's escapes are TOML's, but TOML also wants DEL escaped."""
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
