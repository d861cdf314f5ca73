"""What a server takes and tells, tried once with tiny requests of the measured shape.

A stream is read as it will be read when it counts: some engines give ids in whole answers only.
"""

import os
from dataclasses import dataclass

import orjson

from fairtrial.decode.answer import Answer, AnswerDecoder
from fairtrial.decode.sse import EventStream
from fairtrial.net.http_call import Page, Unreachable, post
from fairtrial.net.secrets import strike
from fairtrial.profiles.profile import Ask, Profile
from fairtrial.schema.client_vocab import Capability
from fairtrial.schema.errors import LaunchError
from fairtrial.schema.vocab import Endpoint
from fairtrial.serve.looking import Looking

OUTPUT_TOKENS = 4
"""Output tokens of a probe."""
TIMEOUT_S = 120.0
"""The first request of a server may compile kernels."""
_REFUSALS = (400, 422)
"""How servers refuse a field: everything else is no matter of fields."""
_RANDOM_IDS = 12
_LOWEST_ID = 10
"""Every vocabulary has this and the next 255 ids; below it specials are common."""


@dataclass(frozen=True, slots=True)
class Tried:
    """What the probes showed."""

    capabilities: frozenset[Capability]
    notes: tuple[str, ...]
    """What the profile says of the engine and this server doesn't do, in words."""


@dataclass(slots=True)
class _Probe:
    """One server, tried on one route."""

    looking: Looking
    profile: Profile
    model: str
    endpoint: Endpoint
    words: str
    ids: tuple[int, ...] | None = None

    def ask(self, wanted: frozenset[Capability]) -> Page:
        """Send a request that asks for exactly this.

        Raises:
            LaunchError: No answer.
        """
        body = self.profile.body(
            Ask(
                endpoint=self.endpoint,
                model=self.model,
                prompt_ids=self.ids,
                prompt_text=self.words,
                output_tokens=OUTPUT_TOKENS,
                fixed_output=True,
                token_ids=True,
                seed=1,
                capabilities=wanted,
            )
        )
        return self.post(self.profile.paths[self.endpoint], body)

    def post(self, path: str, body: dict[str, object]) -> Page:
        looking = self.looking
        wait_s = max(looking.timeout_s, TIMEOUT_S)
        page = post(looking.base_url + path, orjson.dumps(body), timeout_s=wait_s, token=looking.token)
        if isinstance(page, Unreachable):
            raise looking.unreachable(page)
        return page


def probe(looking: Looking, profile: Profile, model: str, endpoint: Endpoint) -> Tried:
    """Try what the profile says of the engine; in the usual case that is one request.

    Args:
        looking: The server.
        profile: How it is asked.
        model: Name to ask for.
        endpoint: The route that will be measured.

    Raises:
        LaunchError: It doesn't answer, or fails.
        UsageError: It refuses even the plainest request.
    """
    words = f"probe {os.urandom(8).hex()}: the of and to in a is that"
    trying = _Probe(looking, profile, model, endpoint, words)
    known = profile.abilities(endpoint)
    tokenized = _tokenize(trying) if Capability.TOKENIZE in known else None
    if Capability.PROMPT_IDS in known:
        trying.ids = tokenized or tuple(_LOWEST_ID + byte for byte in os.urandom(_RANDOM_IDS))
    wanted = known if tokenized else known - {Capability.TOKENIZE}
    page = trying.ask(wanted)
    if page.status in _REFUSALS and _optional(profile, wanted):
        wanted, page = _narrowed(trying, wanted)
    if page.status != 200:
        raise looking.refused(profile.paths[endpoint], page)
    told, remarks = _told(trying, wanted, _answer(looking, profile.paths[endpoint], page))
    return Tried(told, (*_lacking(known, told), *remarks))


def _tokenize(trying: _Probe) -> tuple[int, ...] | None:
    """The ids of the probe's words as the server's tokenizer makes them; None where it makes none."""
    tokenizer = trying.profile.tokenizer
    if tokenizer is None:
        return None
    page = trying.post(tokenizer.path, tokenizer.body(trying.words, trying.model))
    if page.status != 200:
        return None
    try:
        answer = orjson.loads(page.body)
    except orjson.JSONDecodeError:
        return None
    return (tokenizer.ids(answer) or None) if isinstance(answer, dict) else None


def _optional(profile: Profile, wanted: frozenset[Capability]) -> frozenset[Capability]:
    """What changes the request, so that a server may refuse it."""
    return wanted & (profile.fields.keys() | {Capability.PROMPT_IDS})


def _narrowed(trying: _Probe, wanted: frozenset[Capability]) -> tuple[frozenset[Capability], Page]:
    """What of a refused request is taken, tried one by one, and the answer to all of that at once."""
    optional = _optional(trying.profile, wanted)
    plain = wanted - optional
    page = trying.ask(plain)
    taken = plain
    if page.status != 200:
        return plain, page
    for capability in sorted(optional):
        if trying.ask(plain | {capability}).status == 200:
            taken |= {capability}
    return (taken, trying.ask(taken)) if taken != plain else (plain, page)


def _answer(looking: Looking, path: str, page: Page) -> Answer:
    """The answer in a page, read as measured answers are.

    Raises:
        LaunchError: There is none, or it tells of a failure.
    """
    decoder = AnswerDecoder()
    events = EventStream().feed(page.body)
    decoder.events([event.data for event in events])
    if not events:
        decoder.body(page.body)
    answer = decoder.result(partial_event=False)
    where = looking.base_url + path
    if answer.error_message is not None:
        message = strike(answer.error_message, looking.token)[:200] or "the server reports an error"
        raise LaunchError(message, where=where, hint="read the server's log")
    if not (answer.event_ids or answer.finish_reason):
        raise LaunchError("the answer holds no tokens", where=where, hint="is it an LLM server?")
    return answer


def _told(
    trying: _Probe, wanted: frozenset[Capability], answer: Answer
) -> tuple[frozenset[Capability], tuple[str, ...]]:
    """What of the things asked for came, and remarks on what came."""
    usage, ids, remarks = answer.usage, answer.output_ids, []
    absent = set()
    if ids is None:
        absent.add(Capability.TOKEN_IDS)
    if usage.output_tokens is None or usage.prompt_tokens is None:
        absent.add(Capability.STREAM_USAGE)
    if usage.cached_tokens is None:
        absent.add(Capability.CACHED_TOKENS)
    made = usage.output_tokens if usage.output_tokens is not None else len(ids) if ids else None
    if Capability.FIXED_OUTPUT in wanted and made not in (None, OUTPUT_TOKENS):
        absent.add(Capability.FIXED_OUTPUT)
        remarks.append(f"asked for exactly {OUTPUT_TOKENS} output tokens, it made {made}")
    if Capability.PROMPT_IDS in wanted and usage.prompt_tokens not in (None, len(trying.ids or ())):
        absent.add(Capability.PROMPT_IDS)
        remarks.append(f"of {len(trying.ids or ())} prompt ids it made {usage.prompt_tokens} tokens")
    if ids is not None and made is not None and len(ids) < made:
        remarks.append(f"its stream holds the ids of {len(ids)} of {made} output tokens")
    return wanted - absent, tuple(remarks)


def _lacking(known: frozenset[Capability], told: frozenset[Capability]) -> tuple[str, ...]:
    missing = ", ".join(capability.value.replace("_", " ") for capability in sorted(known - told))
    return (f"not taken or not told by this server: {missing}",) if missing else ()
