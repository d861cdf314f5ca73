"""Reading the JSON pages in which servers describe themselves. Whatever is odd is None or an error."""

from collections.abc import Mapping

from fairtrial.schema.errors import DocumentError
from fairtrial.schema.identity import Setting
from fairtrial.schema.types import MAX_SAFE_INTEGER

MODELS_PAGE = "/v1/models"
VERSION_PAGE = "/version"
SERVER_INFO_PAGE = "/server_info"


def section(pages: Mapping[str, object], path: str) -> Mapping[str, object]:
    """The object that a page holds; empty when the server has no such page.

    Raises:
        DocumentError: The page holds something else.
    """
    page = pages.get(path, {})
    if not isinstance(page, Mapping):
        raise DocumentError("the page is not a JSON object", where=path)
    return page


def peek(pages: Mapping[str, object], path: str) -> Mapping[str, object]:
    """The object that a page holds; empty when there is none, whatever else is there."""
    page = pages.get(path)
    return page if isinstance(page, Mapping) else {}


def rows(page: Mapping[str, object], key: str = "data") -> list[Mapping[str, object]]:
    """The objects in a list; those that are none are left out."""
    found = page.get(key)
    return [row for row in found if isinstance(row, Mapping)] if isinstance(found, list) else []


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


def listed_models(pages: Mapping[str, object]) -> tuple[str, ...] | None:
    """Every name on ``/v1/models``, in its order; None when there is no such page."""
    if MODELS_PAGE not in pages:
        return None
    names = (text(row.get("id")) for row in rows(peek(pages, MODELS_PAGE)))
    return tuple(dict.fromkeys(name for name in names if name))


def owned_by(pages: Mapping[str, object], *owners: str) -> bool:
    """Whether ``/v1/models`` names one of these as the owner of a model."""
    return any(row.get("owned_by") in owners for row in rows(peek(pages, MODELS_PAGE)))


def text(value: object) -> str | None:
    """A non-empty text, else None."""
    return value if isinstance(value, str) and value else None


def count(value: object) -> int | None:
    """An integer from 0 to 2**53 - 1, else None."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value <= MAX_SAFE_INTEGER else None


def digest(value: object) -> str | None:
    """A sha256 in lower-case hexadecimal, also behind ``sha256:``; else None."""
    found = (text(value) or "").removeprefix("sha256:")
    return found if len(found) == 64 and not found.strip("0123456789abcdef") else None


def setting(value: object) -> Setting:
    """A value as a setting of an identity; a fraction becomes its text, anything else None."""
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, bool | str):
        return value
    return value if isinstance(value, int) and abs(value) <= MAX_SAFE_INTEGER else None


def settings(page: Mapping[str, object], names: tuple[str, ...]) -> dict[str, Setting]:
    """Those of the named values that a page states."""
    return {name: setting(page[name]) for name in names if name in page}


def ids(page: Mapping[str, object], key: str = "tokens") -> tuple[int, ...] | None:
    """A list of token ids; None if it is missing or holds anything else."""
    found = page.get(key)
    if not isinstance(found, list):
        return None
    known = tuple(token for token in found if count(token) is not None)
    return known if len(known) == len(found) else None
