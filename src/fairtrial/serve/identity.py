"""What a server says it is, read through its profile."""

from dataclasses import dataclass

from fairtrial.evidence import strictjson
from fairtrial.net.http_call import Page, Unreachable, get
from fairtrial.net.secrets import strike, strike_json
from fairtrial.profiles.pages import MODELS_PAGE, peek, rows
from fairtrial.profiles.profile import Profile
from fairtrial.schema.errors import DocumentError, FairtrialError
from fairtrial.schema.identity import Identity

_DENIED = (401, 403)


@dataclass(frozen=True, slots=True)
class Door:
    """Where and how a server is asked."""

    base_url: str
    """Without ``/v1`` and without a slash at the end."""
    profile: Profile
    model: str | None
    """Name that it must serve; None takes the first it lists."""
    token: str | None

    def ask(self, path: str, timeout_s: float) -> Page | Unreachable:
        """Ask for one page."""
        return get(self.base_url + path, timeout_s=timeout_s, token=self.token)


@dataclass(frozen=True, slots=True)
class Pages:
    """The identity pages of a server as far as it answered."""

    pages: dict[str, object]
    """JSON by path. Of the models listed only the one under trial is left."""
    models: tuple[str, ...] | None
    """Every name listed, in its order; None when there is no such page."""
    message: str = ""
    """What kept the pages from being read; empty when all were."""
    denied: bool = False
    """True when it wants a bearer token that it didn't get: asking again won't help."""


def read_pages(door: Door, timeout_s: float) -> Pages:
    """Read the list of models and the identity pages; one that answers 404 is left out.

    The bearer token is struck out of whatever they hold, before anything is made of it.

    Args:
        door: The server.
        timeout_s: Longest wait for each page, in seconds.
    """
    pages: dict[str, object] = {}
    for path in dict.fromkeys((MODELS_PAGE, *door.profile.identity_paths)):
        page = door.ask(path, timeout_s)
        if isinstance(page, Unreachable):
            return Pages({}, None, f"{path}: {page.reason}")
        if page.status == 404:
            continue
        if page.status != 200:
            return Pages({}, None, refusal(path, page.status), denied=denied(page.status))
        try:
            pages[path] = strike_json(strictjson.loads(page.body, where=path), door.token)
        except DocumentError as exc:
            return Pages({}, None, strike(exc.line(), door.token))
    if MODELS_PAGE not in pages:
        return Pages(pages, None)
    names = door.profile.models(pages) or ()
    wanted = door.model or (names[0] if names else None)
    listed = peek(pages, MODELS_PAGE)
    under_trial = [row for row in rows(listed) if row.get("id") == wanted][:1]
    if under_trial or door.profile.serves_unlisted:
        pages[MODELS_PAGE] = {"object": "list", "data": under_trial}
    return Pages(pages, names)


def identify(door: Door, found: Pages) -> Identity | str:
    """Make the identity from the pages.

    Returns:
        The identity, or one line that says why there is none.
    """
    asked = {path: page for path, page in found.pages.items() if path in door.profile.identity_paths}
    try:
        return door.profile.identity(asked)
    except FairtrialError as exc:
        return strike(exc.line(), door.token)
    except (ValueError, TypeError, LookupError, AttributeError) as exc:
        # A profile may come from a plug-in; what it can't read must not end the trial.
        return f"the identity pages can't be understood: {type(exc).__name__}"


def denied(status: int) -> bool:
    """Whether a status says that the bearer token is missing or wrong."""
    return status in _DENIED


def refusal(path: str, status: int) -> str:
    """What an answer with another status than 200 means, as one line."""
    if denied(status):
        return f"{path} answers {status}: the server wants a bearer token; name its variable in token_env"
    return f"{path} answers {status}"
