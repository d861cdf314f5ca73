"""What to do about each way in which a request can fail. Pure."""

from collections.abc import Mapping
from types import MappingProxyType

from fairtrial.schema.vocab import ErrorClass, Outcome

_ADVICE: Mapping[ErrorClass, str] = MappingProxyType(
    {
        ErrorClass.CONNECTION_REFUSED: "is the server running, on this host and port?",
        ErrorClass.CONNECTION_RESET: "the server or something before it dropped the connection: read its log",
        ErrorClass.CONNECT_TIMED_OUT: "no answer from that host and port: a firewall, or a full accept queue",
        ErrorClass.NAME_NOT_RESOLVED: "check the spelling of the host, or the name service",
        ErrorClass.TLS_FAILED: "check the certificate, its authority (SSL_CERT_FILE), and https against http",
        ErrorClass.RESPONSE_TIMED_OUT: "raise --timeout, or lower the load",
        ErrorClass.INCOMPLETE_BODY: "the stream was cut short: read the server's log",
        ErrorClass.MALFORMED_HTTP: "what answered speaks no HTTP/1.1: check the port, and https against http",
        ErrorClass.MALFORMED_STREAM: "the stream is no SSE of JSON: check the address and --endpoint",
        ErrorClass.NOT_JSON: "what answered is no LLM server: check the address, its path and any proxy",
        ErrorClass.UNAUTHORIZED: "name the variable that holds the token: --token-env NAME",
        ErrorClass.NOT_FOUND: "check the path of the address, --model and --endpoint",
        ErrorClass.RATE_LIMITED: "the server limits requests: lower the load, or raise its limit",
        ErrorClass.CLIENT_ERROR: "the server refused the request: read its words; try --endpoint or --engine",
        ErrorClass.SERVER_FAILURE: "the server failed: read its log",
        ErrorClass.ERROR_EVENT: "the server failed in mid-stream: read its log",
        ErrorClass.ABORTED: "the server ended the generation itself: read its log",
        ErrorClass.NO_TOKENS: "the answer holds no token: try --natural, or another --endpoint",
        ErrorClass.INTERRUPTED: "it was in flight when the run was stopped",
        ErrorClass.TOO_LARGE: "the response goes on beyond any answer: check the address",
    },
)


_OF_PROXY: Mapping[ErrorClass, str] = MappingProxyType(
    {
        ErrorClass.CONNECTION_REFUSED: "is the proxy {proxy} running, and may it reach the server?",
        ErrorClass.CONNECTION_RESET: "the proxy {proxy} dropped the connection: read its log",
        ErrorClass.CONNECT_TIMED_OUT: "no answer through the proxy {proxy}: check its host and port",
        ErrorClass.NAME_NOT_RESOLVED: "check the spelling of the proxy's host: {proxy}",
        ErrorClass.TLS_FAILED: "the proxy {proxy} stands in between: check it, and the server's certificate",
    },
)
_WORDS_OF_EITHER = frozenset(
    {
        ErrorClass.UNAUTHORIZED,
        ErrorClass.NOT_FOUND,
        ErrorClass.RATE_LIMITED,
        ErrorClass.CLIENT_ERROR,
        ErrorClass.SERVER_FAILURE,
        ErrorClass.NOT_JSON,
        ErrorClass.MALFORMED_HTTP,
    }
)
"""What a proxy may have answered in the server's place."""


def advice(error: ErrorClass | None, outcome: Outcome, proxy: str | None = None) -> str:
    """What to do, in a few words.

    Args:
        error: Class of the error, if it has one.
        outcome: How the request ended.
        proxy: Address of the proxy that it went through: connections are made to that one.
    """
    if proxy is not None and error is not None and error in _OF_PROXY:
        return _OF_PROXY[error].format(proxy=proxy)
    if proxy is not None and error is not None and error in _WORDS_OF_EITHER:
        return f"{_ADVICE[error]}; or the proxy {proxy} said it"
    if error is not None:
        return _ADVICE[error]
    if outcome is Outcome.TRUNCATED:
        return _ADVICE[ErrorClass.INCOMPLETE_BODY]
    return "read the server's log; keep the raw bytes with --keep DIR"
