"""Values written as TOML."""

import json
from collections.abc import Iterable, Mapping


def value(one: bool | int | str) -> str:  # noqa: FBT001 - a value of any of these types
    """A switch, a whole number or a text."""
    if isinstance(one, bool):
        return str(one).lower()
    return str(one) if isinstance(one, int) else text(one)


def inline(table: Mapping[str, str]) -> str:
    """An inline table of values that are written already."""
    return "{ " + ", ".join(f"{key(name)} = {written}" for name, written in table.items()) + " }"


def texts(values: Iterable[str]) -> str:
    """A list of texts."""
    return "[" + ", ".join(text(one) for one in values) + "]"


def key(name: str) -> str:
    """A key part; names with a dot need quotes."""
    return text(name) if "." in name else name


def text(one: str) -> str:
    """A basic string: JSON's escapes are TOML's, but TOML also wants DEL escaped."""
    return json.dumps(str(one), ensure_ascii=False).replace("\x7f", "\\u007f")
