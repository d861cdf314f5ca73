"""What decoding a phase costs: processor time from captures on disk to request records on disk.

python benchmarks/decode.py [--requests 1000] [--tokens 64] [--rounds 5] [--token-ids] [--one-read]
"""

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

from fairtrial.drive.capture_files import PhaseFiles
from fairtrial.drive.decoding import decode_captures
from fairtrial.schema.client_vocab import Transport
from fairtrial.schema.requests import REQUESTS_SCHEMA, TableHeader
from fairtrial.schema.vocab import Phase, StampSource

HEAD = (
    b"HTTP/1.1 200 OK\r\ndate: Mon, 30 Nov 2026 12:27:48 GMT\r\nserver: uvicorn\r\n"
    b"content-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n"
)
PROMPT = "the of and to in a is that for it as was with be by on not he his but " * 8


def chunk(data: dict | None) -> bytes:
    line = (
        b"data: [DONE]\n\n"
        if data is None
        else b"data: " + json.dumps(data, separators=(",", ":")).encode() + b"\n\n"
    )
    return b"%x\r\n%s\r\n" % (len(line), line)


def answer(number: int, tokens: int, *, ids: bool) -> list[bytes]:
    common = {"id": f"chatcmpl-{number:016x}", "object": "chat.completion.chunk", "created": 1796041669,
              "model": "a-model-of-eight-billion-parameters"}  # fmt: skip

    def event(delta: dict, finish: str | None, **more: object) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish, **more}
        return chunk({**common, "choices": [choice]})

    parts = [HEAD + event({"role": "assistant", "content": ""}, None)]
    for token in range(tokens):
        finish = "length" if token == tokens - 1 else None
        more = {"token_ids": [1000 + token]} if ids else {}
        parts.append(event({"content": f" word{token % 10}"}, finish, **more))
    usage = {"prompt_tokens": 128, "total_tokens": 128 + tokens, "completion_tokens": tokens,
             "prompt_tokens_details": {"cached_tokens": 0}}  # fmt: skip
    return [*parts, chunk({**common, "choices": [], "usage": usage}), chunk(None) + b"0\r\n\r\n"]


def write(files: PhaseFiles, options: argparse.Namespace) -> int:
    body = json.dumps(
        {"model": "m", "messages": [{"role": "user", "content": PROMPT}], "max_tokens": options.tokens}
    )
    request = b"POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\n\r\n" + body.encode()
    offset = 0
    with files.index.open("wb") as index, files.responses.open("wb") as kept, files.sent.open("wb") as sent:
        index.write(b"{}\n")
        for number in range(options.requests):
            parts = answer(number, options.tokens, ids=options.token_ids)
            parts = [b"".join(parts)] if options.one_read else parts
            began = number * 1_000_000
            arrivals = [began + 50_000_000 + 10_000_000 * i for i in range(len(parts))]
            size = sum(map(len, parts))
            row = {"request_id": f"r-{number:06d}", "case": f"m-{number:06d}", "sequence": number,
                   "connection": number % 64, "scheduled_ns": None, "sent_ns": began,
                   "handed_ns": began + 9000,
                   "done_ns": arrivals[-1] + 5000, "arrivals_ns": arrivals, "sizes": list(map(len, parts)),
                   "lags_ns": [15_000] * len(parts), "offset": offset, "size": size,
                   "sent_offset": number * len(request), "sent_size": len(request), "end": "complete",
                   "error": None}  # fmt: skip
            index.write(json.dumps(row).encode() + b"\n")
            kept.write(b"".join(parts))
            sent.write(request)
            offset += size
    return offset


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--token-ids", action="store_true")
    parser.add_argument("--one-read", action="store_true")
    options = parser.parse_args()
    header = TableHeader(
        schema=REQUESTS_SCHEMA, launch="l", workload="w", phase=Phase.MEASURED, repetition=1, arm="A", boot=1,
        origin_mono_ns="0", origin_wall_ns="0", transport=Transport.OWN, stamps=StampSource.KERNEL,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as name:
        files = PhaseFiles(Path(name))
        size = write(files, options)
        times = []
        for _ in range(options.rounds):
            began = time.process_time()
            decoded = decode_captures(files, header, None, lambda: False)
            times.append((time.process_time() - began) / options.requests * 1e3)
            if (decoded.failed, decoded.token_events) != (0, options.requests * options.tokens):
                raise SystemExit(f"wrong: {decoded}")
    print(
        f"{options.requests} requests of {options.tokens} tokens, {size / options.requests:,.0f} bytes each: "
        f"{statistics.median(times):.3f} ms of processor time a request (best {min(times):.3f})"
    )


if __name__ == "__main__":
    main()
