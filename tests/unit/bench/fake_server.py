"""Servers with tokenizers of several kinds, answering control requests in the process of the test."""

import re
from dataclasses import dataclass, field

import orjson

from fairtrial.net.http_call import Page, Unreachable
from fairtrial.profiles.registry import profile
from fairtrial.schema.client_vocab import Capability
from fairtrial.schema.vocab import ErrorClass

ALL = frozenset(Capability)
NO_TOKENIZER = ALL - {Capability.TOKENIZE}
NO_IDS = ALL - {Capability.PROMPT_IDS}


def _id(piece):
    """A number for each piece: its last six bytes."""
    return int.from_bytes(piece.encode()[-6:], "big")


def whole_words(text):
    """Each word with its leading space is a token."""
    return [_id(piece) for piece in re.findall(r" ?[^ ]+", text)]


def long_words_split(text):
    """Words of more than five letters are two tokens: the last letter is one of its own."""
    ids = []
    for piece in re.findall(r" ?[^ ]+", text):
        ids += [_id(piece[:-1]), _id(piece[-1])] if len(piece.strip()) > 5 else [_id(piece)]
    return ids


def spaced(text):
    """A word without its leading space, as the first of a text is, falls apart into its letters."""
    ids = []
    for piece in re.findall(r" ?[^ ]+", text):
        ids += [_id(piece)] if piece.startswith(" ") else [_id(letter) for letter in piece]
    return ids


def letters(text):
    """A token for each character."""
    return [ord(letter) for letter in text]


def across(text):
    """Two neighbours in the order of the alphabet become one token: costs don't add up."""
    pieces, ids = re.findall(r" ?[^ ]+", text), []
    while pieces:
        first = pieces.pop(0)
        merged = pieces and first.strip() < pieces[0].strip()
        ids.append(_id(first + pieces.pop(0)) if merged else _id(first))
    return ids


@dataclass
class FakeServer:
    """One server; what it was sent is kept."""

    tokenize: object
    before: int = 0
    """Tokens that every prompt gets in front: BOS, or a chat template's head."""
    after: int = 0
    counts: bool = True
    """Whether answers count tokens."""
    fixed_count: int | None = None
    """A server that says the same count whatever it is sent."""
    route_status: int = 200
    status: int = 200
    longest: int | None = None
    """Longest prompt that it takes."""
    dead: bool = False
    engine: str = "vllm"
    model: str = "m"
    capabilities: frozenset = NO_IDS
    sent: list = field(default_factory=list)

    @property
    def profile(self):
        return profile(self.engine)

    def length(self, text):
        return self.before + len(self.tokenize(text)) + self.after

    def post(self, path, body):
        asked = orjson.loads(body)
        self.sent.append((path, asked))
        if self.dead:
            return Unreachable(ErrorClass.CONNECTION_REFUSED, "nothing listens there")
        if path == "/tokenize":
            ids = [1] * self.before + list(self.tokenize(asked["prompt"]))
            return Page(self.route_status, orjson.dumps({"tokens": ids}), "application/json")
        return self.generate(asked)

    def generate(self, asked):
        text = asked["prompt"] if "prompt" in asked else asked["messages"][0]["content"]
        count = self.length(text) if self.fixed_count is None else self.fixed_count
        if self.status != 200 or (self.longest is not None and count > self.longest):
            return Page(self.status if self.status != 200 else 400, b'{"error":{}}', "application/json")
        answer = {"choices": [{"text": "x"}]}
        if self.counts:
            answer["usage"] = {"prompt_tokens": count, "completion_tokens": 1}
        return Page(200, orjson.dumps(answer), "application/json")

    def texts(self):
        """Every text that it was asked to generate from."""
        return [
            asked["prompt"] if "prompt" in asked else asked["messages"][0]["content"]
            for path, asked in self.sent
            if path != "/tokenize"
        ]
