"""Pure functions of the evidence: populations, pairs, gates, decision; :func:`compare` for plain rows."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairtrial.judge.rows import Result, compare

__all__ = ["Result", "compare"]


def __getattr__(name: str) -> Any:
    """What is exported, loaded when it is asked for: importing the package stays as good as free."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from fairtrial.judge import rows

    return getattr(rows, name)
