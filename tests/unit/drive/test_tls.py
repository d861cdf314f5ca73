import ssl

import pytest
from mock_server import MockServer
from reading import captures, records

from fairtrial.drive.driver import Driver
from fairtrial.schema.vocab import ErrorClass, Outcome


@pytest.fixture
def secure(certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    with MockServer(tls=context) as running:
        yield running


def go(job):
    with Driver() as driver:
        return driver.run_phase(job, on_progress=lambda *_: None, should_abort=lambda: False)


def test_a_trusted_certificate(secure, make_job, certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    result = go(make_job(secure.url("good"), measured=3))
    assert [record.outcome for record in records(result)] == [Outcome.OK] * 3
    assert {capture.connection for capture in captures(result)} == {0}


def test_an_untrusted_certificate(secure, make_job):
    result = go(make_job(secure.url("good"), measured=1))
    assert [(c.end, c.error) for c in captures(result)] == [("not_sent", ErrorClass.TLS_FAILED)]
    assert secure.seen == []


def test_nothing_is_sent_twice_when_the_server_closes_after_each_answer(
    secure, make_job, certificate, monkeypatch
):
    """Its close may cross our next request on the wire: then that request failed, and only that."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    result = go(make_job(secure.url("one"), measured=4))
    assert result.attempted == 4
    assert len({seen.request_id for seen in secure.seen}) == len(secure.seen)
    assert {record.error for record in records(result)} <= {None, ErrorClass.CONNECTION_RESET}
