"""Lines of keys, against line numbers counted by hand."""

import tomllib

import pytest

from fairtrial.plan.toml_lines import key_lines

TEXT = '''# comment
id = "a # not a comment" # x = 3
"q.k".b = """
fake = 1
[fake]
\\""" still inside
"""
[t.u]   # [not]
a.b = { c = 1, d = [1,
  2, { e = "]" }], f = 'x' }
g = [
  "AB", # hi ]
  "BA",
]
lit = \'\'\'
[fake2]
\'\'\'
when = 1979-05-27 07:32:00
[[w]]
n = 1
[[w]]
n = 2
[w.sub]
k = -inf
'''

EXPECTED = {
    ("id",): 2,
    ("q.k", "b"): 3,
    ("t", "u"): 8,
    ("t", "u", "a", "b"): 9,
    ("t", "u", "a", "b", "d", "1"): 10,
    ("t", "u", "a", "b", "d", "2", "e"): 10,
    ("t", "u", "a", "b", "f"): 10,
    ("t", "u", "g"): 11,
    ("t", "u", "g", "0"): 12,
    ("t", "u", "g", "1"): 13,
    ("t", "u", "lit"): 15,
    ("t", "u", "when"): 18,
    ("w", "0", "n"): 20,
    ("w", "1", "n"): 22,
    ("w", "1", "sub", "k"): 24,
}


@pytest.mark.parametrize("path", EXPECTED, ids=".".join)
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_lines(path: tuple[str, ...], end: str) -> None:
    tomllib.loads(TEXT)  # the text is what it seems
    assert key_lines(TEXT.replace("\n", end)).line(path) == EXPECTED[path]


def test_text_inside_strings_is_no_key() -> None:
    found = key_lines(TEXT).lines
    assert not any(part.startswith("fake") for path in found for part in path)


def test_unknown_keys_fall_back_to_the_table_around_them() -> None:
    lines = key_lines("a = 1\n[t]\nb = 2\n")
    assert lines.line(("t", "missing", "deeper")) == 2
    assert lines.line(("nowhere",)) == 1


def test_escaped_keys() -> None:
    assert key_lines('x = 1\n"a\\u0062\\"" = 2\n').line(('ab"',)) == 2


@pytest.mark.parametrize("text", ["a = ", "[", "= 3", "a = {", "a = [1 2]", '"', "\x00", "[" * 5000])
def test_text_that_is_no_toml_gives_what_it_can(text: str) -> None:
    assert key_lines("good = 1\n" + text).line(("good",)) == 1
