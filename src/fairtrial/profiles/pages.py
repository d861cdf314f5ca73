"""Reading the JSON pages in which servers describe themselves. Whatever is odd is None or an error."""

from collections.abc import Mapping

from fairtrial.schema.errors import DocumentError
from fairtrial.schema.types import MAX_SAFE_INTEGER

MODELS_PAGE = "/v1/models"
VERSION_PAGE = "/version"


def section(pages: Mapping[str, object], path: str) -> Mapping[str, object]:
    """The object that a page holds; empty when the server has no such page.

    Raises:
        DocumentError: The page holds something else.
    """
    page = pages.get(path, {})
    if not isinstance(page, Mapping):
        raise DocumentError("the page is not a JSON object", where=path)
    return page


def first_model(pages: Mapping[str, object]) -> Mapping[str, object]:
    """The first entry of ``/v1/models``; empty when the server has no such page.

    Raises:
        DocumentError: The page is there, but lists no model.
    """
    page = section(pages, MODELS_PAGE)
    if not page:
        return {}
    models = page.get("data")
    if not isinstance(models, list) or not models or not isinstance(models[0], Mapping):
        raise DocumentError("the page lists no model", where=MODELS_PAGE)
    return models[0]


def text(value: object) -> str | None:
    """A non-empty text, else None."""
    return value if isinstance(value, str) and value else None


def count(value: object) -> int | None:
    """An integer from 0 to 2**53 - 1, else None."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value <= MAX_SAFE_INTEGER else None
