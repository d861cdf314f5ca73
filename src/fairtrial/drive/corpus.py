"""The prompts of a workload. Pure: no clock, no files, nothing random.

A synthetic prompt is a function of the workload's seed and name, its domain (warm-up, corpus,
probe), its ordinal and, where launches are not fresh, the repetition. It doesn't depend on the
arm: both arms of a repetition are sent the same prompts. Every prompt begins with its own number
in the digits of the vocabulary, lowest digit first, so that no two share even their first block
in a prefix cache. The rest comes from SHAKE-256, which anybody can recompute.
"""

import hashlib
import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import orjson

from fairtrial.drive.words import WORDS
from fairtrial.profiles.profile import Ask, Profile
from fairtrial.schema.cases import Case
from fairtrial.schema.errors import UsageError
from fairtrial.schema.plan import Conversations, FrozenWorkload, RequestsFile
from fairtrial.schema.vocab import Endpoint, Phase, Replay

PROMPT_NUMBERS = 2**32
"""More prompts than any workload has; their numbers fit the leading digits."""
PROBE_OUTPUT_TOKENS = 4
"""A probe asks for no more output than this."""

UNKNOWN_SHAPE = Conversations(
    count=1, input_tokens=64, output_tokens=PROBE_OUTPUT_TOKENS, replay=Replay.NONE, fixed_output=False
)
"""What a probe sends for a requests file that it isn't shown."""


class Domain(IntEnum):
    """Prompts of different domains never meet in a prefix cache."""

    CORPUS = 0
    WARMUP = 1
    PROBE = 2


@dataclass(frozen=True, slots=True)
class Prompt:
    """Names one prompt of a workload."""

    workload: FrozenWorkload
    domain: Domain
    ordinal: int
    repetition: int
    """From 1; 0 where every repetition sends the same."""

    @property
    def number(self) -> int:
        """Different for every prompt of the workload."""
        phases = self.workload.phases
        width = max(self.workload.source.count, phases.warmup, phases.prime)
        return self.ordinal + width * (self.domain + len(Domain) * self.repetition)

    @property
    def seed(self) -> bytes:
        """Seed of the drawn part: sha256 of everything the prompt depends on."""
        named = (self.workload.seed, self.workload.name, self.domain.name, self.ordinal, self.repetition)
        return hashlib.sha256("\n".join(str(part) for part in named).encode()).digest()


def prompt_of(workload: FrozenWorkload, case: Case, repetition: int) -> Prompt:
    """The prompt that a case sends in a repetition (from 1)."""
    domain = Domain.WARMUP if case.phase is Phase.WARMUP else Domain.CORPUS
    return Prompt(workload, domain, case.prompt, repetition if workload.corpus_per_repetition else 0)


def prompt_ids(prompt: Prompt, length: int, profile: Profile) -> tuple[int, ...]:
    """A prompt of exactly ``length`` token ids, special ids left out.

    Raises:
        UsageError: The profile states no vocabulary.
    """
    if profile.vocabulary is None or profile.vocabulary - profile.reserved_ids < 2:
        raise UsageError(f"the engine profile {profile.name} states no vocabulary for token-id prompts")
    span = profile.vocabulary - profile.reserved_ids
    return tuple(profile.reserved_ids + symbol for symbol in _symbols(prompt, length, span))


def prompt_text(prompt: Prompt, length: int) -> str:
    """A prompt of ``length`` plain words: about as many tokens, the engine's tokenizer decides."""
    return " ".join(WORDS[symbol] for symbol in _symbols(prompt, length, len(WORDS)))


def _symbols(prompt: Prompt, length: int, span: int) -> list[int]:
    """``length`` numbers below ``span``: the digits of the prompt's number, then drawn ones."""
    digits: list[int] = []
    rest, reach = prompt.number, 1
    while reach < PROMPT_NUMBERS and len(digits) < length:
        digits.append(rest % span)
        rest //= span
        reach *= span
    count = length - len(digits)
    drawn = struct.unpack(f"<{count}I", hashlib.shake_256(prompt.seed).digest(4 * count))
    return digits + [value * span >> 32 for value in drawn]


@dataclass(frozen=True, slots=True)
class Corpus:
    """The request bodies of a workload for one model and engine."""

    workload: FrozenWorkload
    profile: Profile
    model: str
    lines: tuple[dict[str, Any], ...] = ()
    """Bodies of the requests file; empty for synthetic prompts."""

    def body(self, case: Case, repetition: int) -> bytes:
        """JSON body of a case's request.

        Raises:
            UsageError: The engine can't be asked this, or the requests file has no such line.
        """
        prompt = prompt_of(self.workload, case, repetition)
        match self.workload.source:
            case Conversations() as source:
                return orjson.dumps(self._synthetic(prompt, source, source.output_tokens))
            case RequestsFile():
                return orjson.dumps(self._from_file(prompt))

    def probe_body(self) -> bytes:
        """JSON body of a request of the measured shape that no measured request repeats.

        Raises:
            UsageError: As :meth:`body`.
        """
        prompt = Prompt(self.workload, Domain.PROBE, 0, 0)
        source = self.workload.source
        if isinstance(source, Conversations):
            cap = min(source.output_tokens, PROBE_OUTPUT_TOKENS)
            return orjson.dumps(self._synthetic(prompt, source, cap))
        if not self.lines:
            return orjson.dumps(self._synthetic(prompt, UNKNOWN_SHAPE, PROBE_OUTPUT_TOKENS))
        body = self._from_file(prompt)
        for key in ("max_tokens", "max_completion_tokens", "min_tokens"):
            if isinstance(body.get(key), int):
                body[key] = min(body[key], PROBE_OUTPUT_TOKENS)
        if "max_tokens" not in body and "max_completion_tokens" not in body:
            body["max_tokens"] = PROBE_OUTPUT_TOKENS
        return orjson.dumps(body)

    def _synthetic(self, prompt: Prompt, source: Conversations, output_tokens: int) -> dict[str, object]:
        workload, profile = self.workload, self.profile
        as_ids = profile.takes_prompt_ids and workload.endpoint is Endpoint.COMPLETIONS
        return profile.body(
            Ask(
                endpoint=workload.endpoint,
                model=self.model,
                prompt_ids=prompt_ids(prompt, source.input_tokens, profile) if as_ids else None,
                prompt_text=None if as_ids else prompt_text(prompt, source.input_tokens),
                output_tokens=output_tokens,
                fixed_output=source.fixed_output,
                token_ids=workload.token_ids,
                seed=workload.seed,
            ),
        )

    def _from_file(self, prompt: Prompt) -> dict[str, Any]:
        """The declared body as it is, with what the measurement needs set.

        A warm-up or a probe sends a declared body with a word of its own before the prompt: the same
        shape, but nothing of the measured prompts gets into a prefix cache.
        """
        if not self.lines:
            raise UsageError("the workload's requests file has no request", where=self.workload.name)
        index = prompt.ordinal if prompt.domain is Domain.CORPUS else prompt.ordinal % len(self.lines)
        if index >= len(self.lines):
            raise UsageError(
                f"the requests file has {len(self.lines)} requests, number {index + 1} was asked for",
                where=self.workload.name,
            )
        body = self.lines[index]
        if prompt.domain is not Domain.CORPUS:
            body = _set_apart(body, f"{prompt.domain.name.lower()} {prompt.ordinal}: ")
        needed = {"model": self.model, "stream": True, "stream_options": {"include_usage": True}}
        return {**body, **needed, **self._token_id_flags()}

    def _token_id_flags(self) -> dict[str, object]:
        """The fields by which this engine is asked for token ids."""
        if not self.workload.token_ids:
            return {}
        plain, with_ids = (
            self.profile.body(Ask(self.workload.endpoint, self.model, None, "-", 1, False, flag, 0))
            for flag in (False, True)
        )
        return {key: value for key, value in with_ids.items() if plain.get(key) != value}


def _set_apart(body: dict[str, Any], words: str) -> dict[str, Any]:
    """The body with words before its first message or prompt, so that its prefix is its own."""
    prompt, messages = body.get("prompt"), body.get("messages")
    if isinstance(prompt, str):
        return {**body, "prompt": words + prompt}
    if isinstance(prompt, list):
        return {**body, "prompt": prompt[::-1]}
    if isinstance(messages, list) and messages and isinstance(messages[0], dict):
        content = messages[0].get("content")
        if isinstance(content, str):
            return {**body, "messages": [{**messages[0], "content": words + content}, *messages[1:]]}
        if isinstance(content, list):
            part = {"type": "text", "text": words}
            return {**body, "messages": [{**messages[0], "content": [part, *content]}, *messages[1:]]}
    return body


def read_lines(data: bytes, where: str) -> tuple[dict[str, Any], ...]:
    """The bodies of a requests file: one JSON object a line, as the plan has checked it.

    Raises:
        UsageError: A line is no JSON object; it says which.
    """
    bodies = []
    for number, line in enumerate(data.removesuffix(b"\n").split(b"\n"), start=1):
        try:
            body = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise UsageError(f"not JSON: {error}", where=f"{where}:{number}") from error
        if not isinstance(body, dict):
            raise UsageError("a request is a JSON object", where=f"{where}:{number}")
        bodies.append(body)
    return tuple(bodies)
