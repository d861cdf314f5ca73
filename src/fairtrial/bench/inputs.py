"""What ``bench`` sends: each body made when it is due, never all of them at once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from fairtrial.bench.calibration import (
    Calibration,
    Caller,
    LengthMethod,
    Served,
    Wanted,
    calibrate,
    learn_token_ids,
    nominal,
)
from fairtrial.drive.bodies import id_alphabet, needed_fields
from fairtrial.drive.prompts import Domain, Prompt, Prompts, PromptSpec
from fairtrial.profiles.profile import Ask
from fairtrial.schema.client_vocab import Capability
from fairtrial.schema.errors import UsageError
from fairtrial.schema.vocab import Endpoint

_NAME = "bench"
_MOST_PROMPTS = 2**28
"""More prompts than a run sends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputSpec:
    """What is asked of the server."""

    endpoint: Endpoint
    input_tokens: int
    """Prompt tokens of each request as the server counts them, chat template and all."""
    output_tokens: int
    fixed_output: bool
    """Ask for exactly so many output tokens, whatever the model would say."""
    shared_prefix_tokens: int = 0
    prefixes: int = 1
    """Number of different shared prefixes; requests take turns with them."""
    seed: int
    token_ids: bool
    """Ask for the ids of the output."""
    requests_file: Path | None = None
    """Bodies to send instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Request bodies by number."""

    make: Callable[[Prompt], dict[str, object]]
    method: LengthMethod
    how: str
    """How prompts were brought to their length, for people."""
    nominal_tokens: int | None
    """Prompt tokens asked for; None where a requests file says. What was sent is in each record's usage."""
    count: int | None = None
    """Number of bodies in a requests file, which begins again after its last; None: as many as wanted."""
    bare: int = 0
    """Those of them that are a prompt and nothing else, and so get this run's settings."""
    notes: tuple[str, ...] = ()

    def body(self, ordinal: int, warmup: bool) -> bytes:  # noqa: FBT001 - a number and which of two
        """JSON body of a request.

        Args:
            ordinal: Number of the request, different for all of a run; warm-ups count apart.
            warmup: Whether it is a warm-up, which shares no prefix with any measured request.

        Raises:
            UsageError: The engine can't be asked this, or the requests file was changed.
        """
        return orjson.dumps(self.make(Prompt(Domain.WARMUP if warmup else Domain.CORPUS, ordinal)))


def prepare_inputs(spec: InputSpec, served: Served, caller: Caller | None) -> Inputs:
    """Find out how to make the prompts that are asked for.

    Args:
        spec: What is asked.
        served: The server, its profile and what it was seen to take.
        caller: Sends the control requests of a calibration; None: nobody asks, lengths are nominal.

    Raises:
        UsageError: The prefix leaves nothing of the prompt, the engine can't be asked this, or the
            requests file can't be read or sent.
    """
    if spec.requests_file is not None:
        return _from_file(spec, served, spec.requests_file)
    if spec.shared_prefix_tokens >= spec.input_tokens:
        raise UsageError(
            f"a shared prefix of {spec.shared_prefix_tokens} tokens leaves nothing of a prompt of "
            f"{spec.input_tokens} to tell it by",
            hint="shorten the prefix, or ask for longer prompts",
        )
    prompts = PromptSpec(
        seed=spec.seed,
        name=_NAME,
        width=_MOST_PROMPTS,
        shared_prefix_tokens=spec.shared_prefix_tokens,
        prefixes=spec.prefixes,
    )
    ids, how = _ids(spec, served, caller)
    if ids:
        return _of_ids(spec, served, Prompts(prompts), ids, how)
    wanted = Wanted(endpoint=spec.endpoint, tokens=spec.input_tokens, prompts=prompts)
    return _of_text(spec, served, nominal(wanted) if caller is None else calibrate(wanted, served, caller))


def _ids(spec: InputSpec, served: Served, caller: Caller | None) -> tuple[Sequence[int], str]:
    """The ids that prompts can be made of, and how they are known; none where text must be sent."""
    if spec.endpoint is not Endpoint.COMPLETIONS or Capability.PROMPT_IDS not in served.capabilities:
        return (), ""
    stated = id_alphabet(served.profile, served.capabilities)
    if stated is not None:
        return stated, "token ids"
    learned = () if caller is None else learn_token_ids(served, caller, spec.endpoint)
    return learned, "token ids of plain words, named by the server's tokenizer"


def _ask(spec: InputSpec, served: Served, ids: tuple[int, ...] | None, text: str | None) -> Ask:
    return Ask(
        endpoint=spec.endpoint,
        model=served.model,
        prompt_ids=ids,
        prompt_text=text,
        output_tokens=spec.output_tokens,
        fixed_output=spec.fixed_output,
        token_ids=spec.token_ids,
        seed=spec.seed,
        capabilities=served.capabilities,
    )


def _of_ids(spec: InputSpec, served: Served, prompts: Prompts, ids: Sequence[int], how: str) -> Inputs:
    def make(prompt: Prompt) -> dict[str, object]:
        made = prompts.ids(prompt, spec.input_tokens, ids)
        return served.profile.body(_ask(spec, served, made, None))

    return Inputs(
        make=make,
        method=LengthMethod.IDS,
        how=f"by {how}: exact by construction",
        nominal_tokens=spec.input_tokens,
    )


def _of_text(spec: InputSpec, served: Served, calibration: Calibration) -> Inputs:
    def make(prompt: Prompt) -> dict[str, object]:
        text = calibration.shape.text(calibration.prompts, prompt)
        return served.profile.body(_ask(spec, served, None, text))

    return Inputs(
        make=make,
        method=calibration.method,
        how=calibration.how,
        nominal_tokens=spec.input_tokens,
        notes=calibration.notes,
    )


def _from_file(spec: InputSpec, served: Served, path: Path) -> Inputs:
    from fairtrial.bench.file_bodies import read_bodies  # its strict reader takes time to import

    template = served.profile.body(_ask(spec, served, None, "-"))
    needed = needed_fields(
        served.profile, served.model, spec.endpoint, served.capabilities, token_ids=spec.token_ids
    )
    bodies = read_bodies(path, spec.endpoint, template, needed)
    return Inputs(
        make=bodies.body,
        method=LengthMethod.FILE,
        how="as the requests file says",
        nominal_tokens=None,
        count=bodies.count,
        bare=bodies.bare,
    )
