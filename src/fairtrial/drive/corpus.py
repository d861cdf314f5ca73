"""The request bodies of a trial's workload. Pure: no clock, no files, nothing random.

What a case sends doesn't depend on the arm: both arms of a repetition are sent the same prompts.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from fairtrial.drive.bodies import dressed, id_alphabet, needed_fields, set_apart
from fairtrial.drive.prompts import Domain, Prompt, Prompts, PromptSpec
from fairtrial.profiles.profile import Ask, Profile
from fairtrial.schema.client_vocab import Capability
from fairtrial.schema.errors import UsageError
from fairtrial.schema.vocab import Endpoint, Phase

if TYPE_CHECKING:  # reading plans takes longer than sending a request
    from fairtrial.schema.cases import Case
    from fairtrial.schema.plan import FrozenWorkload

PROBE_OUTPUT_TOKENS = 4
"""A probe asks for no more output than this."""
UNKNOWN_INPUT_TOKENS = 64
"""Length of what a probe sends for a requests file that it isn't shown."""


@dataclass(frozen=True, slots=True)
class _Shape:
    """How long a synthetic request is."""

    input_tokens: int
    output_tokens: int
    fixed_output: bool


def prompts_of(workload: "FrozenWorkload") -> Prompts:
    """The prompts of a workload."""
    phases = workload.phases
    width = max(workload.source.count, phases.warmup, phases.prime)
    return Prompts(PromptSpec(seed=workload.seed, name=workload.name, width=width))


def prompt_of(workload: "FrozenWorkload", case: "Case", repetition: int) -> Prompt:
    """The prompt that a case sends in a repetition (from 1)."""
    domain = Domain.WARMUP if case.phase is Phase.WARMUP else Domain.CORPUS
    return Prompt(domain, case.prompt, repetition if workload.corpus_per_repetition else 0)


@dataclass(frozen=True, slots=True)
class Corpus:
    """The request bodies of a workload for one model and engine."""

    workload: "FrozenWorkload"
    profile: Profile
    model: str
    lines: tuple[dict[str, Any], ...] = ()
    """Bodies of the requests file; empty for synthetic prompts."""
    capabilities: frozenset[Capability] | None = None
    """What the server was seen to take when the plan was frozen; None: its profile says it."""

    def body(self, case: "Case", repetition: int) -> bytes:
        """JSON body of a case's request.

        Raises:
            UsageError: The engine can't be asked this, or the requests file has no such line.
        """
        prompt = prompt_of(self.workload, case, repetition)
        source = self.workload.source
        if source.kind == "requests":
            return orjson.dumps(self._from_file(prompt))
        shape = _Shape(source.input_tokens, source.output_tokens, source.fixed_output)
        return orjson.dumps(self._synthetic(prompt, shape))

    def probe_body(self) -> bytes:
        """JSON body of a request of the measured shape that no measured request repeats.

        Raises:
            UsageError: As :meth:`body`.
        """
        prompt = Prompt(Domain.PROBE, 0)
        source = self.workload.source
        if source.kind == "conversations":
            cap = min(source.output_tokens, PROBE_OUTPUT_TOKENS)
            return orjson.dumps(
                self._synthetic(prompt, _Shape(source.input_tokens, cap, source.fixed_output))
            )
        if not self.lines:
            unknown = _Shape(UNKNOWN_INPUT_TOKENS, PROBE_OUTPUT_TOKENS, fixed_output=False)
            return orjson.dumps(self._synthetic(prompt, unknown))
        body = self._from_file(prompt)
        for key in ("max_tokens", "max_completion_tokens", "min_tokens"):
            if isinstance(body.get(key), int):
                body[key] = min(body[key], PROBE_OUTPUT_TOKENS)
        if "max_tokens" not in body and "max_completion_tokens" not in body:
            body["max_tokens"] = PROBE_OUTPUT_TOKENS
        return orjson.dumps(body)

    def _synthetic(self, prompt: Prompt, shape: _Shape) -> dict[str, object]:
        workload, prompts = self.workload, prompts_of(self.workload)
        ids = text = None
        alphabet = id_alphabet(self.profile, self.capabilities)
        if alphabet is not None and workload.endpoint is Endpoint.COMPLETIONS:
            ids = prompts.ids(prompt, shape.input_tokens, alphabet)
        else:
            text = " ".join(prompts.words(prompt, shape.input_tokens))
        return self.profile.body(
            Ask(
                endpoint=workload.endpoint,
                model=self.model,
                prompt_ids=ids,
                prompt_text=text,
                output_tokens=shape.output_tokens,
                fixed_output=shape.fixed_output,
                token_ids=workload.token_ids,
                seed=workload.seed,
                capabilities=self.capabilities,
            ),
        )

    def _from_file(self, prompt: Prompt) -> dict[str, Any]:
        """The declared body as it is, with what the measurement needs set.

        A warm-up or a probe sends a declared body with a word of its own before the prompt: the same
        shape, but nothing of the measured prompts gets into a prefix cache.
        """
        workload = self.workload
        if not self.lines:
            raise UsageError("the workload's requests file has no request", where=workload.name)
        index = prompt.ordinal if prompt.domain is Domain.CORPUS else prompt.ordinal % len(self.lines)
        if index >= len(self.lines):
            raise UsageError(
                f"the requests file has {len(self.lines)} requests, number {index + 1} was asked for",
                where=workload.name,
            )
        body = self.lines[index]
        if prompt.domain is not Domain.CORPUS:
            body = set_apart(body, f"{prompt.domain.name.lower()} {prompt.ordinal}: ")
        needed = needed_fields(
            self.profile, self.model, workload.endpoint, self.capabilities, token_ids=workload.token_ids
        )
        return dressed(body, needed)


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
