"""Live progress of loads on standard error: a line drawn anew on a terminal, elsewhere a line a stage.

It is written by hand: what draws prettier takes longer to import than a small run takes.
"""

import os
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from time import monotonic

from fairtrial.bench.words import failure_line, interrupted, load_words
from fairtrial.cli.output import aligned, say
from fairtrial.schema.bench import BenchHeader, StageSpec, StageSummary

EVERY_S = 0.1
RECENT_S = 3.0
"""Rates are of the last seconds."""
_CLEAR = "\r\x1b[2K"
_BAR = 20


class Line:
    """A line that is drawn anew in place, where standard error is a terminal."""

    def __init__(self, *, quiet: bool) -> None:
        self.live = not quiet and sys.stderr is not None and sys.stderr.isatty()
        self.live = self.live and os.environ.get("TERM", "") not in ("", "dumb")
        self._drawn = False

    def draw(self, text: str) -> None:
        """Show this text instead of the one before."""
        if self.live:
            width = shutil.get_terminal_size().columns - 1
            self._write(_CLEAR + aligned(text)[:width])
            self._drawn = True

    def clear(self) -> None:
        """Make room for a whole line."""
        if self._drawn:
            self._write(_CLEAR)
            self._drawn = False

    @staticmethod
    def _write(text: str) -> None:
        with suppress(OSError, ValueError):  # a terminal that went away stops nothing
            sys.stderr.write(text)
            sys.stderr.flush()


class BenchProgress:
    """Tells how a run goes on. Implements ``fairtrial.bench.run.Watcher``.

    Args:
        load_begins: Called before the first request of a load.
        quiet: Tell nothing.
        reasons: Say at the end of a stage why requests failed, as no text will.
    """

    def __init__(
        self, load_begins: Callable[[], None], *, quiet: bool = False, reasons: bool = False
    ) -> None:
        self._load_begins = load_begins
        self._quiet = quiet
        self._reasons = reasons
        self._line = Line(quiet=quiet)
        self._header: BenchHeader | None = None
        self._stage: StageSpec | None = None
        self._recent: list[tuple[float, int]] = []
        self._drawn_at = 0.0

    def preparing(self, what: str) -> None:
        """Something before the load takes its time."""
        self._line.draw(what)

    def prepared(self, header: BenchHeader) -> None:
        """Server and inputs are known; the load begins."""
        self._header = header
        self._load_begins()

    def stage(self, stage: StageSpec) -> None:
        """A stage begins with its warm-up."""
        self._stage, self._recent = stage, []
        self._line.draw(f"{self._title(stage)}  warming up with {stage.warmup} requests")

    def traffic(self, done: int, failed: int) -> None:
        """Requests of the stage that are over."""
        now = monotonic()
        if self._stage is None or not self._line.live or now - self._drawn_at < EVERY_S:
            return
        self._drawn_at = now
        self._recent = [(at, count) for at, count in self._recent if now - at <= RECENT_S]
        self._recent.append((now, done))
        self._line.draw(self._words(self._stage, done, failed))

    def stage_done(self, summary: StageSummary) -> None:
        """A stage is over."""
        self._line.clear()
        if self._quiet or self._line.live:
            return
        failed = summary.attempted - summary.ok - interrupted(summary)
        seconds = (summary.ended_ns - summary.started_ns) / 1e9
        first = (
            f"; {failure_line(summary.failures[0])}"
            if summary.failures and self._reasons and summary.ok
            else ""
        )
        title = self._title(summary.spec)
        say(f"{title}: {summary.attempted} requests in {seconds:.1f} s, {failed} failed{first}")

    def end(self) -> None:
        """Nothing more is drawn."""
        self._line.clear()

    def _title(self, stage: StageSpec) -> str:
        count = len(self._header.stages) if self._header is not None else 1
        number = f"stage {stage.stage}/{count}, " if count > 1 else ""
        return f"{number}{load_words(stage)}"

    def _words(self, stage: StageSpec, done: int, failed: int) -> str:
        filled = _BAR * done // stage.requests
        parts = [
            f"{self._title(stage)}  [{'=' * filled}{' ' * (_BAR - filled)}] {done}/{stage.requests}",
            f"{failed} failed" if failed else "",
            self._pace(stage, done),
        ]
        return "  ".join(part for part in parts if part)

    def _pace(self, stage: StageSpec, done: int) -> str:
        (began, before), (now, _) = self._recent[0], self._recent[-1]
        if now <= began or done <= before:
            return ""
        rate = (done - before) / (now - began)
        tokens = self._header.tokens if self._header is not None else None
        parts = [f"{rate:,.1f} requests/s"]
        if tokens is not None and tokens.fixed_output and tokens.output_tokens is not None:
            parts.append(f"about {rate * tokens.output_tokens:,.0f} tok/s")
        return "  ".join([*parts, f"{(stage.requests - done) / rate:,.0f} s left"])
