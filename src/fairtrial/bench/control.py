"""The few requests before a load that only ask: what a token is, how long a prompt came to be."""

from fairtrial.bench.spec import BenchSpec
from fairtrial.net.http_call import Page, Unreachable, post

LONGEST_S = 60.0
"""A server may compile kernels for its first request."""


class ControlCaller:
    """Sends to one server. Implements ``fairtrial.bench.calibration.Caller``."""

    def __init__(self, spec: BenchSpec) -> None:
        self._base = spec.url.rstrip("/")
        self._token = spec.client.token
        self._timeout_s = min(spec.client.response_timeout_ms / 1000, LONGEST_S)

    def post(self, path: str, body: bytes) -> Page | Unreachable:
        """Send a JSON body to a path of the server."""
        return post(f"{self._base}{path}", body, timeout_s=self._timeout_s, token=self._token)
