"""Readiness of an endpoint that somebody else runs: asked, never started or stopped."""

from fairtrial.profiles.profile import Profile
from fairtrial.schema.errors import UsageError
from fairtrial.schema.servers import Recipe
from fairtrial.schema.vocab import Proof
from fairtrial.serve.answering import answering
from fairtrial.serve.identity import Door
from fairtrial.serve.readiness import Probe, Readiness, StopAsked, poll
from fairtrial.serve.token import bearer_token


def attach(
    recipe: Recipe,
    profile: Profile,
    *,
    probe: Probe,
    deadline_s: float | None = None,
    should_stop: StopAsked = lambda: False,
) -> Readiness:
    """Wait until an attached endpoint is healthy, says who it is and answers one request.

    Its process and the owner of its port are nobody's business here: both proofs are
    ``unverified``.

    Args:
        recipe: An ``attach`` recipe.
        profile: How its engine is asked.
        probe: Sends one request of the measured shape.
        deadline_s: Longest wait in seconds; None takes the recipe's own limit.
        should_stop: Asked between looks.

    Raises:
        UsageError: The recipe has no address, or its bearer token isn't there.
    """
    door = Door(attached_url(recipe), profile, recipe.model, bearer_token(recipe))
    so_far = Readiness(alive=Proof.UNVERIFIED, port_ours=Proof.UNVERIFIED)
    wait_s = recipe.frozen.timing.start_ms / 1000 if deadline_s is None else deadline_s
    return poll(lambda left_s: answering(door, so_far, probe, left_s), wait_s, should_stop)


def attached_url(recipe: Recipe) -> str:
    """The base address of an attached endpoint, without a slash at the end.

    Raises:
        UsageError: The recipe has none.
    """
    if not recipe.url:
        raise UsageError("the recipe has no address", where="url", hint='give url = "http://..."')
    return recipe.url.rstrip("/")
