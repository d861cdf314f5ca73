"""Token counts as a server states them, wherever it puts them."""

from collections.abc import Mapping
from dataclasses import dataclass

from fairtrial.decode.values import count_of, object_at
from fairtrial.schema.requests import Usage
from fairtrial.schema.vocab import Counter, HitSource

_CACHED = Counter.CACHED_TOKENS.value
"""Servers use the same word."""
_TIERS = (HitSource.DEVICE, HitSource.HOST, HitSource.MIXED)
"""Their values are also the keys of a split by source."""


@dataclass(frozen=True, slots=True)
class StatedUsage:
    """What a server states, as far as it can be true."""

    usage: Usage
    contradicts: bool
    """It stated something that no count can be, or counts that can't be true together."""


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
        self._native: Mapping[str, object] | None = None

    def feed(self, chunk: Mapping[str, object]) -> None:
        """Take what one chunk says.

        Raises:
            ShapeError: A usage that is no object.
        """
        self._timings = object_at(chunk, "timings") or self._timings
        usage = object_at(chunk, "usage")
        if usage is not None:
            self._usage = usage
        self._sources = _sources_in(chunk, usage) or self._sources

    def feed_native(self, chunk: Mapping[str, object]) -> None:
        """Take the closing chunk of llama.cpp's native route."""
        self._native = chunk

    def result(self) -> StatedUsage:
        """The counts; None where the server says nothing or nothing that can be true.

        More cached tokens than the prompt has, or more from the tiers than from all of them,
        make every cached count worthless: which of them is wrong can't be known.
        """
        sources = self._sources or {}
        counts = _Counts()
        device, host, mixed = (counts.take(sources.get(tier)) for tier in _TIERS)
        prompt, output, cached = None, None, None
        if self._usage is not None:
            prompt = counts.take(self._usage.get("prompt_tokens"))
            output = counts.take(self._usage.get("completion_tokens"))
            cached = counts.take(_details(self._usage).get(_CACHED))
            cached = counts.take(self._usage.get(_CACHED)) if cached is None else cached
        elif self._native is not None:
            prompt = counts.take(self._native.get("tokens_evaluated"))
            output = counts.take(self._native.get("tokens_predicted"))
        stated = [tokens for tokens in (device, host, mixed) if tokens is not None]
        if cached is None and stated:
            cached = counts.take(sum(stated))
        if cached is None and self._timings is not None:
            cached = counts.take(self._timings.get("cache_n"))
        if not _possible(prompt, cached, stated):
            counts.absurd = True
            cached = device = host = mixed = None
        usage = Usage(
            prompt_tokens=prompt,
            output_tokens=output,
            cached_tokens=cached,
            cached_device_tokens=device,
            cached_host_tokens=host,
            cached_mixed_tokens=mixed,
        )
        return StatedUsage(usage, counts.absurd)


class _Counts:
    """Takes stated counts and remembers whether one of them was no count."""

    def __init__(self) -> None:
        self.absurd = False

    def take(self, value: object) -> int | None:
        count = count_of(value)
        self.absurd |= count is None and value is not None
        return count


def _possible(prompt: int | None, cached: int | None, stated: list[int]) -> bool:
    return cached is None or (sum(stated) <= cached and (prompt is None or cached <= prompt))


def _details(usage: Mapping[str, object] | None) -> Mapping[str, object]:
    return (object_at(usage, "prompt_tokens_details") if usage is not None else None) or {}


def _sources_in(
    chunk: Mapping[str, object], usage: Mapping[str, object] | None
) -> Mapping[str, object] | None:
    extension = object_at(chunk, "sglext") or {}
    for place in (_details(usage), usage or {}, chunk, extension):
        for key in ("cached_tokens_by_source", "cached_tokens_details"):
            sources = object_at(place, key)
            if sources is not None:
                return sources
    return None
