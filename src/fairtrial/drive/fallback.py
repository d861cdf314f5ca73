"""The requests by aiohttp: for proxies, and for servers that the own client doesn't get on with.

aiohttp shows no bytes of the wire. What is kept is put together anew: status line, the headers as
they came but for those that frame the body, and the body, which ends where the kept bytes end.
Nothing is followed, retried, remembered or decompressed. aiohttp is imported here and nowhere else
in the load, and only when it is wanted.
"""

import asyncio
import ssl
from collections.abc import Callable
from time import monotonic_ns
from typing import NamedTuple

import aiohttp
from yarl import URL

from fairtrial.decode.http_errors import class_of
from fairtrial.drive.exchange import Exchange, NotWritableError, connect_error_class
from fairtrial.drive.order import Address, LoadOrder
from fairtrial.drive.reception import Carrier, Reception
from fairtrial.schema.ends import CaptureEnd
from fairtrial.schema.vocab import ErrorClass

LONGEST_HEADER = 65536
IDLE_S = 3600.0
"""How long an idle connection is kept: its peer decides earlier."""
GRACE_S = 0.1
"""How long after the connection is gone aiohttp may take to say how the response ended."""
_FRAMING = {b"transfer-encoding", b"connection", b"content-length"}


class _Request(NamedTuple):
    method: str
    url: URL
    headers: list[tuple[str, str]]
    body: bytes


class AiohttpLink(Carrier):
    """A session with a connection of its own, opened when a request needs it.

    Args:
        number: Number of the first connection.
        fallback: What it shares with others.
    """

    def __init__(self, number: int, fallback: "Fallback") -> None:
        super().__init__(number)
        self._fallback = fallback
        self._session: aiohttp.ClientSession | None = None
        self._task: asyncio.Task[None] | None = None
        self._timeout_s = 0.0
        self._connected = False
        self._broken = False
        self._shut = False

    @property
    def usable(self) -> bool:
        """Whether a request may be sent: idle and not closed. aiohttp looks after its connection."""
        return not self._shut and self._reception is None

    def send(self, request: bytes, timeout_s: float, max_bytes: int) -> asyncio.Future[Exchange]:
        """Send a request; the future is done when the exchange is over, however it ends.

        Args:
            request: The bytes to send.
            timeout_s: Longest time from the send to the end of the response, in seconds.
            max_bytes: Longest response; one that goes on is cut off there.

        Raises:
            NotWritableError: The link is closed or busy, and nothing was sent.
        """
        if not self.usable:
            raise NotWritableError
        if self._session is None:
            self._session = self._fallback.session(self._traces())
        self._timeout_s, self._broken = timeout_s, False
        reception = self._reception = Reception(Exchange(self.number), max_bytes)
        parts = _parse(request, self._fallback.address)
        self._task = self._loop.create_task(self._carry(self._session, reception, parts))
        self._task.add_done_callback(lambda task: _surface(task, reception.future))
        return reception.future

    def close(self) -> None:
        """Drop the connection at once."""
        if self._shut:
            return
        self._shut = True
        if self._task is not None:
            self._task.cancel()
        self._closed()
        self._fallback.discard(self, self._session, self._task)

    def _traces(self) -> aiohttp.TraceConfig:
        traces = aiohttp.TraceConfig()
        traces.on_connection_create_end.append(self._on_connected)
        traces.on_request_headers_sent.append(self._on_headers)
        traces.on_request_chunk_sent.append(self._on_chunk)
        return traces

    async def _on_connected(self, *_: object) -> None:
        """A further connection has a number of its own."""
        if self._connected:
            self.number = self._fallback.number()
            if self._reception is not None:
                self._reception.exchange.connection = self.number
        self._connected = True

    async def _on_headers(self, *_: object) -> None:
        """Called right before anything is written."""
        reception = self._reception
        if reception is not None:
            self._await_response(reception, self._timeout_s)
            reception.exchange.sent_ns = monotonic_ns()
            self._loop.call_soon(_handed, reception.exchange)

    async def _on_chunk(self, *_: object) -> None:
        """Called right before the body is written, which goes out by the end of the loop's turn."""
        if self._reception is not None:
            self._loop.call_soon(_handed, self._reception.exchange)

    async def _carry(self, session: aiohttp.ClientSession, reception: Reception, request: _Request) -> None:
        try:
            end, error = await self._exchange(session, reception, request)
        except (aiohttp.ClientError, OSError) as failure:
            sent = reception.exchange.sent_ns is not None
            end, error = _verdict(failure, sent=sent, broken=self._broken)
        if self._reception is not reception:
            return
        if error is not None:
            self._end(end, error)
        else:
            self._reception = None
            reception.end(end, None)

    async def _exchange(
        self, session: aiohttp.ClientSession, reception: Reception, request: _Request
    ) -> tuple[CaptureEnd, ErrorClass | None]:
        for _ in range(2):  # only the loop can see that a peer closed: give it two turns to look
            await asyncio.sleep(0)
        method, url, headers, body = request
        async with session.request(
            method, url, headers=headers, data=body, allow_redirects=False
        ) as response:
            connection = response.connection  # None where the whole response is there already
            protocol = None if connection is None else connection.protocol
            closed = None if protocol is None else protocol.closed
            if closed is not None:
                closed.add_done_callback(lambda closed: self._lost(closed, reception))
            if not reception.take(_head(response), monotonic_ns()):
                while data := await response.content.readany():
                    if reception.take(data, monotonic_ns()):
                        break
            if reception.future.done():
                self._over(reception)
            elif self._broken:
                return CaptureEnd.RESET, ErrorClass.CONNECTION_RESET  # aiohttp takes it for an end
        return CaptureEnd.COMPLETE, None

    def _lost(self, closed: asyncio.Future[None], reception: Reception) -> None:
        """The connection is gone; where aiohttp fails to wake who reads, the exchange ends here."""
        if self._reception is reception and not closed.cancelled():
            self._broken = closed.exception() is not None
            self._loop.call_later(GRACE_S, self._give_up, reception)

    def _give_up(self, reception: Reception) -> None:
        if self._reception is not reception:
            return
        if self._broken:
            self._end(CaptureEnd.RESET, ErrorClass.CONNECTION_RESET)
        else:  # it tells of incomplete bodies, so it closed because of what it could not read
            self._end(CaptureEnd.CLOSED, ErrorClass.MALFORMED_HTTP)


class Fallback:
    """What the links of one order share.

    Args:
        order: The order; its proxy is used, if it has one.
        number: Gives the number of the next connection.
    """

    def __init__(self, order: LoadOrder, number: Callable[[], int]) -> None:
        self.address = order.address
        self.number = number
        self._proxy = order.proxy
        self._connect_s = order.limits.connect_ms / 1000
        self._context = ssl.create_default_context() if order.address.tls else None
        self._links: set[AiohttpLink] = set()
        self._closing: set[asyncio.Task[None]] = set()

    def link(self) -> AiohttpLink:
        """A new link. Nothing is connected yet."""
        link = AiohttpLink(self.number(), self)
        self._links.add(link)
        return link

    def session(self, traces: aiohttp.TraceConfig) -> aiohttp.ClientSession:
        """A session that carries one request at a time."""
        connector = aiohttp.TCPConnector(
            limit=0,
            keepalive_timeout=IDLE_S,
            ssl=True if self._context is None else self._context,
            resolver=aiohttp.ThreadedResolver(),
        )
        return aiohttp.ClientSession(
            connector=connector,
            timeout=aiohttp.ClientTimeout(total=None, connect=self._connect_s),
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
            auto_decompress=False,
            trust_env=False,
            proxy=self._proxy,
            trace_configs=[traces],
            max_line_size=LONGEST_HEADER,
            max_field_size=LONGEST_HEADER,
        )

    def discard(
        self, link: AiohttpLink, session: aiohttp.ClientSession | None, task: asyncio.Task[None] | None
    ) -> None:
        """Forget a link, and close its session as soon as its task has let go of it."""
        self._links.discard(link)

        async def closing(session: aiohttp.ClientSession) -> None:
            if task is not None:
                await asyncio.wait({task})
            await session.close()

        if session is not None:
            closer = asyncio.get_running_loop().create_task(closing(session))
            self._closing.add(closer)
            closer.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        """Close all links, and wait until their connections are."""
        for link in tuple(self._links):
            link.close()
        if self._closing:
            await asyncio.wait(set(self._closing))


def _parse(request: bytes, address: Address) -> _Request:
    """The parts of a request; aiohttp states the length of the body itself."""
    head, _, body = request.partition(b"\r\n\r\n")
    line, *lines = head.decode("latin-1").split("\r\n")
    method, target, _ = line.split(" ")
    fields = (field.partition(":") for field in lines)
    headers = [(name, value.strip()) for name, _, value in fields if name.lower() != "content-length"]
    scheme = "https" if address.tls else "http"
    return _Request(method, URL(f"{scheme}://{address.authority}{target}", encoded=True), headers, body)


def _head(response: aiohttp.ClientResponse) -> bytes:
    reason = (response.reason or "").encode("utf-8", "surrogateescape")
    lines = [b"HTTP/1.1 %d %s" % (response.status, reason)]
    lines += [b"%s: %s" % field for field in response.raw_headers if field[0].lower() not in _FRAMING]
    return b"\r\n".join([*lines, b"Connection: close", b"", b""])


def _verdict(failure: Exception, *, sent: bool, broken: bool) -> tuple[CaptureEnd, ErrorClass]:
    """How the own client would call it."""
    if not sent:
        return CaptureEnd.NOT_SENT, _connect_class(failure)
    if isinstance(failure, aiohttp.ClientPayloadError) and not broken:
        return CaptureEnd.CLOSED, ErrorClass.INCOMPLETE_BODY
    if isinstance(failure, aiohttp.ClientResponseError):
        return CaptureEnd.CLOSED, ErrorClass.MALFORMED_HTTP
    if isinstance(failure, aiohttp.ServerDisconnectedError):
        begun = not isinstance(failure.message, str)
        return CaptureEnd.CLOSED, ErrorClass.INCOMPLETE_BODY if begun else ErrorClass.CONNECTION_RESET
    if isinstance(failure.__cause__, ssl.SSLError):
        return CaptureEnd.RESET, ErrorClass.TLS_FAILED
    return CaptureEnd.RESET, ErrorClass.CONNECTION_RESET


def _connect_class(failure: Exception) -> ErrorClass:
    if isinstance(failure, aiohttp.ClientConnectorDNSError):
        return ErrorClass.NAME_NOT_RESOLVED
    if isinstance(failure, aiohttp.ClientSSLError):
        return ErrorClass.TLS_FAILED
    if isinstance(failure, aiohttp.ClientHttpProxyError):
        return class_of(failure.status)  # the proxy refused to connect
    if isinstance(failure, aiohttp.ClientConnectorError):
        return connect_error_class(failure.os_error)
    return connect_error_class(failure) if isinstance(failure, OSError) else ErrorClass.CONNECTION_RESET


def _surface(task: asyncio.Task[None], future: asyncio.Future[Exchange]) -> None:
    """An error of the program itself must not leave anybody waiting."""
    failure = None if task.cancelled() else task.exception()
    if failure is not None and not future.done():
        future.set_exception(failure)


def _handed(exchange: Exchange) -> None:
    exchange.handed_ns = monotonic_ns()
