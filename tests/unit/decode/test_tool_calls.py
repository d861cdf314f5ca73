import pytest

from fairtrial.decode.tool_calls import ToolCalls
from fairtrial.decode.values import ShapeError
from fairtrial.schema.stream_flags import StreamFlag


def entry(index=None, call_id=None, name=None, arguments=None):
    made = {"id": call_id, "function": {"name": name, "arguments": arguments}}
    return made if index is None else made | {"index": index}


def collected(*entries):
    calls = ToolCalls()
    calls.feed(list(entries))
    return [(c.index, c.id, c.name, c.arguments, c.arguments_valid_json) for c in calls.result()], calls.flags


def test_interleaved_calls_come_out_in_index_order():
    calls, flags = collected(
        entry(1, "c1", "s", ""), entry(0, "c0", "s", ""), entry(0, arguments='{"q":'), entry(1, arguments="{}"),
        entry(0, arguments='"x"}'),
    )  # fmt: skip
    assert calls == [(0, "c0", "s", '{"q":"x"}', True), (1, "c1", "s", "{}", True)]
    assert flags == set()


def test_pieces_without_an_index_continue_the_call_before():
    calls, flags = collected(
        entry(None, "c0", "find", ""), entry(arguments="{}"), entry(None, "c1", "find", "[]")
    )
    assert calls == [(0, "c0", "find", "{}", True), (1, "c1", "find", "[]", False)]
    assert flags == {StreamFlag.TOOL_INDEX_MISSING}


def test_another_id_at_a_used_index_is_another_call():
    calls, flags = collected(entry(0, "a", "f", "{}"), entry(0, "b", "g", "{"), entry(0, arguments="}"))
    assert calls == [(0, "a", "f", "{}", True), (0, "b", "g", "{}", True)]
    assert flags == {StreamFlag.TOOL_INDEX_REUSED}


@pytest.mark.parametrize("arguments", ["", "false", "[1]", '"x"', '{"a":1', '{"a":1}{"a":1}', '{"a":NaN}'])
def test_only_an_object_is_valid(arguments):
    calls, _ = collected(entry(0, "c", "f", arguments))
    assert calls == [(0, "c", "f", arguments, False)]


@pytest.mark.parametrize(
    "bad", [3, None, {"index": 0, "function": []}, {"index": 0, "function": {"arguments": {}}}]
)
def test_what_is_no_call_is_refused(bad):
    with pytest.raises(ShapeError):
        collected(bad)
