"""Identities: sha256 of what a recipe names, taken when the plan is frozen."""

import hashlib
import os
import shutil
import stat
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from fairtrial.schema.errors import LaunchError
from fairtrial.schema.servers import Recipe
from fairtrial.schema.vocab import RecipeKind

_CHUNK = 2**20
_MAX_NAMED_FILE_BYTES = 64 * 2**20
"""Larger files named in argv (weights) are left to the engine's own identity."""
_ENGINE_PACKAGES = ("engine", "profiles")


def executable(recipe: Recipe) -> Path | None:
    """The file that argv starts, searched as the launch will search it; None if there is none."""
    if not recipe.argv:
        return None
    word = recipe.argv[0]
    if os.sep in word:
        path = Path(recipe.cwd or ".") / word
        mode = _mode(path)
        return path if mode is not None and stat.S_ISREG(mode) and os.access(path, os.X_OK) else None
    found = shutil.which(word, path=recipe.env.get("PATH"))
    return None if found is None else Path(found)


def is_folder(path: Path) -> bool:
    """Whether a path leads to a folder; one that can't be looked at leads nowhere."""
    mode = _mode(path)
    return mode is not None and stat.S_ISDIR(mode)


def _mode(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except (OSError, ValueError):
        return None


def recipe_identities(recipe: Recipe) -> dict[str, str]:
    """Digests by name: ``executable``, ``argv-N`` for a file named in argv, ``engine-source``.

    Raises:
        LaunchError: The executable isn't there or a file can't be read.
    """
    if recipe.frozen.kind is RecipeKind.ATTACH:
        return {}
    path = executable(recipe)
    if path is None:
        word = recipe.argv[0] if recipe.argv else "argv"
        raise LaunchError("no such executable", where=word, hint="see fairtrial plan check")
    found = {"executable": _file_digest(path)}
    if recipe.frozen.kind is RecipeKind.REFERENCE:
        found["engine-source"] = engine_source_digest()
        return found
    for index, word in enumerate(recipe.argv[1:], start=1):
        named = Path(recipe.cwd or ".") / word
        if _is_small_file(named):
            found[f"argv-{index}"] = _file_digest(named)
    return found


def engine_source_digest() -> str:
    """One digest over the reference engine's sources and the profiles they use."""
    lines = []
    for package in _ENGINE_PACKAGES:
        for name, source in _sources(files("fairtrial") / package, package):
            lines.append(f"{hashlib.sha256(source.read_bytes()).hexdigest()}  {name}\n")
    return hashlib.sha256("".join(sorted(lines)).encode()).hexdigest()


def _sources(folder: Traversable, name: str) -> list[tuple[str, Traversable]]:
    found: list[tuple[str, Traversable]] = []
    for child in folder.iterdir():
        full = f"{name}/{child.name}"
        if child.is_dir() and child.name != "__pycache__":
            found.extend(_sources(child, full))
        elif child.name.endswith(".py"):
            found.append((full, child))
    return found


def _is_small_file(path: Path) -> bool:
    try:
        found = path.stat()
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size <= _MAX_NAMED_FILE_BYTES


def _file_digest(path: Path) -> str:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as stream:
            while chunk := stream.read(_CHUNK):
                digest.update(chunk)
    except OSError as error:
        raise LaunchError(f"can't read it: {error.strerror}", where=str(path)) from error
    return digest.hexdigest()
