"""Finding out what a running server is, which model it serves, and what it can be asked."""

from dataclasses import dataclass

from fairtrial.net.secrets import strike
from fairtrial.profiles import openai
from fairtrial.profiles.pages import MODELS_PAGE, peek, rows
from fairtrial.profiles.profile import Profile
from fairtrial.profiles.registry import AUTO, PROFILES, profile
from fairtrial.schema.client_vocab import Capability
from fairtrial.schema.errors import FairtrialError, UsageError
from fairtrial.schema.identity import Identity
from fairtrial.schema.vocab import Endpoint
from fairtrial.serve import capabilities
from fairtrial.serve.capabilities import Tried
from fairtrial.serve.looking import NO_SERVER, Looking, base_address, shown

_MOST_NAMED = 8
"""Models that a message lists."""


@dataclass(frozen=True, slots=True)
class Discovered:
    """A running server as it was found."""

    profile: Profile
    model: str
    """Name that requests ask for."""
    models: tuple[str, ...]
    """Names that it lists."""
    identity: Identity | None
    """None where its pages can't be understood; a note says why."""
    capabilities: frozenset[Capability]
    """What it takes and tells on the route; without a probe, what its profile says."""
    notes: tuple[str, ...]
    """What is worth knowing, for people."""
    endpoint: Endpoint
    """The route that was looked at."""


def discover(  # noqa: PLR0913 - everything that a caller may know already
    base_url: str,
    *,
    token: str | None,
    engine: str | None,
    model: str | None,
    endpoint: Endpoint | None,
    timeout_s: float = 5.0,
    probe: bool = True,
) -> Discovered:
    """Look at a running server: a few pages, then tiny requests that nobody else sends.

    Args:
        base_url: Its address, with or without ``/v1``.
        token: Bearer token; no message ever holds it.
        engine: Name of its profile; None or ``auto`` to recognise it by its pages.
        model: Name to ask for; None takes the one that it lists first.
        endpoint: The route to be measured; None takes completions where prompts can be token ids,
            chat otherwise.
        timeout_s: Longest wait for a page.
        probe: Whether to send requests; without them the profile's word is taken.

    Raises:
        UsageError: The address, the token, the engine or the model isn't right.
        LaunchError: The server doesn't answer as one that works.
    """
    named = None if engine in (None, AUTO) else profile(engine)
    looking = Looking(base_address(base_url), token, timeout_s)
    looking.read_models()
    found = named or _recognised(looking)
    looking.read(*found.identity_paths)
    names = found.models(looking.pages) or ()
    chosen, notes = _chosen(looking, found, names, model)
    route, tried = _tried(looking, found, chosen, endpoint, probe=probe)
    identity, why = _identity(looking, found, chosen)
    return Discovered(
        profile=found,
        model=chosen,
        models=names,
        identity=identity,
        capabilities=tried.capabilities,
        notes=tuple(strike(note, token) for note in (*notes, *why, *tried.notes)),
        endpoint=route,
    )


def _recognised(looking: Looking) -> Profile:
    """The first engine that knows its own pages; any OpenAI-compatible server otherwise."""
    known = [one for one in PROFILES.values() if one.name != openai.NAME]
    for one in known:
        if one.recognise(looking.pages):
            return one
    for one in known:
        if not one.marker_paths:
            continue
        looking.read(*one.marker_paths)
        # Its absence can speak of another engine: LM Studio names itself where it has no such page.
        for other in known:
            if other.recognise(looking.pages):
                return other
    return openai.PROFILE


def _chosen(
    looking: Looking, found: Profile, names: tuple[str, ...], wanted: str | None
) -> tuple[str, tuple[str, ...]]:
    listed = ", ".join(map(shown, names[:_MOST_NAMED])) + (", ..." if len(names) > _MOST_NAMED else "")
    if wanted is None:
        if not names:
            known = "name the model, and check that the address is that of the API"
            listing = peek(looking.pages, MODELS_PAGE).get("data")
            raise UsageError(
                f"the server lists no model at {MODELS_PAGE}",
                where=looking.base_url,
                hint=known if isinstance(listing, list) else f"{NO_SERVER} {known}",
            )
        first = f"of {len(names)} models the first was taken, {shown(names[0])}: {listed}"
        return names[0], (first,) if len(names) > 1 else ()
    if wanted in names:
        return wanted, ()
    if names and not found.serves_unlisted:
        # Many servers answer for any name that is asked: what they list is what they serve.
        raise UsageError(
            f"the server doesn't serve {shown(wanted)}",
            where=looking.base_url,
            hint=f"it serves {strike(listed, looking.token)}",
        )
    return wanted, ("the server doesn't list the model: that it serves it shows in its answers only",)


def _tried(
    looking: Looking, found: Profile, model: str, endpoint: Endpoint | None, *, probe: bool
) -> tuple[Endpoint, Tried]:
    by_ids = Capability.PROMPT_IDS in found.abilities(Endpoint.COMPLETIONS)
    route = endpoint or (Endpoint.COMPLETIONS if by_ids else Endpoint.CHAT)
    if not probe:
        return route, Tried(found.abilities(route), ())
    try:
        tried = capabilities.probe(looking, found, model, route)
    except UsageError:
        if endpoint is not None or route is Endpoint.CHAT:
            raise
        return Endpoint.CHAT, capabilities.probe(looking, found, model, Endpoint.CHAT)
    if endpoint is None and route is Endpoint.COMPLETIONS and Capability.PROMPT_IDS not in tried.capabilities:
        return Endpoint.CHAT, capabilities.probe(looking, found, model, Endpoint.CHAT)
    return route, tried


def _identity(looking: Looking, found: Profile, model: str) -> tuple[Identity | None, tuple[str, ...]]:
    pages = looking.described(found.identity_paths)
    page = peek(pages, MODELS_PAGE)
    of_it = [row for row in rows(page) if row.get("id") == model]
    if of_it or found.serves_unlisted:
        pages[MODELS_PAGE] = {**page, "data": of_it}
    else:
        pages.pop(MODELS_PAGE, None)
    try:
        return found.identity(pages), ()
    except FairtrialError as exc:
        return None, (f"its identity pages can't be understood: {exc.line()}",)
