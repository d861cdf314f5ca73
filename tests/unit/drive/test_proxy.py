"""Requests through a proxy, by aiohttp."""

import socket
import subprocess
import sys
import threading

import pytest
from wires import not_sent, one, whole_body

from fairtrial.schema.vocab import ErrorClass


class Proxy:
    """An HTTP proxy that forwards one request, or tunnels one connection, and notes what it was asked."""

    def __init__(self, refuse=None):
        self.asked, self.refuse = [], refuse

    def __enter__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(10)

    def serve(self):
        try:
            client, _ = self.listener.accept()
        except OSError:
            return
        with client:
            head = b""
            while b"\r\n\r\n" not in head:
                head += client.recv(65536)
            line = head.split(b"\r\n")[0]
            self.asked.append(line)
            if self.refuse is not None:
                client.sendall(self.refuse)
                return
            method, target, _ = line.split(b" ")
            authority = target if method == b"CONNECT" else target.split(b"/")[2]
            host, port = authority.decode().split(":")
            with socket.create_connection((host.replace("localhost", "127.0.0.1"), int(port))) as server:
                if method == b"CONNECT":
                    client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                else:
                    path = target.split(authority, 1)[1]
                    server.sendall(head.replace(target, path, 1))
                back = threading.Thread(target=pump, args=(server, client))
                back.start()
                pump(client, server)
                back.join(10)


def pump(source, sink):
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


@pytest.mark.parametrize("over", ["aiohttp", "aiohttp over tls"], indirect=True)
def test_through_a_proxy(over):
    with Proxy() as proxy:
        exchange = one(over.order("good", proxy=proxy.url))
        assert (exchange.end, exchange.error, exchange.status) == ("complete", None, 200)
        assert whole_body(exchange).endswith(b"data: [DONE]\n\n")
        (line,) = proxy.asked
        assert line.startswith(b"CONNECT " if "https" in over.url("") else b"POST http://localhost:")
    assert len(over.seen) == 1


@pytest.mark.parametrize("over", ["aiohttp over tls"], indirect=True)
def test_a_proxy_that_refuses_and_one_that_is_not_there(over):
    with Proxy(refuse=b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n") as proxy:
        order = over.order("good", proxy=proxy.url)
        assert not_sent(one(order)) is ErrorClass.CLIENT_ERROR
    assert not_sent(one(order)) is ErrorClass.CONNECTION_REFUSED
    assert over.seen == []


def test_aiohttp_is_not_imported_unless_it_is_wanted():
    program = "import sys, fairtrial.drive.dialer; print('aiohttp' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
