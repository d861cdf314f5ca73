"""The bearer token of an endpoint: read from the variable its recipe names, never shown."""

import os

from fairtrial.schema.errors import UsageError
from fairtrial.schema.servers import Recipe


def bearer_token(recipe: Recipe) -> str | None:
    """The token; None when the recipe names no variable.

    Raises:
        UsageError: The variable is not set, is empty, or can't stand in a header. The
            message names the variable and not its value.
    """
    name = recipe.token_env
    if name is None:
        return None
    value = os.environ.get(name) or recipe.env.get(name) or ""
    if not value:
        raise UsageError(
            "the variable with the bearer token is not set", where=name, hint=f"export {name}=..."
        )
    if not all("!" <= char <= "~" for char in value):
        raise UsageError(
            "the bearer token holds a character that no header may have",
            where=name,
            hint="look for blanks and line ends around it",
        )
    return value
