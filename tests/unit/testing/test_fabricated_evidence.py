"""The fabricated evidence is what a real run leaves: chained, digested, decodable."""

from fairtrial.decode.record import decode_capture
from fairtrial.evidence.documents import canonical, read, sha256_hex
from fairtrial.judge.tables import read_table
from fairtrial.schema.facts import JournalLine, Opened, Sealed
from fairtrial.schema.requests import Capture, RequestRecord
from fairtrial.testing.evidence import fabricate, with_facts


def test_the_journal_is_chained_from_the_plan_to_the_head():
    evidence = fabricate()
    link = sha256_hex(canonical(evidence.plan))
    assert evidence.plan_sha256 == link
    for number, line in enumerate(evidence.lines):
        assert (line.seq, line.prev) == (number, link)
        assert read(JournalLine, canonical(line), where="journal") == line
        link = sha256_hex(canonical(line))
    assert evidence.head == link
    assert isinstance(evidence.lines[0].fact, Opened)


def test_another_journal_is_chained_too():
    evidence = fabricate()
    changed = with_facts(evidence, [line.fact for line in evidence.lines][:5])
    assert len(changed.lines) == 5
    assert changed.lines[4].prev == sha256_hex(canonical(changed.lines[3]))


def test_every_sealed_file_is_there_with_its_size():
    evidence = fabricate()
    sealed = {line.fact.artifact: line.fact.size for line in evidence.lines if isinstance(line.fact, Sealed)}
    assert sealed == {name: len(data) for name, data in evidence.files.items()}


def test_records_are_what_the_decoder_says_of_the_bytes():
    files, stem = fabricate().files, "r1b-returning.1-returning-measured"
    captures = read_table(files, f"{stem}-index", Capture).rows
    records = read_table(files, f"{stem}-requests", RequestRecord).rows
    response, sent = files[f"{stem}-response"], files[f"{stem}-sent"]
    again = tuple(
        decode_capture(
            c,
            response[c.offset : c.offset + c.size],
            sent[c.sent_offset : c.sent_offset + c.sent_size],
        )
        for c in captures
    )
    assert again == records
    assert [record.output_ids for record in records] == [(101, 102, 103)] * 4
