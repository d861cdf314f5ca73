"""What an engine profile is. Pure data and pure functions; the edges do the asking.

A request is phrased from the profile's table of fields: for each capability the fields that ask for
it. So what isn't there is never sent, which strict servers demand, and a probe knows what to try.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from fairtrial.profiles.pages import MODELS_PAGE, listed_models
from fairtrial.schema.client_vocab import Capability
from fairtrial.schema.errors import UsageError
from fairtrial.schema.identity import Identity
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
    capabilities: frozenset[Capability] | None = None
    """What the server was seen to take and tell: nothing else is asked for. None: what the profile says."""


Pages = Mapping[str, object]
"""The JSON pages that a server answered, by path."""
IdentityReader = Callable[[Pages], Identity]
"""Makes an identity from the pages."""
FieldMaker = Callable[[Ask], Mapping[str, object]]
"""The fields of a request's body that ask for one capability."""


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """A route that turns text into token ids, specials included, as a text prompt would be read."""

    path: str
    body: Callable[[str, str], dict[str, object]]
    """The request for (text, model)."""
    ids: Callable[[Mapping[str, object]], tuple[int, ...] | None]
    """The ids in its answer; None if there are none."""


def _nothing(_: Pages) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Profile:
    """How one engine is asked, recognised, identified, found healthy and metered."""

    name: str
    identity: IdentityReader
    title: str = ""
    """The engine's own name, for people."""
    capabilities: frozenset[Capability] = frozenset()
    """What the engine can be asked and can tell when it is started so that it tells most."""
    chat_lacks: frozenset[Capability] = frozenset({Capability.PROMPT_IDS})
    """Those of them that its chat route doesn't have."""
    fields: Mapping[Capability, FieldMaker] = field(default_factory=dict)
    """How they are asked for; what is told unasked has no entry."""
    recognise: Callable[[Pages], bool] = _nothing
    """Whether these pages are this engine's."""
    marker_paths: tuple[str, ...] = ()
    """Pages beside the list of models by which it is recognised."""
    identity_paths: tuple[str, ...] = (MODELS_PAGE,)
    """Pages read for the identity; one that answers 404 is left out."""
    models: Callable[[Pages], tuple[str, ...] | None] = listed_models
    """Names that may be asked for, the one meant by default first; None without such a page."""
    serves_unlisted: bool = False
    """Whether it loads a model that it doesn't list when asked for it."""
    paths: Mapping[Endpoint, str] = field(
        default_factory=lambda: {
            Endpoint.COMPLETIONS: "/v1/completions",
            Endpoint.CHAT: "/v1/chat/completions",
        },
    )
    tokenizer: Tokenizer | None = None
    health_path: str | None = "/health"
    metrics_path: str | None = None
    vocabulary: int | None = None
    """Number of token ids that random prompts may draw from."""
    reserved_ids: int = 0
    """The first ids (specials) that random prompts must not use."""
    counters: Mapping[Counter, str] = field(default_factory=dict)
    """Name of the engine's metric for each of fairtrial's counters (summed over its label sets)."""

    def abilities(self, endpoint: Endpoint) -> frozenset[Capability]:
        """What the engine can be asked and can tell on a route."""
        return self.capabilities - self.chat_lacks if endpoint is Endpoint.CHAT else self.capabilities

    @property
    def takes_prompt_ids(self) -> bool:
        """Whether prompts can be drawn as random token ids: it takes ids, and which it knows is known."""
        return Capability.PROMPT_IDS in self.capabilities and self.vocabulary is not None

    @property
    def gives_token_ids(self) -> bool:
        """Whether answers hold output token ids when a request asks for them in this engine's words."""
        return Capability.TOKEN_IDS in self.capabilities

    def body(self, ask: Ask) -> dict[str, object]:
        """Phrase a request.

        What isn't among the capabilities isn't asked for: the answer shows what was done.

        Raises:
            UsageError: The engine doesn't take such a prompt, or there is none.
        """
        can = self.abilities(ask.endpoint)
        if ask.capabilities is not None:
            can &= ask.capabilities
        phrased: dict[str, object] = {
            "model": ask.model,
            **self._prompt(ask, can),
            "max_tokens": ask.output_tokens,
            "temperature": 0,
            "stream": True,
        }
        wanted = {Capability.FIXED_OUTPUT: ask.fixed_output, Capability.TOKEN_IDS: ask.token_ids}
        for capability, make in self.fields.items():
            if capability in can and wanted.get(capability, True):
                phrased |= make(ask)
        return phrased

    def _prompt(self, ask: Ask, can: frozenset[Capability]) -> dict[str, object]:
        if ask.endpoint is not Endpoint.CHAT and ask.prompt_ids is not None and Capability.PROMPT_IDS in can:
            return {"prompt": list(ask.prompt_ids)}
        if ask.prompt_text is None:
            raise UsageError(
                f"the engine profile {self.name} needs a text prompt for {ask.endpoint.value}",
                hint="give the workload a requests file, or name the engine's own profile",
            )
        if ask.endpoint is Endpoint.CHAT:
            return {"messages": [{"role": "user", "content": ask.prompt_text}]}
        return {"prompt": ask.prompt_text}
