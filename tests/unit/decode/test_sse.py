import time

import pytest

from fairtrial.decode.sse import EventStream


def events(data):
    return [event.data for event in EventStream().feed(data)]


def test_line_ends_are_lf_cr_and_crlf_only():
    assert events(b"data: a\n\ndata: b\r\rdata: c\r\n\r\n") == [b"a", b"b", b"c"]
    odd = "data: a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\n\n".encode()
    assert events(odd) == ["a\u2028b\u2029c\x85d\x0be\x0cf\x1cg".encode()]


def test_lines_of_one_event_are_joined_and_one_blank_is_dropped():
    assert events(b"data: {\ndata:  1\ndata:}\n\n") == [b"{\n 1\n}"]


def test_what_is_no_data_is_skipped():
    text = (
        b": comment\n\nevent: x\nid: 7\nretry: 30\n\ndata\n\ndata:\n\ndatax: no\n\nerror: {}\n\ndata: yes\n\n"
    )
    assert events(text) == [b"yes"]


def test_one_mark_at_the_start_is_dropped_and_no_other():
    mark = b"\xef\xbb\xbf"
    assert events(mark + b"data: a\n\n" + mark + b"data: b\n\ndata: c\n\n") == [b"a", b"c"]
    assert events(mark + mark + b"data: a\n\n") == []


@pytest.mark.parametrize("tail", [b"data: cut", b"data: cut\n", b"data: cut\r"])
def test_an_unfinished_event_is_never_delivered(tail):
    stream = EventStream()
    assert [event.data for event in stream.feed(b"data: a\n\n" + tail)] == [b"a"]
    assert stream.unfinished


def test_a_finished_stream_leaves_nothing():
    stream = EventStream()
    stream.feed(b"data: a\r\n\r\n: bye\n")
    assert not stream.unfinished


def test_every_cut_gives_the_same_and_the_last_byte_delivers():
    text = b"\xef\xbb\xbfdata: a\r\ndata: b\r\n\r\n: c\r\rdata: d\n\n\ndata: e\r\r\ndata: f\n\n"
    right = [b"a\nb", b"d", b"e", b"f"]
    assert events(text) == right
    for cut in range(len(text) + 1):
        stream = EventStream()
        assert [e.data for part in (text[:cut], text[cut:]) for e in stream.feed(part)] == right
    stream = EventStream()
    assert [e.data for i in range(len(text)) for e in stream.feed(text[i : i + 1])] == right


def test_a_cr_delivers_without_waiting_for_an_lf():
    stream = EventStream()
    assert stream.feed(b"data: a\r\n") == []
    assert [event.data for event in stream.feed(b"\r")] == [b"a"]
    assert stream.feed(b"\n") == []


def test_a_long_line_in_small_pieces_takes_linear_time():
    line = b"data: " + b"z" * 200_000 + b"\n\n"
    stream, found = EventStream(), []
    began = time.process_time()
    for i in range(len(line)):
        found += stream.feed(line[i : i + 1])
    assert [len(event.data) for event in found] == [200_000]
    assert time.process_time() - began < 4


@pytest.mark.parametrize("line", [b": c\n", b":\r", b"\n", b"id: 7\r\n", b"dat\n", b"datax: 1\r"])
def test_lines_without_data_are_skipped_in_any_number_inside_and_between_events(line):
    many = line * 3
    inside = b"" if line == b"\n" else many
    text = b"data: a\n" + inside + b"data: b\n\n" + many + b"data: c\n\n" + many
    assert events(text) == [b"a\nb", b"c"]
    stream = EventStream()
    assert [e.data for i in range(len(text)) for e in stream.feed(text[i : i + 1])] == [b"a\nb", b"c"]


def test_a_flood_of_comments_costs_seconds_and_no_minutes():
    stream, comments = EventStream(), b":\n\n" * 21_845
    stream.feed(b"data: a\n\n")
    started = time.process_time()
    for _ in range(256):  # 16 MiB; a Python step for each line would take some ten times as long
        assert stream.feed(comments) == []
    assert time.process_time() - started < 4
