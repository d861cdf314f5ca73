"""One fixed greedy request before and after the load: a server that answers it otherwise has changed."""

from dataclasses import dataclass
from typing import Self

import orjson

from fairtrial.bench.calibration import Served
from fairtrial.drive.bodies import id_alphabet
from fairtrial.drive.prompts import Domain, Prompt, Prompts, PromptSpec
from fairtrial.profiles.profile import Ask
from fairtrial.schema.bench import CanaryCheck
from fairtrial.schema.client_vocab import Capability
from fairtrial.schema.requests import RequestRecord
from fairtrial.schema.vocab import Endpoint, Outcome
from fairtrial.serve.looking import shown

INPUT_TOKENS = 12
"""So few that the second answer hardly comes from a prefix cache: most keep blocks of 16 and more."""
OUTPUT_TOKENS = 16
_PROMPTS = Prompts(PromptSpec(seed=0, name="canary", width=1))
_PROMPT = Prompt(Domain.CANARY, 0)


@dataclass(frozen=True, slots=True)
class Canary:
    """The request, the same in every run."""

    body: bytes

    @classmethod
    def of(cls, served: Served, endpoint: Endpoint) -> Self:
        """The canary of a server.

        Raises:
            UsageError: The engine can't be asked this.
        """
        able = served.capabilities
        alphabet = id_alphabet(served.profile, able) if endpoint is Endpoint.COMPLETIONS else None
        ids = None if alphabet is None else _PROMPTS.ids(_PROMPT, INPUT_TOKENS, alphabet)
        body = served.profile.body(
            Ask(
                endpoint=endpoint,
                model=served.model,
                prompt_ids=ids,
                prompt_text=" ".join(_PROMPTS.words(_PROMPT, INPUT_TOKENS)) if ids is None else None,
                output_tokens=OUTPUT_TOKENS,
                fixed_output=Capability.FIXED_OUTPUT in able,
                token_ids=Capability.TOKEN_IDS in able,
                seed=0,
                capabilities=able,
            ),
        )
        return cls(orjson.dumps({**body, "temperature": 0}))


def compare(before: RequestRecord | None, after: RequestRecord | None) -> CanaryCheck:
    """Hold the answer after the load against the one before it."""
    if before is None or after is None:
        return CanaryCheck(passed=None, words=f"unknown: none was sent {_when(before is None)} the load")
    for record in (before, after):
        if record.outcome is not Outcome.OK:
            why = record.outcome if record.error is None else record.error
            return CanaryCheck(
                passed=None, words=f"unknown: no whole answer {_when(record is before)} the load ({why})"
            )
    if before.work_sha256 != after.work_sha256:
        return CanaryCheck(passed=None, words="unknown: the two requests were not the same")
    if before.model != after.model:
        first, last = (shown(str(record.model)) for record in (before, after))
        return CanaryCheck(passed=False, words=f"changed: {first} answered before the load, {last} after it")
    return _compared(before, after)


def _compared(before: RequestRecord, after: RequestRecord) -> CanaryCheck:
    if before.output_ids and after.output_ids:
        return _ids_compared(before.output_ids, after.output_ids)
    if before.text_sha256 is None or after.text_sha256 is None:
        return CanaryCheck(passed=None, words="unknown: an answer has neither token ids nor text")
    if before.text_sha256 != after.text_sha256:
        return CanaryCheck(passed=False, words="changed: the text after the load is another one")
    return CanaryCheck(passed=True, words="the same text before and after the load")


def _ids_compared(before: tuple[int, ...], after: tuple[int, ...]) -> CanaryCheck:
    if before == after:
        return CanaryCheck(passed=True, words=f"the same {len(after)} tokens before and after the load")
    pairs = enumerate(zip(before, after, strict=False), start=1)
    first = next((place for place, (one, other) in pairs if one != other), min(len(before), len(after)) + 1)
    return CanaryCheck(
        passed=False,
        words=f"changed: {len(before)} tokens before the load, others from token {first} after it",
    )


def _when(before: bool) -> str:  # noqa: FBT001 - which of two
    return "before" if before else "after"
