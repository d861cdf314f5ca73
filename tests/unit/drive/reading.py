"""Reads what a phase left behind, strictly."""

from fairtrial.evidence import documents
from fairtrial.schema.client import ClientReport
from fairtrial.schema.requests import Capture, RequestRecord, TableHeader


def rows_of(path, model, schema):
    header, *rows = path.read_bytes().splitlines()
    assert documents.read(TableHeader, header, where=path.name).schema == schema
    return [documents.read(model, row, where=path.name) for row in rows]


def records(result):
    return rows_of(result.requests, RequestRecord, "fairtrial.requests/v1")


def captures(result):
    rows = rows_of(result.capture_index, Capture, "fairtrial.capture/v1")
    return sorted(rows, key=lambda capture: capture.sequence)


def report(result):
    made = documents.read(ClientReport, result.client.read_bytes(), where="client.json")
    assert made == result.report
    return made
