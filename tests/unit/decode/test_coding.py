import gzip
import zlib

import pytest

from fairtrial.decode.coding import BodyDecoder


def flushed(wbits, *texts):
    coder = zlib.compressobj(wbits=wbits)
    pieces = [coder.compress(text) + coder.flush(zlib.Z_SYNC_FLUSH) for text in texts]
    return [*pieces[:-1], pieces[-1] + coder.flush()]


@pytest.mark.parametrize(("coding", "wbits"), [
    ("gzip", 31), ("x-gzip", 31), ("GZIP", 31), ("deflate", 15), ("deflate", -15),
])  # fmt: skip
def test_each_flush_yields_its_text_at_once(coding, wbits):
    decoder = BodyDecoder(coding)
    assert [decoder.feed(piece) for piece in flushed(wbits, b"one", b"two")] == [b"one", b"two"]
    assert decoder.error is None


@pytest.mark.parametrize("coding", ["", "identity", " Identity "])
def test_no_coding_passes_bytes_on(coding):
    assert BodyDecoder(coding).feed(b"\x00\xff") == b"\x00\xff"


def test_a_gzip_body_of_two_members():
    decoder = BodyDecoder("gzip")
    assert decoder.feed(gzip.compress(b"a") + gzip.compress(b"b")) == b"ab"


def test_an_unknown_coding_is_an_error():
    decoder = BodyDecoder("br")
    assert decoder.feed(b"x") == b""
    assert "br" in decoder.error


def test_a_fault_keeps_what_came_before_it_whatever_the_cut():
    first, second = flushed(31, b"one" * 50, b"two")
    data = first + b"\xff\xff\xff" + second
    for size in (1, 2, 7, len(data)):
        decoder = BodyDecoder("gzip")
        out = b"".join(decoder.feed(data[i : i + size]) for i in range(0, len(data), size))
        assert out == b"one" * 50
        assert decoder.error


def test_a_wrong_checksum_is_an_error():
    data = bytearray(gzip.compress(b"text"))
    data[-8] ^= 1
    decoder = BodyDecoder("gzip")
    decoder.feed(bytes(data))
    assert decoder.error


def test_a_decompression_bomb_is_stopped(monkeypatch):
    monkeypatch.setattr("fairtrial.decode.coding.MAX_BODY", 1000)
    decoder = BodyDecoder("gzip")
    assert len(decoder.feed(gzip.compress(b"a" * 1_000_000))) <= 1001
    assert "more than 1000" in decoder.error
    assert decoder.feed(b"x") == b""
