"""What two running servers say of themselves, and where they differ. Looked at before anything is sent."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from fairtrial.schema.client_vocab import Capability
from fairtrial.schema.errors import FairtrialError, UsageError
from fairtrial.schema.vocab import Endpoint
from fairtrial.serve.discovery import Discovered, discover
from fairtrial.serve.looking import base_address

UNTOLD = "not told"
"""Stands where a server doesn't say."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that the servers tell differently."""

    key: str
    baseline: str
    candidate: str


@dataclass(frozen=True, slots=True)
class Pair:
    """Both servers as they were found."""

    baseline: Discovered
    candidate: Discovered

    @property
    def endpoint(self) -> Endpoint:
        """The route that both can be asked on alike: chat unless both take prompts better otherwise."""
        routes = {self.baseline.endpoint, self.candidate.endpoint}
        return routes.pop() if len(routes) == 1 else Endpoint.CHAT


def look_at_both(urls: tuple[str, str], *, token: str | None, model: str | None) -> Pair:
    """Look at two servers: a few pages and tiny requests each.

    Raises:
        UsageError: An address isn't right, or both are the same.
        LaunchError: A server doesn't answer as one that works.
    """
    if base_address(urls[0]) == base_address(urls[1]):
        raise UsageError(
            "both addresses are the same server",
            where=urls[0],
            hint="the second arm would find the first one's prompts in its cache: start a second one",
        )
    found = []
    for arm, url in zip("AB", urls, strict=True):
        try:
            found.append(discover(url, token=token, engine=None, model=model, endpoint=None))
        except FairtrialError as error:
            error.message = f"server {arm}: {error.message}"
            raise
    return Pair(*found)


def title(found: Discovered) -> str:
    """What a server is, in words."""
    version = found.identity.version if found.identity else None
    return f"{found.profile.title} {version or ''}".strip() + f", model {found.model}"


def differences(pair: Pair) -> tuple[Difference, ...]:
    """Everything that both servers tell and tell differently, or that only one of them tells."""
    left, right = dict(_told(pair.baseline)), dict(_told(pair.candidate))
    return tuple(
        Difference(key, left.get(key, UNTOLD), right.get(key, UNTOLD))
        for key in dict.fromkeys((*left, *right))
        if left.get(key) != right.get(key)
    )


def _told(found: Discovered) -> Iterator[tuple[str, str]]:
    yield "engine", found.profile.title
    yield "model", found.model
    identity = found.identity
    if identity is not None:
        plain = {
            "version": identity.version,
            "weights, sha256": identity.model_sha256,
            "longest request, tokens": identity.max_model_len,
            **({} if identity.geometry is None else asdict(identity.geometry)),
            **identity.settings,
        }
        yield from ((key, _shown(value)) for key, value in plain.items() if value is not None)
    for capability in Capability:
        yield capability.value.replace("_", " "), "yes" if capability in found.capabilities else "no"


def _shown(value: object) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
