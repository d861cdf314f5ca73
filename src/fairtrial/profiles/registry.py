"""Every built-in profile by its name."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from fairtrial.profiles import (
    llama_cpp,
    lm_studio,
    ollama,
    openai,
    reference,
    sglang,
    tensorrt_llm,
    transformers_serve,
    vllm,
)
from fairtrial.profiles.profile import Profile
from fairtrial.schema.errors import UsageError

AUTO = "auto"
"""In the place of a profile's name: look at the running server and see."""

_ENGINES = (
    reference,
    vllm,
    sglang,
    llama_cpp,
    tensorrt_llm,
    lm_studio,
    ollama,
    transformers_serve,
    openai,
)
"""In the order in which a server is compared with them: quick and sure signs first."""
PROFILES: Mapping[str, Profile] = MappingProxyType({one.PROFILE.name: one.PROFILE for one in _ENGINES})


def without_token_ids(names: Iterable[str]) -> tuple[str, ...]:
    """Those of the named profiles that never give output token ids, each once.

    Of a server that is still to be looked at (``AUTO``) it isn't known.
    """
    named = {name for name in names if name != AUTO}
    return tuple(sorted(name for name in named if not PROFILES[name].gives_token_ids))


def profile(name: str) -> Profile:
    """The profile of this name.

    Raises:
        UsageError: There is none; the hint lists those there are.
    """
    found = PROFILES.get(name)
    if found is None:
        raise UsageError(f"no engine profile {name!r}", hint=f"known: {', '.join(sorted(PROFILES))}")
    return found
