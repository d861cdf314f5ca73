"""Strikes a bearer token out of what a server said, wherever its words are made into meaning.

The length of what is struck never changes, so that no byte around it moves. Tokens shorter than
``SHORTEST_SECRET`` are left: ``EMPTY`` or ``none`` protect nothing and may be ordinary words.
"""

import re
from functools import lru_cache

SHORTEST_SECRET = 8
"""Shortest token that is struck, in characters."""
_ESCAPED_BY_SIGN = frozenset('"\\/')
"""Characters that JSON may write as a backslash and the character itself."""


def is_secret(secret: str | None) -> bool:
    """Whether there is a token and it is long enough to protect something."""
    return secret is not None and len(secret) >= SHORTEST_SECRET


def strike(text: str, secret: str | None) -> str:
    """The text with an asterisk for each character of the token."""
    if secret is None or not is_secret(secret):
        return text
    return text.replace(secret, "*" * len(secret))


def strike_bytes(data: bytes, secret: str | None) -> bytes:
    """The bytes with the token struck out as it stands and in every way that JSON can write it."""
    if secret is None or not is_secret(secret):
        return data
    plain = secret.encode()
    struck = data.replace(plain, b"*" * len(plain)) if plain in data else data
    if b"\\u00" not in struck and not _ESCAPED_BY_SIGN & set(secret):
        return struck
    return _spellings(secret).sub(lambda found: b"*" * len(found[0]), struck)


def strike_json(value: object, secret: str | None) -> object:
    """Parsed JSON with the token struck out of every string and every key."""
    if not is_secret(secret):
        return value
    if isinstance(value, str):
        return strike(value, secret)
    if isinstance(value, list):
        return [strike_json(part, secret) for part in value]
    if isinstance(value, dict):
        return {strike(str(key), secret): strike_json(part, secret) for key, part in value.items()}
    return value


@lru_cache(maxsize=8)
def _spellings(secret: str) -> re.Pattern[bytes]:
    return re.compile(b"".join(_spelling(char) for char in secret))


def _spelling(char: str) -> bytes:
    ways = [rb"\\u(?i:%04x)" % ord(char), re.escape(char.encode())]
    if char in _ESCAPED_BY_SIGN:
        ways.insert(0, re.escape(b"\\" + char.encode()))
    return b"(?:" + b"|".join(ways) + b")"
