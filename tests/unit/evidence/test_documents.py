"""Documents: strict reading, canonical writing, digests from published vectors."""

import json
from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import Field

from fairtrial.evidence import documents, strictjson
from fairtrial.schema.base import Record
from fairtrial.schema.errors import DocumentError
from fairtrial.schema.types import Count
from fairtrial.schema.vocab import Phase

JCS = Path(__file__).parents[4] / "shared/vectors/evidence/rfc8785-jcs/testdata"


class Cat(Record):
    kind: Literal["cat"] = "cat"
    lives: Count


class Dog(Record):
    kind: Literal["dog"] = "dog"
    tricks: tuple[str, ...]


class House(Record):
    schema_: Literal["house/v1"] = Field(default="house/v1", alias="schema")
    pets: tuple[Annotated[Cat | Dog, Field(discriminator="kind")], ...]
    phase: Phase = Phase.PRIME
    warmth: float | None = None


GOOD = b'{"schema":"house/v1","pets":[{"kind":"cat","lives":9}],"phase":"measured","warmth":20}'


def test_read_gives_the_document():
    house = documents.read(House, GOOD, where="h")
    assert house == House(pets=(Cat(lives=9),), phase=Phase.MEASURED, warmth=20.0)


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        (b'"lives":9', b'"lives":"9"', "at /pets/0/lives"),
        (b'"lives":9', b'"lives":9.0', "at /pets/0/lives"),
        (b'"lives":9', b'"lives":-1', "at /pets/0/lives"),
        (b',"lives":9', b"", "Field required at /pets/0/lives"),
        (b'"lives":9', b'"lives":9,"extra":1', "at /pets/0/extra"),
        (b'"cat"', b'"cow"', "at /pets/0"),
        (b'"measured"', b'"lunch"', "at /phase"),
        (b'"house/v1"', b'"house/v2"', "at /schema"),
        (b"20", b"NaN", "NaN is not JSON at /warmth"),
        (b"20", b'20,"warmth":21', 'duplicate key "warmth"'),
        (b"20", b'"20"', "at /warmth"),
        (b'"lives":9', b'"lives":true', "at /pets/0/lives"),
    ],
)
def test_read_refuses_and_points(old, new, what):
    with pytest.raises(DocumentError) as caught:
        documents.read(House, GOOD.replace(old, new), where="house.json")
    assert what in caught.value.line()
    assert caught.value.where == "house.json"


def test_read_says_how_many_problems_there_are():
    with pytest.raises(DocumentError, match=r"\(and 1 more\)"):
        documents.read(House, b'{"pets":[{"kind":"cat"}],"phase":"x"}', where="h")


def test_canonical_of_a_document_uses_aliases_and_sorted_keys():
    house = House(pets=(Dog(tricks=("sit", "é")),))
    expected = (
        '{"pets":[{"kind":"dog","tricks":["sit","é"]}],"phase":"prime","schema":"house/v1","warmth":null}'
    )
    assert documents.canonical(house) == expected.encode()
    assert documents.read(House, documents.canonical(house), where="h") == house


def test_canonical_of_rfc_8785_section_3_2_2():
    # The RFC's own example.
    source = (
        rb'{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],'
        rb'"string":"\u20ac$\u000F\u000aA\u0027\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}'
    )
    expected = (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )
    assert documents.canonical(strictjson.loads(source)) == expected.encode()


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        2**53,
        [2.0**60],
        {"a": "\ud800"},
        {"\ud800": 1},
        {1: 2},
        {"a": {1, 2}},
        b"bytes",
        1e20,
    ],
)
def test_canonical_never_writes_what_the_strict_reader_refuses(value):
    with pytest.raises(DocumentError):
        documents.canonical(value)


def test_canonical_survives_a_cycle():
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(DocumentError):
        documents.canonical(loop)


def test_digests_are_the_published_ones():
    # FIPS 180-2 appendix B.1 and RFC 4231 test case 2.
    assert documents.sha256_hex(b"abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert (
        documents.commitment(b"Jefe", b"what do ya want for nothing?")
        == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    )


@pytest.mark.shared
@pytest.mark.skipif(not JCS.is_dir(), reason="the conformance inputs beside the project are absent")
def test_the_jcs_vectors():
    names = sorted(path.name for path in (JCS / "input").iterdir())
    assert len(names) == 6
    for name in names:
        value = strictjson.loads((JCS / "input" / name).read_bytes(), where=name)
        assert documents.canonical(value) == (JCS / "output" / name).read_bytes()
        assert value == json.loads((JCS / "input" / name).read_bytes())
