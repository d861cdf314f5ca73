"""Tool calls put together from the pieces of a stream. No repair: what came is what counts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import orjson

from fairtrial.decode.values import ShapeError, clean, count_of, object_at, text_at
from fairtrial.schema.stream_flags import StreamFlag


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call as the server sent it."""

    index: int
    id: str | None
    name: str | None
    arguments: str
    """The text of the arguments, pieces joined."""
    arguments_valid_json: bool
    """True only for a JSON object."""


@dataclass(slots=True)
class _Parts:
    index: int
    id: str | None = None
    name: str | None = None
    arguments: list[str] = field(default_factory=list)


class ToolCalls:
    """Collects the pieces of all calls of one answer."""

    def __init__(self) -> None:
        self.flags: set[StreamFlag] = set()
        self._calls: list[_Parts] = []
        self._last: _Parts | None = None

    def feed(self, entries: Iterable[object], *, whole: bool = False) -> None:
        """Take the entries of one ``tool_calls`` list.

        Args:
            entries: Pieces of calls.
            whole: Each is a call of its own, whatever its index.

        Raises:
            ShapeError: An entry that isn't a call.
        """
        for entry in entries:
            if not isinstance(entry, dict):
                raise ShapeError("a tool call is not an object")
            self._entry({**entry, "index": len(self._calls)} if whole else entry)

    def result(self) -> tuple[ToolCall, ...]:
        """All calls in index order."""
        calls = []
        for parts in sorted(self._calls, key=lambda call: call.index):
            arguments = clean("".join(parts.arguments))
            calls.append(ToolCall(parts.index, parts.id, parts.name, arguments, _is_object(arguments)))
        return tuple(calls)

    def _entry(self, entry: Mapping[str, object]) -> None:
        function = object_at(entry, "function") or {}
        call_id, name = text_at(entry, "id"), text_at(function, "name")
        parts = self._find(count_of(entry.get("index")), call_id)
        parts.id = parts.id or clean(call_id) or None
        parts.name = parts.name or clean(name) or None
        parts.arguments.append(text_at(function, "arguments"))
        self._last = parts

    def _find(self, index: int | None, call_id: str) -> _Parts:
        """The call that an entry continues, or a new one."""
        if index is None:
            self.flags.add(StreamFlag.TOOL_INDEX_MISSING)
            return self._without_index(call_id)
        same = [call for call in self._calls if call.index == index]
        for call in reversed(same):
            if not call_id or call.id in {None, call_id}:
                return call
        if same:
            # Another id at a used index: another call. Joining the two would invent arguments.
            self.flags.add(StreamFlag.TOOL_INDEX_REUSED)
        return self._new(index)

    def _without_index(self, call_id: str) -> _Parts:
        if not call_id and self._last is not None:
            return self._last
        for call in self._calls:
            if call_id and call.id == call_id:
                return call
        return self._new(1 + max((call.index for call in self._calls), default=-1))

    def _new(self, index: int) -> _Parts:
        parts = _Parts(index)
        self._calls.append(parts)
        return parts


def _is_object(text: str) -> bool:
    try:
        return isinstance(orjson.loads(text), dict)
    except orjson.JSONDecodeError:
        return False
