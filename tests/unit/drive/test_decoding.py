"""From the files of a phase to its request table, also where a worker died or somebody wants to stop."""

import orjson
import pytest

from fairtrial.decode.record import decode_capture
from fairtrial.drive import decoding
from fairtrial.drive.capture_files import PhaseFiles
from fairtrial.drive.decoding import capture_of, decode_captures
from fairtrial.evidence.documents import json_line, read
from fairtrial.schema.errors import EvidenceError
from fairtrial.schema.requests import Capture, RequestRecord
from fairtrial.schema.vocab import ErrorClass, Outcome
from fairtrial.testing.replies import MS, Reply, Traffic

HEADER = {"schema": "of the table"}
TOKEN = "sk-4f9c1d7e0b"


class _Case:
    def __init__(self, name):
        self.name, self.prompt, self.phase = name, 1, Outcome.OK


def phase(tmp_path, replies, order=None, tail=b""):
    """The files of a phase; ``order`` says in which order its requests ended."""
    files, traffic = PhaseFiles(tmp_path), Traffic(0)
    for number, reply in enumerate(replies):
        traffic.ask(f"r-{number}", _Case(f"c-{number}"), number, reply)
    rows = [json_line(traffic.captures[number]) for number in order or range(len(replies))]
    files.index.write_bytes(b'{"first":"line"}\n' + b"".join(rows) + tail)
    files.responses.write_bytes(bytes(traffic.response))
    files.sent.write_bytes(bytes(traffic.sent))
    return files, traffic


def table(files):
    header, *rows = files.requests.read_bytes().splitlines()
    assert orjson.loads(header) == HEADER
    return [read(RequestRecord, row, where="table") for row in rows]


REPLIES = [Reply(ttft_ms=30, gap_ms=4), Reply(status=503), Reply(ids=(7, 8))]


def test_every_capture_becomes_the_record_that_its_bytes_say(tmp_path):
    files, traffic = phase(tmp_path, REPLIES, order=[2, 0, 1])
    decoded = decode_captures(files, HEADER, None, lambda: False)
    records = table(files)
    assert [record.sequence for record in records] == [0, 1, 2]
    for record, c in zip(records, traffic.captures, strict=True):
        response = bytes(traffic.response[c.offset : c.offset + c.size])
        assert decode_capture(c, response, bytes(traffic.sent[c.sent_offset :][: c.sent_size])) == record
    assert (decoded.attempted, decoded.failed) == (3, 1)
    assert (decoded.first_ns, decoded.last_ns) == (0, traffic.captures[-1].done_ns)
    assert (decoded.token_events, decoded.bounded_events, decoded.first_tokens_bounded) == (5, 0, 0)


def test_bounds_are_counted(tmp_path):
    files, _ = phase(tmp_path, REPLIES[2:])
    first, row = files.index.read_bytes().splitlines()
    row = orjson.loads(row)
    row |= {"sizes": [sum(row["sizes"])], "arrivals_ns": [20 * MS], "lags_ns": [5]}
    files.index.write_bytes(first + b"\n" + orjson.dumps(row) + b"\n")
    decoded = decode_captures(files, HEADER, None, lambda: False)
    assert (decoded.token_events, decoded.bounded_events, decoded.first_tokens_bounded) == (2, 2, 1)


def test_what_a_dead_worker_left_unfinished_is_cut_off(tmp_path):
    files, traffic = phase(tmp_path, REPLIES, order=[0, 1], tail=b'{"request_id":"r-2","ca')
    whole = files.index.read_bytes().rpartition(b"\n")[0] + b"\n"
    decoded = decode_captures(files, HEADER, None, lambda: False)
    last = traffic.captures[1]
    assert decoded.attempted == 2
    assert files.index.read_bytes() == whole
    assert files.responses.stat().st_size == last.offset + last.size
    assert files.sent.stat().st_size == last.sent_offset + last.sent_size


def test_a_row_taken_as_it_is_is_the_row_that_is_read_back(tmp_path):
    _, traffic = phase(tmp_path, REPLIES)
    for capture in traffic.captures:
        line = json_line(capture)
        assert capture_of(line, "index") == read(Capture, line, where="index") == capture
    failed = orjson.loads(json_line(traffic.captures[0])) | {
        "error": "response_timed_out",
        "end": "timed_out",
    }
    assert capture_of(orjson.dumps(failed), "index").error is ErrorClass.RESPONSE_TIMED_OUT


@pytest.mark.parametrize(
    "row", [b"{}", b"[]", b"nonsense", b'{"sequence":"a"}', b'{"sequence":0,"offset":0}']
)
def test_a_row_that_is_no_capture_is_one_clear_error(tmp_path, row):
    files, _ = phase(tmp_path, REPLIES, tail=row + b"\n")
    with pytest.raises(EvidenceError) as caught:
        decode_captures(files, HEADER, None, lambda: False)
    assert caught.value.where == "capture.jsonl"


def test_bytes_that_are_not_there_are_one_clear_error(tmp_path):
    files, _ = phase(tmp_path, REPLIES)
    files.responses.write_bytes(files.responses.read_bytes()[:-1])
    with pytest.raises(EvidenceError):
        decode_captures(files, HEADER, None, lambda: False)


@pytest.mark.parametrize("token", [None, TOKEN])
def test_decoding_that_is_stopped_withholds_what_may_hold_the_token(tmp_path, monkeypatch, token):
    monkeypatch.setattr(decoding, "DECODE_GRACE_S", -1.0)
    files, traffic = phase(tmp_path, REPLIES)
    decoded = decode_captures(files, HEADER, token, lambda: True)
    assert (decoded.attempted, table(files)) == (0, [])
    kept = files.responses.read_bytes()
    assert kept == (bytes(traffic.response) if token is None else b"*" * len(traffic.response))


def test_the_token_is_struck_from_what_is_kept(tmp_path):
    files, traffic = phase(tmp_path, [Reply(model=TOKEN), Reply()])
    decode_captures(files, HEADER, TOKEN, lambda: False)
    assert TOKEN.encode() not in files.responses.read_bytes()
    assert [record.model for record in table(files)] == ["*" * len(TOKEN), "small"]
    assert files.responses.stat().st_size == len(traffic.response)
