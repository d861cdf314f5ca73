"""The bounded call: whatever a server does, the answer is a page or a reason, in time."""

import shutil
import socket
import ssl
import subprocess
import threading
import time
from contextlib import contextmanager

import pytest

from fairtrial.net.http_call import Page, Unreachable, get, post
from fairtrial.schema.vocab import ErrorClass


@contextmanager
def serving(answer, *, end=b"\r\n\r\n"):
    """A socket that takes one connection, keeps what it is sent and gives ``answer(connection)``."""
    asked = bytearray()

    def serve():
        connection, _ = listener.accept()
        with connection:
            while end not in asked and (part := connection.recv(4096)):
                asked.extend(part)
            try:
                answer(connection)
            except OSError:
                return  # the client gave up, as some tests want

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", asked
        thread.join(5)
        assert not thread.is_alive()


def bytes_of(data):
    return lambda connection: connection.sendall(data)


def ask(data, **options):
    with serving(bytes_of(data)) as (url, _):
        return get(url + "/page", timeout_s=5, **options)


def test_a_page_is_its_status_bytes_and_type():
    with serving(
        bytes_of(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; x=1\r\nContent-Length: 3\r\n\r\n\x00\xffa")
    ) as (url, asked):
        assert get(url + "/a?b=c", timeout_s=5) == Page(200, b"\x00\xffa", "text/plain; x=1")
    head = bytes(asked).lower()
    assert head.startswith(b"get /a?b=c http/1.1\r\n")
    assert b"accept-encoding: identity\r\n" in head
    assert b"authorization" not in head


def test_the_token_is_sent_as_a_bearer():
    with serving(bytes_of(b"HTTP/1.1 204 No\r\n\r\n")) as (url, asked):
        assert get(url, timeout_s=5, token="abc") == Page(204, b"", "")
    assert b"Authorization: Bearer abc\r\n" in bytes(asked)


@pytest.mark.parametrize(
    ("data", "page"),
    [
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno", Page(404, b"no", "")),
        (
            b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
            Page(302, b"", ""),
        ),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
            Page(200, b"abc", ""),
        ),
        (b"HTTP/1.0 200 OK\r\n\r\nto the end", Page(200, b"to the end", "")),
        (b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", Page(503, b"", "")),
    ],
)
def test_any_status_is_a_page(data, page):
    assert ask(data) == page


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", ErrorClass.INCOMPLETE_BODY),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", ErrorClass.INCOMPLETE_BODY),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", ErrorClass.INCOMPLETE_BODY),
        (b"SSH-2.0-OpenSSH\r\n", ErrorClass.MALFORMED_HTTP),
        (b"", ErrorClass.CONNECTION_RESET),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n", ErrorClass.MALFORMED_HTTP),
    ],
)
def test_a_broken_answer_is_a_reason(data, error):
    found = ask(data)
    assert isinstance(found, Unreachable)
    assert found.error is error


def test_the_body_is_bounded():
    body = b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 1000
    assert ask(body, limit=1000) == Page(200, b"x" * 1000, "")
    found = ask(body, limit=999)
    assert isinstance(found, Unreachable)
    assert "longer than 999 bytes" in found.reason


@pytest.mark.parametrize("head", [b"", b"HTTP/1.1 200 OK\r\n\r\n"])
def test_a_server_that_drips_is_cut_off_in_time(head):
    def drip(connection):
        connection.sendall(head)
        for _ in range(200):
            connection.sendall(b"x")
            time.sleep(0.05)

    began = time.monotonic()
    with serving(drip) as (url, _):
        found = get(url, timeout_s=0.3)
    assert time.monotonic() - began < 3
    assert isinstance(found, Unreachable)
    assert found.error is ErrorClass.RESPONSE_TIMED_OUT


def test_a_silent_server_is_given_up_in_time():
    began = time.monotonic()
    with serving(lambda connection: connection.recv(1)) as (url, _):
        found = get(url, timeout_s=0.2)
    assert isinstance(found, Unreachable)
    assert found.error is ErrorClass.RESPONSE_TIMED_OUT
    assert 0.2 <= time.monotonic() - began < 3


def test_nobody_there():
    with socket.create_server(("127.0.0.1", 0)) as sock:
        port = sock.getsockname()[1]
    found = get(f"http://127.0.0.1:{port}/", timeout_s=1)
    assert isinstance(found, Unreachable)
    assert found.error is ErrorClass.CONNECTION_REFUSED


def test_plain_http_behind_https_is_a_tls_failure():
    with serving(bytes_of(b"HTTP/1.1 400 Bad\r\n\r\n"), end=b"") as (url, _):
        found = get(url.replace("http:", "https:"), timeout_s=2)
    assert isinstance(found, Unreachable)
    assert found.error is ErrorClass.TLS_FAILED


def test_an_unknown_host_name():
    found = get("http://name.invalid/", timeout_s=2)
    assert isinstance(found, Unreachable)
    assert found.error is ErrorClass.NAME_NOT_RESOLVED


@pytest.mark.parametrize(
    "url",
    ["", "ftp://127.0.0.1/", "http://", "http://127.0.0.1:99999/", "http://[::1/", "file:///etc/passwd", "x"],
)
def test_what_is_no_address_is_told(url):
    found = get(url, timeout_s=1)
    assert isinstance(found, Unreachable)
    assert found.error is ErrorClass.MALFORMED_HTTP


@pytest.mark.parametrize("token", ["s3cret\r\nX: y", "s3cret\N{SNOWMAN}"])
def test_a_token_that_cannot_be_sent_is_not_shown_and_nothing_is_sent(token):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        found = get(f"http://127.0.0.1:{listener.getsockname()[1]}", timeout_s=1, token=token)
        listener.settimeout(0.05)
        with pytest.raises(TimeoutError):
            listener.accept()
    assert isinstance(found, Unreachable)
    assert "s3cret" not in found.reason


def test_a_post_is_its_json_with_its_length():
    body = b'{"model":"m"}'
    with serving(bytes_of(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), end=body) as (url, asked):
        assert post(url + "/v1/x", body, timeout_s=5, token="abc") == Page(200, b"ok", "")
    head, _, sent = bytes(asked).partition(b"\r\n\r\n")
    assert sent == body
    lines = head.split(b"\r\n")
    assert lines[0] == b"POST /v1/x HTTP/1.1"
    assert {b"Content-Length: 13", b"Content-Type: application/json", b"Authorization: Bearer abc"} <= set(
        lines
    )


def test_an_answer_before_the_whole_body_was_taken_is_read():
    def refuse(connection):
        connection.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")

    with serving(refuse, end=b"\r\n\r\n") as (url, _):
        found = post(url, b"x" * 30_000_000, timeout_s=5)
    # the server closed with bytes unread, so the system may drop its answer, too
    assert found in (
        Page(413, b"", ""),
        Unreachable(ErrorClass.CONNECTION_RESET, "the server closed the connection"),
    )


def test_interim_answers_are_passed_over():
    data = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"
    assert ask(data) == Page(200, b"x", "")


@pytest.mark.parametrize("size", [b"-5", b"+3", b"0_1", b"", b"0x3"])
def test_a_chunk_size_is_only_digits(size):
    found = ask(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + size + b"\r\nabcde\r\n0\r\n\r\n")
    assert isinstance(found, Unreachable)
    assert found.error is ErrorClass.INCOMPLETE_BODY


def test_a_certificate_nobody_vouches_for_is_a_tls_failure(tmp_path):
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    made = (
        subprocess.run(
            [
                "openssl",
                "req",
                "-x509",
                "-newkey",
                "rsa:2048",
                "-nodes",
                "-days",
                "1",
                "-subj",
                "/CN=localhost",
                "-keyout",
                str(key),
                "-out",
                str(cert),
            ],
            capture_output=True,
            check=False,
        )
        if shutil.which("openssl")
        else None
    )
    if made is None or made.returncode:
        pytest.skip("no openssl to make a certificate with")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)

    def serve(listener):
        connection, _ = listener.accept()
        try:
            context.wrap_socket(connection, server_side=True).close()
        except OSError:
            connection.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,), daemon=True)
        thread.start()
        found = get(f"https://localhost:{listener.getsockname()[1]}/", timeout_s=5)
        thread.join(5)
    assert isinstance(found, Unreachable)
    assert found.error is ErrorClass.TLS_FAILED
    assert "self" in found.reason  # "self-signed certificate" or "self signed certificate"
