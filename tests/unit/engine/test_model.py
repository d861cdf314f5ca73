"""The chunked float32 model against a second method: token by token, head by head, in float64."""

import numpy as np
import pytest

from fairtrial.engine.layers import weights_digest
from fairtrial.engine.model import Model
from fairtrial.engine.state import RequestState
from fairtrial.profiles.reference_models import LAPTOP, SMALL


class Oracle:
    """The same mathematics written from its definition."""

    def __init__(self, model):
        self.shape, self.weights = model.shape, model._weights
        self.states = np.zeros(self.shape.row_shape)
        self.past = {index: [] for index, letter in enumerate(self.shape.layers) if letter == "A"}
        self.position = 0

    def norm(self, x):
        return x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + 1e-5)

    def turn(self, x):
        """Rotary embedding as a product of complex numbers."""
        frequency = 10000.0 ** (-np.arange(len(x) // 2) * 2 / len(x))
        turned = (x[0::2] + 1j * x[1::2]) * np.exp(1j * self.position * frequency)
        return np.stack([turned.real, turned.imag], axis=1).reshape(-1)

    def recurrence(self, qkv, state):
        heads, width = self.shape.row_heads, self.shape.key_dim
        q, k, v = np.split(qkv, [heads * width, 2 * heads * width])
        out = []
        for head in range(heads):
            query = self.norm(q.reshape(heads, width)[head])
            key = self.norm(k.reshape(heads, width)[head]) / width
            decay = 1 - 2.0 ** (-5 - head / 2)
            state[head] = decay * state[head] + np.outer(key, v.reshape(heads, -1)[head])
            out.append(self.norm(query @ state[head]))
        return np.concatenate(out)

    def attention(self, qkv, past):
        heads, width = self.shape.query_heads, self.shape.head_dim
        queries, key, value = np.split(qkv, [heads * width, (heads + 1) * width])
        past.append((self.turn(key), value))
        out = []
        for query in queries.reshape(heads, width):
            scores = np.array([self.turn(query) @ key / np.sqrt(width) for key, _ in past])
            share = np.exp(scores - scores.max())
            out.append(sum(s * value for s, (_, value) in zip(share / share.sum(), past, strict=True)))
        return np.concatenate(out)

    def token(self, token):
        x = self.weights.embedding[token].astype(np.float64)
        row = 0
        for index, layer in enumerate(self.weights.layers):
            qkv = self.norm(x) @ layer.mix_in.astype(np.float64)
            if index in self.past:
                mixed = self.attention(qkv, self.past[index])
            else:
                mixed = self.recurrence(qkv, self.states[row])
                row += 1
            x = x + mixed @ layer.mix_out.astype(np.float64)
            gate, value = np.split(self.norm(x) @ layer.gate_up.astype(np.float64), 2)
            x = x + (gate / (1 + np.exp(-gate)) * value) @ layer.down.astype(np.float64)
        self.position += 1
        return self.norm(x) @ self.weights.unembedding.astype(np.float64)


def prefill(model, tokens, capacity=None):
    state = RequestState(model.shape, capacity or len(tokens) + 8)
    page = model.shape.page_tokens
    for start in range(0, len(tokens), page):
        model.prefill_chunk(np.asarray(tokens[start : start + page]), start, state)
    return state


@pytest.mark.parametrize("length", [1, 2, 64, 65, 200])
def test_chunks_and_decode_steps_agree_with_the_oracle(small_model, lab, length):
    prompt = lab.prompts(1, length)[0]
    oracle = Oracle(small_model)
    expected = [oracle.token(token) for token in prompt][-1]
    state = prefill(small_model, prompt[:-1], length + 8)
    for _ in range(3):
        logits = small_model.decode([prompt[-1]], [state])[0]
        assert np.abs(logits - expected).max() < 1e-4
        assert logits.argmax() == expected.argmax()
        prompt = [int(logits.argmax())]
        expected = oracle.token(prompt[0])


def test_state_and_keys_of_a_chunk_agree_with_the_oracle(small_model, lab):
    prompt = lab.prompts(1, 100)[0]
    oracle = Oracle(small_model)
    for token in prompt:
        oracle.token(token)
    state = prefill(small_model, prompt)
    assert state.length == 100
    assert np.abs(state.row - oracle.states).max() < 1e-4
    keys = np.array([key for key, _ in oracle.past[2]])
    assert np.abs(state.kv[0, 0, :100] - keys).max() < 1e-4


def test_a_laptop_model_agrees_with_the_oracle(lab):
    model = Model(LAPTOP, 3)
    prompt = lab.prompts(1, 67)[0]
    oracle = Oracle(model)
    expected = [oracle.token(token) for token in prompt][-1]
    logits = model.decode(prompt[-1:], [prefill(model, prompt[:-1])])[0]
    assert np.abs(logits - expected).max() < 1e-3
    assert logits.argmax() == expected.argmax()


def test_a_batch_moves_every_request_by_its_own_past(small_model, lab):
    prompts = [prompt[:length] for prompt, length in zip(lab.prompts(3, 130), (1, 70, 130), strict=True)]
    alone = [small_model.decode(p[-1:], [prefill(small_model, p[:-1])])[0] for p in prompts]
    again = [small_model.decode(p[-1:], [prefill(small_model, p[:-1])])[0] for p in prompts]
    assert np.array_equal(alone, again)
    states = [prefill(small_model, p[:-1]) for p in prompts]
    together = small_model.decode([p[-1] for p in prompts], states)
    assert [state.length for state in states] == [1, 70, 130]
    assert together.shape == (3, SMALL.vocabulary)
    assert together.dtype == np.float32
    assert np.abs(together - alone).max() < 1e-4


def test_the_digest_tells_shape_seed_and_weights_apart(small_model):
    same = Model(SMALL, SMALL.seed)
    other = Model(SMALL, SMALL.seed + 1)
    assert same.sha256 == small_model.sha256
    assert other.sha256 != small_model.sha256
    assert len(other.sha256) == 64
    before = weights_digest(SMALL, 1, other._weights)
    other._weights.layers[0].down[0, 0] += 1
    assert weights_digest(SMALL, 1, other._weights) != before
    assert weights_digest(SMALL, 2, other._weights) != weights_digest(SMALL, 1, other._weights)


@pytest.mark.parametrize(
    ("tokens", "position", "length", "words"),
    [
        ([1] * 65, 0, 0, "within one page"),
        ([], 0, 0, "within one page"),
        ([1, 2], 63, 63, "within one page"),
        ([1], 3, 2, "stands at 2"),
        ([1], 128, 128, "don't fit"),
    ],
)
def test_a_chunk_that_cannot_be_is_refused(small_model, tokens, position, length, words):
    state = RequestState(SMALL, 128)
    state.length = length
    with pytest.raises(ValueError, match=words):
        small_model.prefill_chunk(np.asarray(tokens, np.int64), position, state)
    assert state.length == length
    assert not state.row.any()


def test_a_step_that_cannot_be_is_refused(small_model):
    full = RequestState(SMALL, 1)
    full.length = full.capacity
    assert full.capacity == 64
    for tokens, states, words in (
        ([], [], "0 tokens"),
        ([1, 2], [full], "2 tokens"),
        ([1], [full], "don't fit"),
    ):
        with pytest.raises(ValueError, match=words):
            small_model.decode(tokens, states)
