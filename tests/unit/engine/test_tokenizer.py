"""Ids and text: round trips, cut streams, and a text for every id."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairtrial.engine import tokenizer
from fairtrial.engine.tokenizer import Detokenizer, chat_ids, decode, encode

TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=200)
WORDLIKE = st.lists(
    st.sampled_from([" baba", " babe", " ", "baba", "é", "😀", " zuzu", "x"]), max_size=40
).map("".join)
IDS = st.lists(st.integers(0, tokenizer.VOCABULARY - 1), max_size=60)


def streamed(ids: list[int]) -> list[str]:
    stream = Detokenizer()
    return [*(stream.push(token) for token in ids), stream.finish()]


@given(TEXTS | WORDLIKE)
def test_any_text_comes_back(text: str) -> None:
    assert decode(encode(text)) == text


@given(TEXTS | WORDLIKE)
def test_a_cut_stream_gives_the_same_text(text: str) -> None:
    pieces = streamed(encode(text))
    assert "".join(pieces) == text
    assert pieces[-1] == ""


@given(IDS)
def test_any_ids_stream_to_what_they_decode_to(ids: list[int]) -> None:
    assert "".join(streamed(ids)) == decode(ids)


@given(st.lists(st.integers(tokenizer.FIRST_WORD, tokenizer.VOCABULARY - 1), max_size=60))
def test_words_become_the_same_ids_again(ids: list[int]) -> None:
    assert encode(decode(ids)) == ids


def test_bytes_by_hand() -> None:
    # "hé": 68 c3 a9; the first byte has id 8.
    assert encode("hé") == [8 + 0x68, 8 + 0xC3, 8 + 0xA9]


def test_an_unfinished_character_waits() -> None:
    euro = [8 + byte for byte in "€".encode()]
    assert streamed(euro) == ["", "", "€", ""]
    assert streamed(euro[:2]) == ["", "", "\ufffd"]


def test_a_word_ends_an_unfinished_character() -> None:
    assert streamed([8 + 0xE2, tokenizer.FIRST_WORD]) == ["", "\ufffd baba", ""]


def test_every_word_is_printable_and_has_its_own_text() -> None:
    words = [decode([token]) for token in range(tokenizer.FIRST_WORD, tokenizer.VOCABULARY)]
    assert len(words) == 2048 - 8 - 256 == 1784
    assert len(set(words)) == len(words)
    assert all(word.isprintable() and word.strip() for word in words)


@pytest.mark.parametrize("special", range(8))
def test_specials_have_no_text(special: int) -> None:
    assert decode([special]) == ""


def test_chat_prompt_by_hand() -> None:
    ids = chat_ids([("system", "a"), ("user", "b")])
    assert ids == [1, 3, 8 + 97, 6, 4, 8 + 98, 6, 5]
