"""Token counts as a server states them, wherever it puts them."""

from collections.abc import Mapping

from fairtrial.decode.values import count_of, object_at
from fairtrial.schema.requests import Usage
from fairtrial.schema.vocab import Counter, HitSource

_CACHED = Counter.CACHED_TOKENS.value
"""Servers use the same word."""
_TIERS = (HitSource.DEVICE, HitSource.HOST, HitSource.MIXED)
"""Their values are also the keys of a split by source."""


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

    def result(self) -> Usage:
        """The counts; None where the server says nothing or nothing sensible."""
        sources = self._sources or {}
        device, host, mixed = (count_of(sources.get(tier)) for tier in _TIERS)
        prompt, output, cached = None, None, None
        if self._usage is not None:
            prompt = count_of(self._usage.get("prompt_tokens"))
            output = count_of(self._usage.get("completion_tokens"))
            cached = _cached(self._usage)
        elif self._native is not None:
            prompt = count_of(self._native.get("tokens_evaluated"))
            output = count_of(self._native.get("tokens_predicted"))
        stated = [tokens for tokens in (device, host, mixed) if tokens is not None]
        if cached is None and stated:
            cached = count_of(sum(stated))
        if cached is None and self._timings is not None:
            cached = count_of(self._timings.get("cache_n"))
        return Usage(
            prompt_tokens=prompt,
            output_tokens=output,
            cached_tokens=cached,
            cached_device_tokens=device,
            cached_host_tokens=host,
            cached_mixed_tokens=mixed,
        )


def _details(usage: Mapping[str, object] | None) -> Mapping[str, object]:
    return (object_at(usage, "prompt_tokens_details") if usage is not None else None) or {}


def _cached(usage: Mapping[str, object]) -> int | None:
    cached = count_of(_details(usage).get(_CACHED))
    return count_of(usage.get(_CACHED)) if cached is None else cached


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
