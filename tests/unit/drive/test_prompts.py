"""Prompts against a second construction, written from the module's description alone."""

import hashlib
from itertools import combinations

import pytest

from fairtrial.drive.prompts import Domain, Prompt, Prompts, PromptSpec
from fairtrial.drive.words import WORDS
from fairtrial.schema.errors import UsageError

VOCABULARY = range(8, 2048)


def prompts(**changes):
    return Prompts(PromptSpec(**({"seed": 7, "name": "fixed-work", "width": 1000} | changes)))


def by_hand(number, named, length, span):
    """Digits of the number, lowest first, as many as 2**32 needs; then SHAKE-256 scaled to the span."""
    digits = 1
    while span**digits < 2**32:
        digits += 1
    digits = min(digits, length)
    seed = hashlib.sha256("\n".join(named).encode()).digest()
    stream = hashlib.shake_256(seed).digest(4 * (length - digits))
    drawn = [int.from_bytes(stream[i : i + 4], "little") * span // 2**32 for i in range(0, len(stream), 4)]
    return [number // span**i % span for i in range(digits)] + drawn


def test_ids_by_a_second_hand():
    symbols = by_hand(1 + 1000 * 1, ["7", "fixed-work", "WARMUP", "1", "0"], 16, 2040)
    made = prompts().ids(Prompt(Domain.WARMUP, 1), 16, VOCABULARY)
    assert made == tuple(8 + symbol for symbol in symbols)


def test_ids_of_a_repetition_by_a_second_hand():
    symbols = by_hand(5 + 1000 * (2 + 3 * 4), ["7", "fixed-work", "PROBE", "5", "4"], 9, 2040)
    made = prompts().ids(Prompt(Domain.PROBE, 5, 4), 9, VOCABULARY)
    assert made == tuple(8 + symbol for symbol in symbols)


def test_shared_prefixes_by_a_second_hand():
    """Prompt 7 of 3 prefixes: prefix 1, and the third (number 2) of those that share it."""
    prefix = by_hand(1, ["7", "fixed-work", "CORPUS", "1", "0", "prefix"], 40, 2040)
    own = by_hand(2, ["7", "fixed-work", "CORPUS", "7", "0"], 24, 2040)
    made = prompts(shared_prefix_tokens=40, prefixes=3).ids(Prompt(Domain.CORPUS, 7), 64, VOCABULARY)
    assert made == tuple(8 + symbol for symbol in prefix + own)


def test_the_bytes_of_a_trial_are_those_of_the_first_release():
    """Of the published evidence format: prompts are not allowed to change with the program."""
    made = prompts(width=3).ids(Prompt(Domain.WARMUP, 1), 3, VOCABULARY)
    assert made == (8 + 4, 8, 8)  # number 1 + 3 * 1, in digits to the base of 2040


def test_exact_length_and_range_for_every_length():
    for length in (1, 2, 3, 4, 5, 6, 100):
        made = prompts().ids(Prompt(Domain.CORPUS, 1), length, VOCABULARY)
        assert len(made) == length
        assert all(token in VOCABULARY for token in made)


def test_seed_name_and_ordinal_change_the_drawn_part():
    base = prompts().ids(Prompt(Domain.CORPUS, 1), 16, VOCABULARY)
    for other in (prompts(seed=8), prompts(name="other")):
        assert other.ids(Prompt(Domain.CORPUS, 1), 16, VOCABULARY)[4:] != base[4:]
    assert prompts().ids(Prompt(Domain.CORPUS, 2), 16, VOCABULARY)[4:] != base[4:]


@pytest.mark.parametrize("span", [2, 26, 269, 2040, 150_000])
def test_no_two_prompts_share_a_first_block(span):
    """The smallest block that a number of 32 bits needs in this alphabet, of every domain and repetition."""
    block = 1
    while span**block < 2**32:
        block += 1
    made = [
        prompts(width=50).ids(Prompt(domain, ordinal, repetition), block, range(span))
        for domain in (Domain.CORPUS, Domain.WARMUP, Domain.PROBE)
        for ordinal in range(50)
        for repetition in (0, 1, 2)
    ]
    made += [
        prompts(width=50).ids(Prompt(domain, ordinal), block, range(span))
        for domain in (Domain.CANARY, Domain.CALIBRATION)
        for ordinal in range(50)
    ]
    assert len(set(made)) == 5 * 50 + 3 * 2 * 50


def common(one, other):
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=True)) if a != b), len(one))


@pytest.mark.parametrize(("span", "prefixes"), [(2040, 4), (26, 1), (26, 26)])
def test_shared_prefixes_share_exactly_the_prefix(span, prefixes):
    made = {
        (domain, ordinal): prompts(shared_prefix_tokens=48, prefixes=prefixes).ids(
            Prompt(domain, ordinal), 64, range(span)
        )
        for domain in (Domain.CORPUS, Domain.WARMUP)
        for ordinal in range(2 * prefixes + 6)
    }
    for (one, first), (other, second) in combinations(made.items(), 2):
        if one[0] is other[0] and one[1] % prefixes == other[1] % prefixes:
            assert common(first, second) == 48
        else:
            assert common(first, second) < 16


def test_a_prefix_that_leaves_nothing_is_refused():
    with pytest.raises(UsageError, match="leaves nothing of a prompt of 40"):
        prompts(shared_prefix_tokens=40).ids(Prompt(Domain.CORPUS, 0), 40, VOCABULARY)
    with pytest.raises(UsageError, match="at least 2"):
        prompts().ids(Prompt(Domain.CORPUS, 0), 40, range(1))


def test_words_are_the_same_prompts_in_another_alphabet():
    words = prompts().words(Prompt(Domain.CORPUS, 2), 40)
    places = prompts().ids(Prompt(Domain.CORPUS, 2), 40, range(len(WORDS)))
    assert words == [WORDS[place] for place in places]
    assert len(set(WORDS)) == len(WORDS)
