"""The raw metrics page of a server. It is kept as it is and parsed where it is judged."""

from fairtrial.net.http_call import Page, get
from fairtrial.net.secrets import strike_bytes
from fairtrial.profiles.profile import Profile


def scrape(
    base_url: str, profile: Profile, *, timeout_s: float = 5.0, token: str | None = None
) -> bytes | None:
    """Read the server's metrics page.

    Args:
        base_url: Address of the server, without ``/v1``.
        profile: Names the page.
        timeout_s: Longest wait in seconds.
        token: Bearer token of the server, if it wants one.

    Returns:
        The page's bytes, without the token if the server repeats it; None when the engine has no
        such page or didn't answer with status 200.
    """
    if profile.metrics_path is None:
        return None
    page = get(base_url.rstrip("/") + profile.metrics_path, timeout_s=timeout_s, token=token)
    return strike_bytes(page.body, token) if isinstance(page, Page) and page.status == 200 else None
