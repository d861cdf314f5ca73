"""Every built-in profile by its name."""

from collections.abc import Mapping
from types import MappingProxyType

from fairtrial.profiles import openai, reference
from fairtrial.profiles.profile import Profile
from fairtrial.schema.errors import UsageError

PROFILES: Mapping[str, Profile] = MappingProxyType(
    {profile.name: profile for profile in (openai.PROFILE, reference.PROFILE)},
)


def profile(name: str) -> Profile:
    """The profile of this name.

    Raises:
        UsageError: There is none; the hint lists those there are.
    """
    found = PROFILES.get(name)
    if found is None:
        raise UsageError(f"no engine profile {name!r}", hint=f"known: {', '.join(sorted(PROFILES))}")
    return found
