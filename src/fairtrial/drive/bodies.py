"""Request bodies that people wrote: sent as they are, but for what a measurement needs. Pure."""

from collections.abc import Mapping
from typing import Any

from fairtrial.profiles.profile import Ask, Profile
from fairtrial.schema.client_vocab import Capability
from fairtrial.schema.vocab import Endpoint

Body = Mapping[str, Any]
"""A JSON object."""

_ALWAYS = ("model", "stream", "stream_options")


def id_alphabet(profile: Profile, capabilities: frozenset[Capability] | None) -> range | None:
    """The token ids that prompts may be made of; None where the engine takes none, or states none.

    Args:
        profile: How the engine is asked.
        capabilities: What the server was seen to take; None: its profile says it.
    """
    takes = profile.takes_prompt_ids if capabilities is None else Capability.PROMPT_IDS in capabilities
    if not takes or profile.vocabulary is None or profile.vocabulary - profile.reserved_ids < 2:
        return None
    return range(profile.reserved_ids, profile.vocabulary)


def needed_fields(
    profile: Profile,
    model: str,
    endpoint: Endpoint,
    capabilities: frozenset[Capability] | None,
    *,
    token_ids: bool,
) -> dict[str, object]:
    """What a measurement sets in a body: model, stream, and the fields that ask for counts and ids."""
    plain, with_ids = (
        profile.body(
            Ask(
                endpoint=endpoint,
                model=model,
                prompt_ids=None,
                prompt_text="-",
                output_tokens=1,
                fixed_output=False,
                token_ids=asked,
                seed=0,
                capabilities=capabilities,
            ),
        )
        for asked in (False, True)
    )
    needed = {key: plain[key] for key in _ALWAYS if key in plain}
    if token_ids:
        needed |= {key: value for key, value in with_ids.items() if plain.get(key) != value}
    return needed


def dressed(body: Body, needed: Body) -> dict[str, Any]:
    """The body with the needed fields set; options that it has of its own stay."""
    options = {
        key: {**body[key], **value}
        for key, value in needed.items()
        if isinstance(value, dict) and isinstance(body.get(key), dict)
    }
    return {**body, **needed, **options}


def set_apart(body: Body, words: str) -> dict[str, Any]:
    """The body with words before its first message or prompt, so that its prefix is its own."""
    prompt, messages = body.get("prompt"), body.get("messages")
    if isinstance(prompt, str):
        return {**body, "prompt": words + prompt}
    if isinstance(prompt, list):
        return {**body, "prompt": prompt[::-1]}
    if isinstance(messages, list) and messages and isinstance(messages[0], dict):
        content = messages[0].get("content")
        if isinstance(content, str):
            return {**body, "messages": [{**messages[0], "content": words + content}, *messages[1:]]}
        if isinstance(content, list):
            part = {"type": "text", "text": words}
            return {**body, "messages": [{**messages[0], "content": [part, *content]}, *messages[1:]]}
    return dict(body)
