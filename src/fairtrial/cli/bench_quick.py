"""Reads a usual ``bench`` command line without the library that reads all others.

Importing that library takes longer than a small run. Whatever is unusual here (an unknown option, a value
that is none, a wish for help) is left to it, and so is every error message.
"""

import re
from dataclasses import MISSING, Field, fields
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from fairtrial.bench.arguments import BenchArguments

_INT = re.compile(r"[0-9]{1,18}")
_FLOAT = re.compile(r"[0-9]{1,18}(\.[0-9]{1,18})?")
_OWN = ""
"""Stands for the group of options that have none."""
_SHORT = {"-o": "--output", "-q": "--quiet"}


class _UnusualError(Exception):
    """Somebody else has to read this."""


def quick(words: list[str]) -> BenchArguments | None:
    """The arguments that these words are; None where they are unusual.

    Args:
        words: What stands after ``bench``.
    """
    try:
        return _read(words)
    except _UnusualError:
        return None


def _read(words: list[str]) -> BenchArguments:
    known = _known()
    urls: list[str] = []
    given: dict[str, dict[str, Any]] = {}
    rest = iter(words)
    for word in rest:
        if not word.startswith("-"):
            urls.append(word)
            continue
        name, equals, attached = _SHORT.get(word, word).partition("=")
        if name not in known:
            raise _UnusualError
        group, option = known[name]
        chosen = given.setdefault(group, {})
        if option.name in chosen:
            raise _UnusualError
        if option.type is bool:
            if equals:
                raise _UnusualError
            chosen[option.name] = True
        else:
            chosen[option.name] = _value(option, attached if equals else next(rest, "-"))
    if len(urls) != 1:
        raise _UnusualError
    own = given.pop(_OWN, {})
    groups = {name: _groups()[name](**chosen) for name, chosen in given.items()}
    return BenchArguments(url=urls[0], **own, **groups)


def _groups() -> dict[str, Any]:
    """The class of each group of options, by its name in a whole command line."""
    return {
        group.name: group.default_factory
        for group in fields(BenchArguments)
        if group.default_factory is not MISSING
    }


def _known() -> dict[str, tuple[str, Field[Any]]]:
    """Every option, with the group and the field that it is."""
    own = [option for option in fields(BenchArguments) if option.name in ("output", "quiet")]
    grouped = [(name, option) for name, group in _groups().items() for option in fields(group)]
    every = [*((_OWN, option) for option in own), *grouped]
    return {f"--{option.name.replace('_', '-')}": (name, option) for name, option in every}


def _value(option: Field[Any], text: str) -> object:
    if text.startswith("-") or not text:
        raise _UnusualError
    several = get_origin(option.type) in (UnionType, Union)
    kinds = get_args(option.type) if several else (option.type,)
    for kind in kinds:
        words = get_args(kind) if get_origin(kind) is Literal else ()
        if text in words or kind is str:
            return text
        if kind is Path:
            return Path(text)
        if kind is int and _INT.fullmatch(text):
            return int(text)
        if kind is float and _FLOAT.fullmatch(text):
            return float(text)
    raise _UnusualError
