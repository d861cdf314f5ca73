"""From a trial's evidence to its judgment and report files. All of it can be derived again."""

from dataclasses import dataclass, replace
from pathlib import Path

from fairtrial.evidence.documents import canonical
from fairtrial.evidence.evidence_set import EvidenceSet
from fairtrial.evidence.files import write_atomic
from fairtrial.evidence.loading import load_evidence
from fairtrial.evidence.store import Store
from fairtrial.judge.judge import judge_normal
from fairtrial.judge.normalise import normalise
from fairtrial.judge.values import measured_values
from fairtrial.report.build import build_report
from fairtrial.report.html import render_html
from fairtrial.report.json_form import render_json
from fairtrial.report.markdown import render_markdown
from fairtrial.schema.document import Report
from fairtrial.schema.judgment import Judgment
from fairtrial.schema.plan import FrozenPlan
from fairtrial.schema.schedule import until
from fairtrial.trial.amending import effective_plan
from fairtrial.trial.plug_ins import loaded_plug_ins


@dataclass(frozen=True, slots=True)
class Outcome:
    """A judged trial."""

    plan: FrozenPlan
    """The plan in force, cut to the look that ended the trial, if one did."""
    judgment: Judgment
    report: Report


def evidence_of(path: Path) -> EvidenceSet:
    """A trial's evidence, with the plan in force.

    Raises:
        EvidenceError: The evidence is damaged.
    """
    evidence = load_evidence(path)
    plan = effective_plan(evidence.plan, (line.fact for line in evidence.lines), Store.open(path))
    return replace(evidence, plan=plan)


def judge_trial(path: Path) -> Outcome:
    """Judge a trial as far as it has come; changes nothing on disk."""
    evidence = evidence_of(path)
    normal = normalise(evidence)
    judgment = judge_normal(evidence, normal, loaded_plug_ins(evidence.plan))
    decided = next((look for look in judgment.looks if look.decided), None)
    plan = evidence.plan if decided is None else until(evidence.plan, decided.repetitions)
    return Outcome(plan, judgment, build_report(plan, judgment, measured_values(normal, judgment)))


def write_outcome(path: Path, outcome: Outcome) -> Path:
    """Write judgment and reports beside the evidence.

    Returns:
        The HTML report.

    Raises:
        EvidenceError: A file can't be written.
    """
    report = outcome.report
    write_atomic(path / "judgment.json", canonical(outcome.judgment) + b"\n")
    write_atomic(path / "report.json", render_json(report).encode() + b"\n")
    write_atomic(path / "report.md", render_markdown(report).encode())
    write_atomic(path / "report.html", render_html(report).encode())
    return path / "report.html"
