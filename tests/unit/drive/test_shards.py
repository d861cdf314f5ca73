"""What several load processes share: every request once, slots in equal parts, one set of files."""

import orjson
import pytest

from fairtrial.drive.capture_files import PhaseFiles, items_of
from fairtrial.drive.order import Address
from fairtrial.drive.phase_files import prepare
from fairtrial.drive.shards import merge, slots_of
from fairtrial.drive.traffic import Origin, Outgoing, TrafficJob
from fairtrial.schema.errors import EvidenceError
from fairtrial.schema.vocab import LoadKind


def job(tmp_path, count, concurrency, processes, due=None, **changes):
    due = due or [None] * count
    fields = {
        "address": Address.parse("http://h:1/base"),
        "route": "/v1/completions",
        "requests": (Outgoing(i, f"c{i}", f"r-{i}", b'{"n":%d}' % i, due[i]) for i in range(count)),
        "load": LoadKind.CLOSED_LOOP if due[:1] in ([], [None]) else LoadKind.OPEN_LOOP,
        "concurrency": concurrency,
        "processes": processes,
        "origin": Origin(1, 0, 0),
        "directory": tmp_path / "phase",
        "capture_header": {"first": "line"},
        "table_header": {},
    }
    return TrafficJob(**(fields | changes))


@pytest.mark.parametrize(
    ("count", "concurrency", "processes", "slots"),
    [
        (10, 5, 1, [5]),
        (10, 5, 2, [3, 2]),
        (100, 10, 4, [3, 3, 2, 2]),
        (10, 2, 4, [1, 1]),  # no more processes than slots
        (3, 8, 4, [1, 1, 1]),  # nor than requests
        (1, 1, 3, [1]),
        (0, 4, 2, []),
    ],
)
def test_parts(tmp_path, count, concurrency, processes, slots):
    prepared = prepare(job(tmp_path, count, concurrency, processes))
    assert [order.concurrency for order in prepared.orders] == slots
    assert prepared.requests == count
    items = [list(items_of(order)) for order in prepared.orders]
    assert [order.requests for order in prepared.orders] == [len(part) for part in items]
    assert sorted(item.sequence for part in items for item in part) == list(range(count))
    for shard, part in enumerate(items):
        assert [item.sequence for item in part] == list(range(shard, count, len(slots)))
        assert all(order.shards == len(slots) for order in prepared.orders)
    sent = (tmp_path / "phase" / "sent.bin").read_bytes()
    for part in items:
        for item in part:
            request = sent[item.offset : item.offset + item.size]
            assert request.startswith(b"POST /base/v1/completions HTTP/1.1\r\n")
            assert request.endswith(b"\r\n\r\n" + b'{"n":%d}' % item.sequence)
    assert len(list((tmp_path / "phase").glob("items-*"))) == len(slots)


def test_slots_of_all_shards_are_all_slots():
    for concurrency in range(1, 40):
        for shards in range(1, concurrency + 1):
            parts = [slots_of(concurrency, shard, shards) for shard in range(shards)]
            assert sum(parts) == concurrency
            assert max(parts) - min(parts) <= 1


def test_due_times_reach_the_items_and_their_rate_the_orders(tmp_path):
    prepared = prepare(job(tmp_path, 4, 8, 2, due=[0, 500_000_000, 700_000_000, 1_500_000_000]))
    assert [[item.due_ns for item in items_of(order)] for order in prepared.orders] == [
        [0, 700_000_000],
        [500_000_000, 1_500_000_000],
    ]
    # Three gaps in 1.5 s: two a second, one for each process.
    assert [(order.open_loop, order.rate) for order in prepared.orders] == [(True, 1.0)] * 2
    assert (prepared.due.count, prepared.due.first_ns, prepared.due.last_ns) == (4, 0, 1_500_000_000)


def row(sequence, offset, size):
    return orjson.dumps({"sequence": sequence, "offset": offset, "size": size, "kept": [sequence]}) + b"\n"


def shard_files(paths, shard, rows, responses):
    paths.shard_index(shard).write_bytes(rows)
    paths.shard_responses(shard).write_bytes(responses)


@pytest.fixture
def paths(tmp_path):
    made = PhaseFiles(tmp_path)
    made.index.write_bytes(b'{"first":"line"}\n')
    made.responses.write_bytes(b"")
    return made


def read_back(paths):
    header, *rows = paths.index.read_bytes().splitlines()
    assert header == b'{"first":"line"}'
    captures = [orjson.loads(line) for line in rows]
    data = paths.responses.read_bytes()
    return [(one["sequence"], data[one["offset"] : one["offset"] + one["size"]]) for one in captures]


def test_captures_are_merged_by_sequence_and_keep_their_bytes(paths):
    shard_files(paths, 0, row(2, 0, 3) + row(0, 3, 4), b"twozero")
    shard_files(paths, 1, row(1, 0, 3) + row(3, 3, 0), b"one")
    shard_files(paths, 2, b"", b"")
    merge(paths, 3)
    assert read_back(paths) == [(0, b"zero"), (1, b"one"), (2, b"two"), (3, b"")]
    assert sorted(path.name for path in paths.directory.iterdir()) == ["capture.bin", "capture.jsonl"]


def test_what_a_dead_process_left_unfinished_is_left_out(paths):
    shard_files(paths, 0, row(0, 0, 4) + row(2, 4, 3)[:-5], b"zerotwo and bytes without a row")
    shard_files(paths, 1, row(1, 0, 3), b"one")
    merge(paths, 2)
    assert read_back(paths) == [(0, b"zero"), (1, b"one")]
    assert paths.responses.read_bytes() == b"zeroone"


def test_a_directory_with_captures_is_never_written_over(tmp_path):
    prepare(job(tmp_path, 1, 1, 1))
    with pytest.raises(EvidenceError, match="File exists"):
        prepare(job(tmp_path, 1, 1, 1))
