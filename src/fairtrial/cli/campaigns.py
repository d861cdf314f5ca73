"""The plans that come with fairtrial."""

from importlib.resources import files
from pathlib import Path

from fairtrial.schema.errors import UsageError


def built_in(name: str) -> Path:
    """Path of a built-in plan, in an installed package or in a checkout.

    Raises:
        UsageError: There is none of that name.
    """
    package = Path(str(files("fairtrial")))
    for folder in (package / "campaigns", package.parents[1] / "campaigns"):
        path = folder / f"{name}.toml"
        if path.is_file():
            return path
    raise UsageError(f"no built-in plan {name!r}")
