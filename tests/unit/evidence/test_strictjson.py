"""Strict JSON: the whole kinds are refused, and JSONTestSuite agrees."""

import contextlib
import json
from pathlib import Path

import pytest

from fairtrial.evidence import strictjson
from fairtrial.schema.errors import DocumentError

SUITE = Path(__file__).parents[4] / "shared/vectors/evidence/jsontestsuite"
POLICY = {
    "y_object_duplicated_key.json",
    "y_object_duplicated_key_and_value.json",
}
"""Valid JSON that our policy refuses: two readers may keep different values."""


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b" [1, 2.5, -0, 1e2] ", [1, 2.5, 0, 100.0]),
        (b'{"a": {"b": [null, true, false]}}', {"a": {"b": [None, True, False]}}),
        (b"9007199254740991", 2**53 - 1),
        (b"-9007199254740991", -(2**53) + 1),
        (b'"\\ud834\\udd1e"', "\U0001d11e"),
        ('"ü\U0001d11e"'.encode(), "ü\U0001d11e"),
        (b'"\\\\ud800"', "\\ud800"),
        (b"1e-999", 0.0),
        (b"1.7976931348623157e308", 1.7976931348623157e308),
    ],
)
def test_accepts(data, value):
    assert strictjson.loads(data) == value


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b'{"a":{"b":1,"b":1}}', 'duplicate key "b" at /a'),
        (b'{"a":1,"\\u0061":2}', 'duplicate key "a" at the top'),
        (b'{"a":[0,NaN]}', "NaN is not JSON at /a/1"),
        (b"[Infinity]", "Infinity"),
        (b"-Infinity", "-Infinity"),
        (b"[1e999]", "too large for a double at /0"),
        (b"-1e999", "too large"),
        (b"9007199254740992", "2^53-1"),
        (b"[-9007199254740992]", "exactly at /0"),
        (b"1" + b"0" * 5000, "2^53-1"),
        (b"\xef\xbb\xbf{}", "byte order mark"),
        ("[]".encode("utf-16"), "not UTF-8"),
        (b'"\xff"', "not UTF-8 at byte 1"),
        (b'"\xed\xa0\x80"', "not UTF-8"),
        (b'"\xc0\xaf"', "not UTF-8"),
        (b'{"x":["\\ud800"]}', "lone surrogate at /x/0"),
        (b'"\\udc00\\ud800"', "lone surrogate"),
        (b'{"a/b~":{"\\uDFFF":1}}', "lone surrogate at /a~1b~0"),
        (b"{} {}", "Extra data"),
        (b"{}\x00", "Extra data"),
        (b"[1,]", "not JSON at line 1"),
        (b'\n\n{"a" 1}', "line 3, column 6"),
        (b"", "not JSON"),
        (b"\x0b1", "not JSON"),
        (b'"\x01"', "control character"),
        (b"01", "Extra data"),
        (b"+1", "not JSON"),
        (b".5", "not JSON"),
    ],
)
def test_refuses_and_names_the_place(data, what):
    with pytest.raises(DocumentError) as caught:
        strictjson.loads(data, where="plan.json")
    assert what in caught.value.message
    assert caught.value.line().startswith("plan.json: ")


def test_depth_is_bounded_for_arrays_and_objects():
    assert strictjson.loads(b"[" * 64 + b"]" * 64) is not None
    for data in (b"[" * 65 + b"]" * 65, b'{"a":' * 65 + b"1" + b"}" * 65):
        with pytest.raises(DocumentError, match="nested deeper than 64"):
            strictjson.loads(data)
    with pytest.raises(DocumentError, match="nested deeper than 2 at /0/1"):
        strictjson.loads(b"[[1,[2]]]", max_depth=2)


@pytest.mark.parametrize("data", [b"[" * 200_000, b'{"a":' * 200_000, b"[" * 200_000 + b"]" * 200_000])
def test_no_recursion_error_escapes(data):
    with pytest.raises(DocumentError):
        strictjson.loads(data)


def test_size_is_bounded_before_anything_is_parsed():
    assert strictjson.loads(b"[1]", max_bytes=3) == [1]
    with pytest.raises(DocumentError, match="4 bytes, more than the 3 allowed"):
        strictjson.loads(b"[10]", max_bytes=3)


def test_pointer_follows_rfc_6901():
    # RFC 6901 section 5: the keys "a/b" and "m~n".
    assert strictjson.pointer(["a/b"]) == "/a~1b"
    assert strictjson.pointer(["m~n", 0]) == "/m~0n/0"


@pytest.mark.shared
@pytest.mark.skipif(not SUITE.is_dir(), reason="the conformance inputs beside the project are absent")
def test_jsontestsuite():
    files = sorted((SUITE / "test_parsing").iterdir())
    counts = {"y": 0, "n": 0, "i": 0}
    wrong = []
    for file in files:
        kind = file.name[0]
        counts[kind] += 1
        data = file.read_bytes()
        try:
            value = strictjson.loads(data, where=file.name)
        except DocumentError:
            accepted = False
        else:
            accepted = True
            if kind == "y":
                assert value == json.loads(data)
        if kind != "i" and accepted is not (kind == "y" and file.name not in POLICY):
            wrong.append(file.name)
    assert wrong == []
    assert counts == {"y": 95, "n": 188, "i": 35}
    for file in (SUITE / "test_transform").iterdir():
        with contextlib.suppress(DocumentError):
            strictjson.loads(file.read_bytes(), where=file.name)
