"""A peer that closes and resets at once: the loop's poller may tell nobody, the link finds out."""

import asyncio
import socket
import struct
import threading

import uvloop

from fairtrial.drive.lookout import Lookout
from fairtrial.drive.plain import PlainLink
from fairtrial.drive.stamps import ProgramClock
from fairtrial.schema.ends import CaptureEnd

ROUNDS = 12
"""About one in five of such ends is lost by the poller: so many rounds hardly ever miss it."""


def close_then_reset(listener):
    for _ in range(ROUNDS):
        peer, _ = listener.accept()
        peer.recv(10)
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n")
        peer.shutdown(socket.SHUT_WR)
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        peer.close()


async def ends_of(where):
    ends = []
    for number in range(ROUNDS):
        sock = socket.create_connection(where)
        sock.setblocking(False)
        link = PlainLink(number, sock, ProgramClock(), Lookout())
        exchange = await link.send(b"x", 20.0, 1_000_000)
        ends.append(exchange.end)
        link.close()
    return ends


def test_a_close_followed_by_a_reset_is_never_taken_for_silence():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=close_then_reset, args=(listener,), daemon=True).start()
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            ends = runner.run(ends_of(listener.getsockname()))
    assert set(ends) <= {CaptureEnd.CLOSED, CaptureEnd.RESET}
