"""The part of readiness that is asked over HTTP: health, identity, model, one real request."""

from dataclasses import replace

from fairtrial.net.http_call import Unreachable
from fairtrial.net.secrets import strike
from fairtrial.schema.vocab import LaunchFailure, Proof
from fairtrial.serve.identity import Door, Pages, denied, identify, read_pages, refusal
from fairtrial.serve.readiness import Probe, Readiness

_PAGE_TIMEOUT_S = 5.0


def answering(door: Door, so_far: Readiness, probe: Probe, left_s: float) -> Readiness:
    """Go through the questions in order and stop at the first that isn't answered.

    Args:
        door: The server.
        so_far: What is proven without asking.
        probe: Sends one request of the measured shape. An engine with a health page is
            sent it once: a request changes its cache. Without such a page it alone tells
            a loaded engine from a loading one, and a refusal is no failure yet.
        left_s: Seconds left for the whole wait.

    Returns:
        Without a failure and not ready when asking again may help. Its message holds no bearer
        token, whatever the server said.
    """
    found = _answering(door, so_far, probe, left_s)
    return replace(found, message=strike(found.message, door.token))


def _answering(door: Door, so_far: Readiness, probe: Probe, left_s: float) -> Readiness:
    found = described(door, so_far, left_s)
    if found.identity is None or found.served_model is None or found.failure is not None:
        return found
    error = probe(door.base_url, found.served_model)
    if error is None:
        return replace(found, answers=Proof.TRUE, message="")
    return replace(
        found,
        answers=Proof.FALSE,
        failure=LaunchFailure.PROBE_FAILED if door.profile.health_path else None,
        message=f"the first request failed: {error}",
    )


def described(door: Door, so_far: Readiness, left_s: float) -> Readiness:
    """Everything but the request: health, model, identity."""
    timeout_s = min(_PAGE_TIMEOUT_S, left_s)
    found = _health(door, so_far, timeout_s)
    if found.healthy is Proof.FALSE:
        return found
    pages = read_pages(door, timeout_s)
    if pages.message:
        failure = LaunchFailure.PROBE_FAILED if pages.denied else None
        return replace(found, failure=failure, message=pages.message)
    # Without a health page, that the engine describes itself stands for it.
    return _identity(door, replace(found, healthy=Proof.TRUE), pages)


def _health(door: Door, so_far: Readiness, timeout_s: float) -> Readiness:
    path = door.profile.health_path
    if path is None:
        return so_far
    page = door.ask(path, timeout_s)
    if isinstance(page, Unreachable):
        return replace(so_far, healthy=Proof.FALSE, message=f"{path}: {page.reason}")
    if page.status == 200:
        return replace(so_far, healthy=Proof.TRUE)
    failure = LaunchFailure.PROBE_FAILED if denied(page.status) else None
    return replace(so_far, healthy=Proof.FALSE, failure=failure, message=refusal(path, page.status))


def _identity(door: Door, found: Readiness, pages: Pages) -> Readiness:
    unlisted = door.profile.serves_unlisted and door.model is not None
    if pages.models == () and not unlisted:
        return replace(found, message="it lists no model yet")
    if pages.models and not unlisted and door.model is not None and door.model not in pages.models:
        return _wrong(found, f"it must serve {door.model} and lists {', '.join(pages.models[:5])}")
    identity = identify(door, pages)
    if isinstance(identity, str):
        return replace(found, message=identity)
    found = replace(found, identity=identity)
    if pages.models and (door.model is None or door.model in pages.models):
        return replace(found, model=Proof.TRUE, served_model=door.model or pages.models[0])
    return _unlisted(door, found, identity.model)


def _unlisted(door: Door, found: Readiness, stated: str | None) -> Readiness:
    """A server without a list of models: what it serves rests on what its other pages state."""
    if stated is None and door.model is None:
        return _wrong(found, "it lists no models; name the model in the recipe")
    if stated is None:
        return replace(found, model=Proof.UNVERIFIED, served_model=door.model)
    if door.model not in (None, stated):
        return _wrong(found, f"it must serve {door.model} and states {stated}")
    return replace(found, model=Proof.TRUE, served_model=stated)


def _wrong(found: Readiness, message: str) -> Readiness:
    return replace(found, model=Proof.FALSE, failure=LaunchFailure.WRONG_MODEL, message=message)
