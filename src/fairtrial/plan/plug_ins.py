"""Plug-in gates of installed packages: found by name, loaded, and identified by version and digest."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from fairtrial.evidence.documents import sha256_hex
from fairtrial.evidence.files import read_bounded
from fairtrial.plan.reader import IDENTIFIER, nearest
from fairtrial.schema.errors import EvidenceError
from fairtrial.schema.plan import PlugIn, PublicValue
from fairtrial.schema.raised import in_words

GROUP = "fairtrial.gates"
"""The entry point group in which packages offer evaluators of gates."""
_MOST_BYTES = 2**24
"""Largest source file of an evaluator."""
_LONGEST = 200
"""Characters kept of what a plug-in says."""

Answer = TypeVar("Answer")


class PlugInError(ValueError):
    """A plug-in that can't be used; the text says why, in one line."""


@dataclass(frozen=True, slots=True)
class FoundPlugIn:
    """A plug-in that is installed and loaded."""

    plug_in: PlugIn
    evaluator: object
    """What its entry point leads to; it has a callable ``evaluate``."""


def load(name: str) -> FoundPlugIn:
    """Load the plug-in gate of that name.

    Raises:
        PlugInError: No installed package offers it, or more than one does; its package states no
            version; its code can't be loaded or holds no evaluator; the file that defines the
            evaluator can't be read.
    """
    entry = _entry(name)
    evaluator = _theirs(entry.load, f"{entry.value} can't be loaded")
    evaluate = _theirs(lambda: getattr(evaluator, "evaluate", None), f"{entry.value} can't be used")
    if inspect.isclass(evaluator) or not callable(evaluate):
        wanted = "an object or a module with evaluate(view)"
        raise PlugInError(f"{entry.value} is no evaluator: it must be {wanted}")
    digest = _digest(_theirs(lambda: _file(evaluator, evaluate), "no file defines its evaluator"))
    return FoundPlugIn(PlugIn(name=name, version=_version(entry), digest=digest), evaluator)


def option_problems(evaluator: object, options: dict[str, PublicValue]) -> tuple[str, ...]:
    """What an evaluator says is wrong with its options; nothing where it doesn't look at them.

    Raises:
        PlugInError: Its own check fails.
    """

    def found() -> list[str]:
        check = getattr(evaluator, "problems", None)
        return [str(one) for one in check(dict(options))] if callable(check) else []

    lines = (" ".join(one.split()) for one in _theirs(found, "its check of options failed"))
    return tuple(line[:_LONGEST] for line in lines if line)


def _theirs(call: Callable[[], Answer], failed: str) -> Answer:
    """Call code that is not ours: whatever it raises is a reason, only a person's Ctrl-C passes through.

    Raises:
        PlugInError: It raised.
    """
    try:
        return call()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise PlugInError(f"{failed}: {in_words(error)}") from error


def _version(entry: EntryPoint) -> str:
    found: object = _theirs(lambda: entry.dist.version if entry.dist else None, "its package can't be read")
    if not isinstance(found, str) or not found.strip():
        raise PlugInError("its package states no version")
    return " ".join(found.split())[:_LONGEST]


def _entry(name: str) -> EntryPoint:
    found = tuple(_theirs(lambda: entry_points(group=GROUP), "the installed packages can't be read"))
    ours = [one for one in found if one.name == name]
    if not ours:
        names = sorted({one.name for one in found if IDENTIFIER.fullmatch(one.name)})
        known = nearest(name, names) if names else "no installed package offers any"
        raise PlugInError(f"no installed package offers a gate {name!r} in the group {GROUP} ({known})")
    if len(ours) > 1:
        values = ", ".join(sorted(one.value for one in ours))
        raise PlugInError(f"more than one installed package offers a gate {name!r}: {values}")
    return ours[0]


def _file(evaluator: object, evaluate: Callable[..., object]) -> str:
    """The file that defines the evaluator: the module that it is, or that of its ``evaluate``."""
    return inspect.getfile(evaluator if isinstance(evaluator, ModuleType) else inspect.unwrap(evaluate))


def _digest(file: str) -> str:
    try:
        return sha256_hex(read_bounded(Path(file).resolve(strict=True), _MOST_BYTES))
    except (OSError, RuntimeError) as error:
        raise PlugInError("the file that defines its evaluator can't be read") from error
    except EvidenceError as error:
        raise PlugInError(f"the file that defines its evaluator: {error.message}") from error
