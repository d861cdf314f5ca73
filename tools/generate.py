"""Generates schemas/ and docs/reference/ from the code; ``--check`` fails when they differ."""

import difflib
import json
import sys
import typing
from pathlib import Path

from pydantic import TypeAdapter

from fairtrial.cli.reference import command_reference
from fairtrial.schema.bench import BenchHeader, BenchRow, BenchSummary
from fairtrial.schema.calibration import Calibration
from fairtrial.schema.client import ClientReport
from fairtrial.schema.doctor import Diagnosis
from fairtrial.schema.document import Report
from fairtrial.schema.facts import Fact, JournalLine
from fairtrial.schema.identity import Identity
from fairtrial.schema.judgment import Judgment
from fairtrial.schema.metrics import METRICS
from fairtrial.schema.plan import FrozenPlan
from fairtrial.schema.record import ImportedRecord
from fairtrial.schema.record_judgment import RecordJudgment
from fairtrial.schema.requests import Capture, RequestRecord, TableHeader
from fairtrial.schema.vocab import ExitCode
from fairtrial.trial.amending import Amendment

ROOT = Path(__file__).resolve().parent.parent

DOCUMENTS = {
    "plan": FrozenPlan,
    "journal-line": JournalLine,
    "identity": Identity,
    "table-header": TableHeader,
    "capture": Capture,
    "request": RequestRecord,
    "judgment": Judgment,
    "report": Report,
    "amendment": Amendment,
    "bench-header": BenchHeader,
    "bench-row": BenchRow,
    "bench-summary": BenchSummary,
    "client": ClientReport,
    "doctor": Diagnosis,
    "calibration": Calibration,
    "record": ImportedRecord,
    "record-judgment": RecordJudgment,
}

EXIT_MEANINGS = {
    ExitCode.DONE: "done",
    ExitCode.INTERNAL: "an internal error: please report it",
    ExitCode.USAGE: "the command or the plan can't be used; nothing was started",
    ExitCode.NO_PROMOTION: "the decision is against the candidate (only with `--exit-code`)",
    ExitCode.INCOMPLETE: "evidence incomplete or damaged, or a launch failed; the baseline is restored. "
    "`bench`: the server does not answer, no request succeeded, or (with `--exit-code`) the client was "
    "too slow",
    ExitCode.VERIFICATION_FAILED: "verification failed",
    ExitCode.NOT_RESTORED: "the baseline is not restored; the error line holds the command that will",
    ExitCode.BISECT_SKIP: "only with `--bisect`, where 0 is good and 1 is bad: no verdict, or an error "
    "before one; `git bisect run` skips this revision",
    ExitCode.INTERRUPTED: "a person stopped the run; the baseline is restored, what was measured is kept",
    ExitCode.BISECT_ABORT: "only with `--bisect`, instead of 6: the baseline is not restored, and "
    "`git bisect run` stops",
}


def generated() -> dict[Path, str]:
    """Every generated file with its content."""
    files = {}
    for name, model in DOCUMENTS.items():
        schema = journal_schema() if model is JournalLine else TypeAdapter(model).json_schema(by_alias=True)
        schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
        files[ROOT / "schemas" / f"{name}.schema.json"] = json.dumps(schema, indent=1, sort_keys=True) + "\n"
    reference = ROOT / "docs" / "reference"
    files[reference / "metrics.md"] = metrics_page()
    files[reference / "exit-codes.md"] = exit_page()
    files[reference / "commands.md"] = command_reference()
    return files


def journal_schema() -> dict[str, object]:
    """A journal line as it is on disk: the members of its fact stand beside those of the chain."""
    chain = JournalLine.model_json_schema()["properties"]
    chain.pop("fact")
    kinds = {}
    for fact in typing.get_args(typing.get_args(Fact)[0]):
        members = fact.model_json_schema(ref_template=f"#/$defs/{fact.__name__}/$defs/{{model}}")
        members["properties"] = {**chain, **members["properties"]}
        members["required"] = sorted({*chain, *members.get("required", []), "type"})
        kinds[fact.__name__] = members
    return {
        "title": "JournalLine",
        "description": "One line of the journal, as it is on disk.",
        "oneOf": [{"$ref": f"#/$defs/{name}"} for name in kinds],
        "$defs": kinds,
    }


def metrics_page() -> str:
    """The metrics, from their declarations."""
    lines = ["# Metrics", "", "| name | unit | better | meaning |", "|---|---|---|---|"]
    lines += [f"| `{m.name}` | {m.unit} | {m.direction} | {m.meaning} |" for m in METRICS.values()]
    return "\n".join(lines) + "\n"


def exit_page() -> str:
    """The exit codes, from the enumeration."""
    lines = ["# Exit codes", "", "| code | meaning |", "|---|---|"]
    lines += [f"| {code.value} | {EXIT_MEANINGS[code]} |" for code in ExitCode]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Write or check."""
    check = "--check" in sys.argv[1:]
    stale = []
    for path, text in generated().items():
        old = path.read_text(encoding="utf-8") if path.exists() else ""
        if old == text:
            continue
        stale.append(path)
        if check:
            diff = difflib.unified_diff(
                old.splitlines(), text.splitlines(), str(path), "generated", lineterm=""
            )
            print("\n".join(list(diff)[:20]))
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path.relative_to(ROOT)}")
    if check and stale:
        print(f"{len(stale)} generated files are stale: run `make docs`")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
