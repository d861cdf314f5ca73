"""What an engine profile is. Pure data and pure functions; the edges do the asking."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from fairtrial.schema.servers import Identity
from fairtrial.schema.vocab import Counter, Endpoint


@dataclass(frozen=True, slots=True)
class Ask:
    """One request a profile must phrase for its engine."""

    endpoint: Endpoint
    model: str
    prompt_ids: tuple[int, ...] | None
    """Prompt as token ids, for engines that take them."""
    prompt_text: str | None
    """Prompt as text, otherwise."""
    output_tokens: int
    fixed_output: bool
    token_ids: bool
    seed: int


IdentityReader = Callable[[Mapping[str, object]], Identity]
"""Makes an identity from the JSON pages that the engine answered, by path."""
BodyMaker = Callable[[Ask], dict[str, object]]
"""Makes the JSON body of a request."""


@dataclass(frozen=True, slots=True)
class Profile:
    """How one engine is asked, identified, found healthy and metered."""

    name: str
    body: BodyMaker
    identity: IdentityReader
    identity_paths: tuple[str, ...] = ("/v1/models",)
    """Pages read for the identity; one that answers 404 is left out."""
    paths: Mapping[Endpoint, str] = field(
        default_factory=lambda: {
            Endpoint.COMPLETIONS: "/v1/completions",
            Endpoint.CHAT: "/v1/chat/completions",
        },
    )
    health_path: str | None = "/health"
    metrics_path: str | None = None
    takes_prompt_ids: bool = False
    gives_token_ids: bool = False
    """Whether answers hold output token ids when a request asks for them in this engine's words."""
    vocabulary: int | None = None
    """Number of token ids that random prompts may draw from."""
    reserved_ids: int = 0
    """The first ids (specials) that random prompts must not use."""
    counters: Mapping[Counter, str] = field(default_factory=dict)
    """Name of the engine's metric for each of fairtrial's counters (summed over its label sets)."""
