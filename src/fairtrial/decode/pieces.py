"""What one chunk adds to an answer, whatever shape it came in."""

from collections.abc import Mapping
from dataclasses import dataclass

from fairtrial.decode.values import ShapeError, count_of, list_at


@dataclass(frozen=True, slots=True)
class Piece:
    """What one chunk adds to the answer."""

    content: str = ""
    reasoning: str = ""
    tool_calls: tuple[object, ...] = ()
    calls_whole: bool = False
    """Each of the calls is whole: none continues another."""
    ids: tuple[int, ...] = ()
    finish_reason: str | None = None
    last: bool = False
    """It says itself that nothing follows: the end mark of protocols without ``[DONE]``."""
    usage: Mapping[str, object] | None = None
    """Token counts under the names of OpenAI's usage, where the chunk states them in another way."""
    error: str | None = None
    """The server's message, where the chunk tells of a failure in a way of its own; may be empty."""
    model: object = None
    """The answer's model, where it stands somewhere else than at the top."""
    instead: bool = False
    """It repeats the whole answer: it counts only if nothing came before."""

    @property
    def has_token(self) -> bool:
        """Whether it carries a generated token: text, reasoning, a tool call or an id."""
        return bool(self.content or self.reasoning or self.tool_calls or self.ids)

    @property
    def visible(self) -> bool:
        """Whether it carries output that isn't reasoning: text or a tool call."""
        return bool(self.content or self.tool_calls)


NOTHING = Piece()


def id_list(parent: Mapping[str, object], key: str) -> tuple[int, ...]:
    """The token ids at a key; none if absent.

    Raises:
        ShapeError: It holds something else.
    """
    ids = []
    for value in list_at(parent, key) or ():
        token = count_of(value)
        if token is None:
            raise ShapeError(f"{key} holds something that is no token id")
        ids.append(token)
    return tuple(ids)
