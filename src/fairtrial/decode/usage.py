"""Token counts as a server states them, wherever it puts them."""

from collections.abc import Mapping
from dataclasses import dataclass

from fairtrial.decode.values import count_of, object_at
from fairtrial.schema.requests import Usage
from fairtrial.schema.vocab import Counter, HitSource

_CACHED = Counter.CACHED_TOKENS.value
"""Servers use the same word."""
_REASONING = "reasoning_tokens"
_TIERS = (HitSource.DEVICE, HitSource.HOST, HitSource.MIXED)
"""Their values are also the keys of a split by source."""
_PROMPT = ("prompt_tokens", "input_tokens")
_OUTPUT = ("completion_tokens", "output_tokens")
"""What OpenAI's older routes and its Responses call them."""
_PROMPT_DETAILS = ("prompt_tokens_details", "input_tokens_details")
_OUTPUT_DETAILS = ("completion_tokens_details", "output_tokens_details")
_NOTHING: Mapping[str, object] = {}


@dataclass(frozen=True, slots=True)
class StatedUsage:
    """What a server states, as far as it can be true."""

    usage: Usage
    contradicts: bool
    """It stated something that no count can be, or counts that can't be true together."""
    fell: bool
    """It stated fewer output tokens than before."""


class UsageReader:
    """Keeps the last usage of an answer.

    Cached tokens come from the usage's details (``cached_tokens``), from a split by source
    (``cached_tokens_by_source`` or SGLang's ``cached_tokens_details``: device, host, mixed) or from
    llama.cpp's ``timings.cache_n``, in this order. llama.cpp's ``tokens_cached`` is the
    length of the whole slot and is not read.
    """

    def __init__(self) -> None:
        self._usage: Mapping[str, object] | None = None
        self._sources: Mapping[str, object] | None = None
        self._timings: Mapping[str, object] | None = None
        self._output = 0
        self._fell = False

    def feed(self, chunk: Mapping[str, object]) -> None:
        """Take what one chunk says.

        Raises:
            ShapeError: A usage that is no object.
        """
        self._timings = object_at(chunk, "timings") or self._timings
        usage = object_at(chunk, "usage")
        if usage is not None:
            self.state(usage)
        extension = object_at(chunk, "sglext") or _NOTHING
        self._sources = _sources_in((chunk, extension)) or self._sources

    def state(self, usage: Mapping[str, object]) -> None:
        """Take a usage by itself.

        Raises:
            ShapeError: Its details are no object.
        """
        _details(usage, _OUTPUT_DETAILS)
        self._sources = _sources_in((_details(usage, _PROMPT_DETAILS), usage)) or self._sources
        self._usage = usage
        output = _Counts().first(usage, _OUTPUT)
        if output is not None:
            self._fell |= output < self._output
            self._output = output

    def result(self) -> StatedUsage:
        """The counts; None where the server says nothing or nothing that can be true.

        More cached tokens than the prompt has, or more from the tiers than from all of them,
        make every cached count worthless: which of them is wrong can't be known. More reasoning
        than output makes the reasoning worthless.
        """
        counts = _Counts()
        sources = self._sources or _NOTHING
        device, host, mixed = (counts.take(sources.get(tier)) for tier in _TIERS)
        usage = self._usage or _NOTHING
        prompt, output = counts.first(usage, _PROMPT), counts.first(usage, _OUTPUT)
        reasoning = counts.detail(usage, _OUTPUT_DETAILS, _REASONING)
        cached = counts.detail(usage, _PROMPT_DETAILS, _CACHED)
        stated = [tokens for tokens in (device, host, mixed) if tokens is not None]
        if cached is None and stated:
            cached = counts.take(sum(stated))
        if cached is None and self._timings is not None:
            cached = counts.take(self._timings.get("cache_n"))
        if not _possible(prompt, cached, stated):
            counts.absurd = True
            cached = device = host = mixed = None
        if reasoning is not None and output is not None and reasoning > output:
            counts.absurd, reasoning = True, None
        found = Usage(
            prompt_tokens=prompt,
            output_tokens=output,
            reasoning_tokens=reasoning,
            cached_tokens=cached,
            cached_device_tokens=device,
            cached_host_tokens=host,
            cached_mixed_tokens=mixed,
        )
        return StatedUsage(found, counts.absurd or self._fell, self._fell)


class _Counts:
    """Takes stated counts and remembers whether one of them was no count."""

    def __init__(self) -> None:
        self.absurd = False

    def take(self, value: object) -> int | None:
        if value is None:
            return None
        count = count_of(value)
        self.absurd |= count is None
        return count

    def first(self, usage: Mapping[str, object], names: tuple[str, ...]) -> int | None:
        """The count under the first name that is there."""
        for name in names:
            if name in usage:
                return self.take(usage[name])
        return None

    def detail(self, usage: Mapping[str, object], names: tuple[str, ...], key: str) -> int | None:
        """A count from the details, else from beside them."""
        count = self.take(_details(usage, names).get(key))
        return self.take(usage.get(key)) if count is None else count


def _possible(prompt: int | None, cached: int | None, stated: list[int]) -> bool:
    return cached is None or (sum(stated) <= cached and (prompt is None or cached <= prompt))


def _details(usage: Mapping[str, object], names: tuple[str, ...]) -> Mapping[str, object]:
    """The details under the first name that has some; every one of them must be an object."""
    found = _NOTHING
    for name in names:
        details = object_at(usage, name)
        found = found or details or _NOTHING
    return found


def _sources_in(places: tuple[Mapping[str, object], ...]) -> Mapping[str, object] | None:
    for place in places:
        for key in ("cached_tokens_by_source", "cached_tokens_details"):
            sources = object_at(place, key)
            if sources is not None:
                return sources
    return None
