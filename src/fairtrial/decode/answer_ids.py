"""Whether the chunks of one stream say that they belong to one answer."""

from collections.abc import Mapping


class AnswerIds:
    """Takes the ``id`` of each chunk of OpenAI's older routes.

    Chunks without an id say nothing. Where every chunk has an id of its own, as some older servers
    send them, the ids don't name answers: only where one of them comes twice are others foreign.
    """

    __slots__ = ("_first", "_last", "_other", "_twice")

    def __init__(self) -> None:
        self._first = self._last = ""
        self._other = self._twice = False

    @staticmethod
    def of(chunk: Mapping[str, object]) -> str:
        """The id of a chunk; empty if it has none that names an answer."""
        name = chunk.get("id") if "choices" in chunk else None
        return name if isinstance(name, str) else ""

    def note(self, name: str, times: int = 1) -> None:
        """Take the id of so many chunks in a row."""
        if not name:
            return
        self._first = self._first or name
        self._other |= name != self._first
        # The first id names the answer; a foreign one that comes again comes mostly in a row.
        self._twice |= times > 1 or name == self._last or (name == self._first and self._last != "")
        self._last = name

    @property
    def mixed(self) -> bool:
        """Whether chunks of several answers came."""
        return self._other and self._twice
