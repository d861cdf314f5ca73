"""Drawing tokens and ending answers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairtrial.engine.sampling import Answer, Sampler, SamplingParams
from fairtrial.engine.tokenizer import EOS, encode


def logits(**scores: float) -> np.ndarray:
    values = np.full(2048, -30, np.float32)
    for name, score in scores.items():
        values[int(name[1:])] = score
    return values


def draws(params: SamplingParams, scores: np.ndarray, count: int) -> list[int]:
    sampler = Sampler(params)
    return [sampler.draw(scores, i) for i in range(count)]


def test_greedy_takes_the_likeliest_and_the_lowest_of_equals() -> None:
    greedy = SamplingParams(max_tokens=1, temperature=0)
    assert draws(greedy, logits(t9=1, t10=2, t11=2), 3) == [10, 10, 10]


def test_eos_can_be_drawn_only_after_min_tokens() -> None:
    greedy = SamplingParams(max_tokens=5, min_tokens=2, temperature=0)
    assert draws(greedy, logits(t2=9, t50=1), 4) == [50, 50, EOS, EOS]


def test_equal_seeds_draw_equal_tokens() -> None:
    scores = np.random.default_rng(3).standard_normal(2048).astype(np.float32)
    one, same, other = (draws(SamplingParams(99, seed=seed), scores, 50) for seed in (1, 1, 2))
    assert one == same != other


def test_frequencies_follow_the_softmax() -> None:
    # Scores ln 6, ln 3, ln 1 at temperature 1: shares 0.6, 0.3, 0.1.
    scores = logits(t20=float(np.log(6)), t30=float(np.log(3)), t40=0.0)
    drawn = draws(SamplingParams(9, seed=5), scores, 4000)
    shares = [drawn.count(token) / 4000 for token in (20, 30, 40)]
    # Three standard errors of a share of 0.6 over 4,000 draws are 0.023.
    assert shares == pytest.approx([0.6, 0.3, 0.1], abs=0.024)


def test_temperature_sharpens() -> None:
    # At temperature 0.5 the weights are squared: 36, 9, 1 of 46.
    scores = logits(t20=float(np.log(6)), t30=float(np.log(3)), t40=0.0)
    drawn = draws(SamplingParams(9, seed=5, temperature=0.5), scores, 4000)
    assert drawn.count(20) / 4000 == pytest.approx(36 / 46, abs=0.024)


@pytest.mark.parametrize(
    ("top_p", "kept"), [(1e-9, {20}), (0.5, {20}), (0.7, {20, 30}), (0.95, {20, 30, 40})]
)
def test_top_p_keeps_the_smallest_set_that_holds_it(top_p: float, kept: set[int]) -> None:
    # Shares 0.6, 0.3 and 0.1, as above.
    scores = logits(t20=float(np.log(6)), t30=float(np.log(3)), t40=0.0)
    assert set(draws(SamplingParams(9, seed=5, top_p=top_p), scores, 500)) == kept


@pytest.mark.parametrize("temperature", [1e-300, 5e-324, 1e-8])
def test_a_tiny_temperature_is_greedy(temperature: float) -> None:
    scores = logits(t9=1, t10=2)
    assert draws(SamplingParams(9, seed=1, temperature=temperature), scores, 3) == [10, 10, 10]


def answer(ids: list[int], **params: object) -> tuple[list[str], str | None, str | None]:
    """Push ids until the answer ends: the texts, and why it ended."""
    made = Answer(SamplingParams(**{"max_tokens": 100, **params}))
    texts = []
    for token in ids:
        piece = made.push(token)
        texts.append(piece.text)
        if piece.finish_reason is not None:
            return texts, piece.finish_reason, piece.stop_reason
    return texts, None, None


def test_length_ends_and_shows_what_was_unfinished() -> None:
    assert answer([8 + 97, 8 + 0xE2], max_tokens=2) == (["a", "\ufffd"], "length", None)


def test_eos_ends_without_text() -> None:
    assert answer([8 + 97, EOS, 8 + 98]) == (["a", ""], "stop", None)
    assert answer([8 + 97, EOS, 8 + 98], ignore_eos=True, max_tokens=3) == (["a", "", "b"], "length", None)


def test_a_stop_string_cuts_and_is_named() -> None:
    assert answer(encode("one END two"), stop=("END",)) == (
        ["o", "n", "e", " ", "", "", ""],
        "stop",
        "END",
    )


def test_what_only_looks_like_a_stop_string_is_shown() -> None:
    texts, reason, _ = answer(encode("aENb"), stop=("END",), max_tokens=4)
    assert (texts, reason) == (["a", "", "", "ENb"], "length")


def test_the_earliest_stop_string_wins() -> None:
    texts, _, stop = answer(encode(" baba"), stop=("ba", "aba"))
    assert (texts, stop) == ([" "], "ba")


def test_stop_strings_wait_for_min_tokens() -> None:
    assert answer(encode("xx"), stop=("x",), min_tokens=2) == (["x", ""], "stop", "x")


@given(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=30).map("".join),
    st.lists(st.text("abc", min_size=1, max_size=4), min_size=1, max_size=3),
)
def test_streams_with_stops_equal_a_search_in_the_whole_text(text: str, stops: list[str]) -> None:
    texts, reason, stop = answer(encode(text), stop=tuple(stops), max_tokens=len(text))
    # Second method: the first prefix of the text that holds a stop string ends the answer.
    end = next((n for n in range(1, len(text) + 1) if any(s in text[:n] for s in stops)), None)
    if end is None:
        assert ("".join(texts), reason, stop) == (text, "length", None)
        return
    cut = min(text[:end].find(s) for s in stops if s in text[:end])
    assert ("".join(texts), reason) == (text[:cut], "stop")
    assert stop in stops
    assert text[cut:].startswith(stop)
