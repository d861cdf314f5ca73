"""Every built-in profile by its name."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from fairtrial.profiles import openai, reference
from fairtrial.profiles.profile import Profile
from fairtrial.schema.errors import UsageError

PROFILES: Mapping[str, Profile] = MappingProxyType(
    {profile.name: profile for profile in (openai.PROFILE, reference.PROFILE)},
)


def without_token_ids(names: Iterable[str]) -> tuple[str, ...]:
    """Those of the named profiles that never give output token ids, each once."""
    return tuple(sorted({name for name in names if not PROFILES[name].gives_token_ids}))


def profile(name: str) -> Profile:
    """The profile of this name.

    Raises:
        UsageError: There is none; the hint lists those there are.
    """
    found = PROFILES.get(name)
    if found is None:
        raise UsageError(f"no engine profile {name!r}", hint=f"known: {', '.join(sorted(PROFILES))}")
    return found
