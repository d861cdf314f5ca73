"""The metrics page is kept byte for byte; host facts name nothing private."""

import threading
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer

from fairtrial.observe.scrape import scrape
from fairtrial.profiles import openai

PAGE = b'# TYPE a counter\na_total{x="\xc3\xbc"} 1\nnot prometheus at all \xff\x00'
METERED = replace(openai.PROFILE, metrics_path="/metrics")


@contextmanager
def metered(*, token=None):
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_GET(self):
            allowed = token is None or self.headers.get("Authorization") == f"Bearer {token}"
            self.send_response(200 if allowed and self.path == "/metrics" else 403)
            self.end_headers()
            self.wfile.write(PAGE)

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_the_page_is_kept_as_it_is():
    with metered() as url:
        assert scrape(url, METERED) == PAGE
        assert scrape(url + "/", METERED) == PAGE


def test_no_page_is_none_and_not_empty_bytes():
    with metered(token="t") as url:
        assert scrape(url, METERED, token="t") == PAGE
        assert scrape(url, METERED) is None
        assert scrape(url, openai.PROFILE, token="t") is None
    assert scrape(url, METERED, timeout_s=1) is None


def test_a_metrics_page_that_repeats_the_token_is_kept_without_it():
    token = "prometheus"  # a word of the page
    with metered(token=token) as url:
        page = scrape(url, METERED, token=token)
    assert page == PAGE.replace(token.encode(), b"*" * len(token))
    assert token.encode() not in page
