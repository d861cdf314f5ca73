"""Reading the pages of a server that nobody has described yet, and saying in one line what went wrong."""

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from fairtrial.decode.http_errors import message_of
from fairtrial.evidence import strictjson
from fairtrial.net.http_call import Page, Unreachable, get
from fairtrial.net.secrets import strike, strike_json
from fairtrial.profiles.pages import MODELS_PAGE
from fairtrial.schema.errors import DocumentError, FairtrialError, LaunchError, UsageError
from fairtrial.schema.vocab import ErrorClass

_LIKE = "write it like http://127.0.0.1:8000"
_SECRETS = frozenset("@?#")
"""What stands before or after a part of an address that may be a secret."""
NO_SERVER = "is no OpenAI-compatible server there?"
_WORDS = 200
"""Most characters of a server's own message that are repeated."""
MOST_SHOWN = 200
"""Most characters of a name that a server states."""
_UNREACHABLE_HINTS = {
    ErrorClass.CONNECTION_REFUSED: "start the server, or check host and port",
    ErrorClass.NAME_NOT_RESOLVED: "check the spelling of the host",
    ErrorClass.CONNECT_TIMED_OUT: "check host and port, and what lies between",
    ErrorClass.RESPONSE_TIMED_OUT: "wait until it has loaded",
    ErrorClass.TLS_FAILED: "write http:// if it speaks no TLS, or let SSL_CERT_FILE name its authority",
    ErrorClass.MALFORMED_HTTP: "check the port; write https:// if it speaks TLS",
}


def base_address(url: str) -> str:
    """The base address of a server, without ``/v1`` and without a slash at the end.

    Raises:
        UsageError: It is no http or https address, or holds more than scheme, host, port and path.
    """
    plain = url.isascii() and url.isprintable() and " " not in url
    if not plain or _SECRETS.intersection(url):
        # The address is not repeated: what is too much in it may be a secret.
        raise UsageError(
            "the address holds more than scheme, host, port and path",
            hint=f"{_LIKE}; a token comes from an environment variable",
        )
    fault = _fault(url)
    if fault:
        meant = f"http://{url}"
        guessed = "://" not in url and url and not _fault(meant)
        hint = f"did you mean {meant}?" if guessed else _LIKE
        raise UsageError(fault, where=repr(url[:_WORDS]), hint=hint)
    return url.rstrip("/").removesuffix("/v1").rstrip("/")


def shown(name: str) -> str:
    """A name that a server states, as people are shown it: whatever its length, a line stays a line."""
    return name if len(name) <= MOST_SHOWN else f"{name[: MOST_SHOWN - 3]}..."


def _fault(url: str) -> str:
    """Why this is no address of a server; empty where it is one."""
    try:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            return "not an http or https address"
    except ValueError as error:
        return f"not an address: {error}"
    try:
        return "the port is not a number from 1 to 65535" if parts.port == 0 else ""
    except ValueError:
        return "the port is not a number from 1 to 65535"


@dataclass(slots=True)
class Looking:
    """The pages of one server, each read once."""

    base_url: str
    """As :func:`base_address` makes it."""
    token: str | None
    timeout_s: float
    """Longest wait for each page."""
    pages: dict[str, object] = field(default_factory=dict)
    """JSON of the pages that there are, without the token, by path."""
    asked: set[str] = field(default_factory=set)

    def read_models(self) -> None:
        """Read the list of models.

        Raises:
            LaunchError: Nobody answers, or not yet.
            UsageError: The token is missing or wrong, or this is no such server.
        """
        self.asked.add(MODELS_PAGE)
        page = get(self.base_url + MODELS_PAGE, timeout_s=self.timeout_s, token=self.token)
        if isinstance(page, Unreachable):
            raise self.unreachable(page)
        if page.status == 404:
            return
        if page.status != 200:
            raise self.refused(MODELS_PAGE, page)
        try:
            self.pages[MODELS_PAGE] = self._json(MODELS_PAGE, page)
        except DocumentError as exc:
            raise self._no_json(page, exc) from None

    def read(self, *paths: str) -> None:
        """Read pages that needn't be there: what doesn't answer with JSON counts as absent."""
        for path in paths:
            if path in self.asked:
                continue
            self.asked.add(path)
            page = get(self.base_url + path, timeout_s=self.timeout_s, token=self.token)
            if isinstance(page, Unreachable) or page.status != 200:
                continue
            try:
                self.pages[path] = self._json(path, page)
            except DocumentError:
                continue

    def described(self, paths: tuple[str, ...]) -> dict[str, object]:
        """Those of the pages that say something else than that there is no such page."""
        found = {path: self.pages[path] for path in paths if path in self.pages}
        return {
            path: page
            for path, page in found.items()
            if not (isinstance(page, dict) and page.keys() == {"error"})
        }

    def unreachable(self, found: Unreachable) -> FairtrialError:
        """Why nobody answered."""
        hint = _UNREACHABLE_HINTS.get(found.error, "read the server's log")
        return LaunchError(found.reason, where=self.base_url, hint=hint)

    def refused(self, path: str, page: Page) -> FairtrialError:
        """What an answer with another status than 200 means."""
        words = strike(message_of(page.body) or "", self.token)[:_WORDS]
        said = f": {words}" if words else ""
        where = self.base_url + path
        if page.status in (401, 403):
            what = (
                "takes no requests without a bearer token"
                if self.token is None
                else "refuses the bearer token"
            )
            hint = "name the variable that holds the right one (token_env)"
            return UsageError(f"the server {what} ({page.status}){said}", where=where, hint=hint)
        if page.status == 404:
            known = "check the path of the address, and the model"
            hint = known if MODELS_PAGE in self.pages else f"{NO_SERVER} {known}"
            return UsageError(f"there is no such page or model (404){said}", where=where, hint=hint)
        if page.status == 429:
            return LaunchError(f"the server limits requests (429){said}", where=where, hint="try again later")
        if page.status >= 500:
            hint = "wait until it has loaded, or read its log"
            return LaunchError(f"the server fails ({page.status}){said}", where=where, hint=hint)
        if 300 <= page.status < 400:
            hint = "give the address that it leads to"
            return UsageError(f"the server sends elsewhere ({page.status})", where=where, hint=hint)
        return UsageError(f"the server refuses ({page.status}){said}", where=where, hint="read its words")

    def _json(self, path: str, page: Page) -> object:
        return strike_json(strictjson.loads(page.body, where=path), self.token)

    def _no_json(self, page: Page, fault: DocumentError) -> FairtrialError:
        where = self.base_url + MODELS_PAGE
        if "html" in page.content_type.lower() or page.body.lstrip()[:1] == b"<":
            hint = "give the address of the API, not that of a web interface"
            return UsageError("a web page came in the place of the list of models", where=where, hint=hint)
        message = strike(fault.message, self.token)
        return UsageError(f"the list of models is {message}", where=where, hint=NO_SERVER)
