import pytest

from fairtrial.drive.message import request_bytes, request_id, token_bytes, with_token, without_token
from fairtrial.drive.order import Address, Item, LoadOrder, TimeLimits
from fairtrial.schema.errors import DriverError, UsageError

ADDRESS = Address("127.0.0.1", 8000, tls=False, prefix="/base")
TOKEN = b"sk-0123456789"


def test_request_is_whole_and_its_length_right():
    request = request_bytes(ADDRESS, "/v1/completions", "id-1", b'{"a":1}', authorised=False)
    head, _, body = request.partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    assert lines[0] == b"POST /base/v1/completions HTTP/1.1"
    assert b"Host: 127.0.0.1:8000" in lines
    assert b"X-Request-Id: id-1" in lines
    assert b"Content-Length: 7" in lines
    assert body == b'{"a":1}'
    assert b"uthorization" not in request


def test_token_is_only_in_what_is_sent():
    kept = request_bytes(ADDRESS, "/v1/completions", "id-1", b"{}", authorised=True)
    sent = with_token(kept, TOKEN)
    assert TOKEN not in kept
    assert sent.split(b"\r\n\r\n")[0].endswith(b"\r\nAuthorization: Bearer sk-0123456789")
    assert sent.replace(TOKEN, b"[withheld]") == kept
    assert with_token(kept, None) == kept


def test_a_body_that_looks_like_the_placeholder_is_left_alone():
    body = b'{"prompt":"\\r\\nAuthorization: Bearer [withheld]"}'
    sent = with_token(request_bytes(ADDRESS, "/p", "id-1", body, authorised=True), TOKEN)
    assert sent.endswith(b"\r\n\r\n" + body)


def test_a_token_that_a_server_repeats_is_struck_out_without_moving_a_byte():
    assert without_token(b"bad key sk-0123456789!", TOKEN) == b"bad key *************!"
    assert without_token(b"EMPTY answer", b"EMPTY") == b"EMPTY answer"
    assert without_token(b"x", None) == b"x"


@pytest.mark.parametrize("token", ["", "a b", "a\r\nX: y", "clé"])
def test_tokens_that_no_header_can_carry(token):
    with pytest.raises(UsageError) as refused:
        token_bytes(token)
    assert not token or token not in refused.value.line()


def test_request_ids_differ_by_launch_phase_and_sequence():
    made = {request_id(a, w, p, i) for a in "ab" for w in "cd" for p in ("prime", "measured") for i in (0, 1)}
    assert len(made) == 16


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://h", Address("h", 80, tls=False, prefix="")),
        ("https://h/api/", Address("h", 443, tls=True, prefix="/api")),
        ("http://[::1]:9", Address("::1", 9, tls=False, prefix="")),
    ],
)
def test_addresses(url, expected):
    assert Address.parse(url) == expected


def test_host_header():
    assert Address.parse("http://[::1]:9").authority == "[::1]:9"
    assert Address.parse("https://h").authority == "h"


@pytest.mark.parametrize(
    "url", ["h:80", "ftp://h", "http://", "http://h:99999", "http://h/a b", "http://h/?q=1"]
)
def test_addresses_that_are_none(url):
    with pytest.raises(UsageError):
        Address.parse(url)


def test_a_password_in_an_address_is_refused_and_not_repeated():
    with pytest.raises(UsageError) as refused:
        Address.parse("http://me:hunter2@h:1")
    assert "hunter2" not in refused.value.line()


def test_order_survives_json():
    import orjson

    order = LoadOrder(ADDRESS, 4, TimeLimits(10, 20), 123, "/x", 5, ramp_ns=7, shard=1, shards=2, rate=0.5)
    assert LoadOrder.from_json(orjson.loads(order.to_json())) == order
    for item in (Item(0, "c000", "id-0", 0, 5), Item(1, "c001", "id-1", 5, 9, 2**53 - 1)):
        assert Item.of_line(item.to_line()) == item
    with pytest.raises(DriverError):
        LoadOrder.from_json({"address": {}})
