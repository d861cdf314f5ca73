"""The token is found however a server wrote it, and nothing around it moves."""

import json

import pytest

from fairtrial.net.secrets import strike, strike_bytes, strike_json

TOKEN = "sk-4f9c1d7e0b"
STARS = "*" * len(TOKEN)


def test_text():
    assert strike(f"key {TOKEN}, again {TOKEN}", TOKEN) == f"key {STARS}, again {STARS}"
    assert strike("nothing here", TOKEN) == "nothing here"
    assert strike("EMPTY", "EMPTY") == "EMPTY"
    assert strike("text", None) == "text"


@pytest.mark.parametrize("upper", [False, True])
def test_every_character_escaped(upper):
    escaped = "".join(f"\\u{ord(char):04X}" if upper else f"\\u{ord(char):04x}" for char in TOKEN)
    body = f'{{"error": "wrong key {escaped}"}}'.encode()
    assert json.loads(body)["error"] == f"wrong key {TOKEN}"
    struck = strike_bytes(body, TOKEN)
    assert len(struck) == len(body)
    assert json.loads(struck)["error"] == "wrong key " + "*" * len(escaped)


def test_one_character_escaped_and_signs_with_a_backslash():
    assert strike_bytes(b'"sk\\u002d4f9c1d7e0b"', TOKEN) == b'"' + b"*" * 18 + b'"'
    token = 'ab/cd"ef\\gh'
    for body in (json.dumps(token).encode(), json.dumps(token).replace("/", "\\/").encode()):
        assert json.loads(body) == token
        assert set(json.loads(strike_bytes(body, token))) == {"*"}


def test_bytes_without_it_are_the_same_bytes():
    data = b'{"a": "\\u00e9 sk-4f9c1d7e0"}'
    assert strike_bytes(data, TOKEN) == data
    assert strike_bytes(data, None) == data


def test_parsed_json_with_its_keys():
    page = {"data": [{"id": TOKEN, TOKEN: [f"x{TOKEN}", 3, None, True]}]}
    assert strike_json(page, TOKEN) == {"data": [{"id": STARS, STARS: [f"x{STARS}", 3, None, True]}]}
    assert strike_json(page, None) is page
