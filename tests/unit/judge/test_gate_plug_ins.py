"""Plug-in gates: asked only if they are the declared code, and whatever they raise makes them missing."""

import hashlib
import importlib.util
import sys
from pathlib import Path

import pytest
from gate_support import all_windows, first_window_only, gate, judged, no_window, steady

from fairtrial.judge.gates import evaluate_gates
from fairtrial.judge.plug_ins import GateAnswer, LoadedPlugIn, PlugInView, Slot
from fairtrial.schema.plan import PlugIn
from fairtrial.schema.vocab import GateKind, GateOutcome, Phase

EXAMPLE = Path(__file__).resolve().parents[2] / "plugin_package" / "src" / "fairtrial_example_gates"
DECLARED = PlugIn(name="mine", version="1.0", digest="a" * 64)


class Says:
    """An evaluator that gives or raises what it was made with, and keeps what it saw."""

    def __init__(self, answer):
        self.answer, self.seen = answer, []

    def evaluate(self, view):
        self.seen.append(view)
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer(view) if callable(self.answer) else self.answer


def asked(answer, *, declared=DECLARED, here=DECLARED, how=None, **fields):
    evaluator = answer if hasattr(answer, "evaluate") else Says(answer)
    loaded = {"mine": LoadedPlugIn(here, evaluator, "")}
    declared_gate = gate(GateKind.PLUG_IN, plug_in=declared, **fields)
    return judged(declared_gate, plug_ins=loaded, **(how or {}))["g"]


@pytest.mark.parametrize("outcome", GateOutcome)
def test_its_answer_is_the_gates(outcome):
    found = asked(GateAnswer(outcome, "so it is", "4 seen", "8 things"))
    assert (found.outcome, found.reason, found.observed, found.population) == (
        outcome,
        "so it is",
        "4 seen",
        "8 things",
    )
    assert found.demand == "what the plug-in mine 1.0 asks"


def test_it_is_told_its_options_and_its_scope():
    evaluator = Says(GateAnswer(GateOutcome.PASSED, "fine"))
    found = asked(evaluator, options={"limit": 3, "strict": True}, arms=("B",), workloads=("cold",))
    assert found.demand == "what the plug-in mine 1.0 asks with limit = 3, strict = True"
    (view,) = evaluator.seen
    assert isinstance(view, PlugInView)
    assert (view.name, view.arms, view.repetitions) == ("g", ("B",), 2)
    assert dict(view.options) == {"limit": 3, "strict": True}
    assert [one.name for one in view.workloads] == ["cold"]
    # cold: one warm-up and four measured requests in each of two repetitions
    assert {(one.arm, one.workload) for one in view.populations} == {("B", "cold")}
    assert [(one.phase, one.expected) for one in view.populations] == [
        (Phase.WARMUP, 1),
        (Phase.MEASURED, 4),
    ] * 2
    rows = view.requests[Slot("cold", 2, "B", Phase.MEASURED)]
    assert [row.first_token_ns - row.sent_ns for row in rows] == [30_000_000] * 4
    assert {(one.workload, one.candidate) for one in view.equality} == {("cold", "B")}
    assert {(one.workload, one.arm) for one in view.counters} == {("cold", "B")}


def test_what_it_was_shown_can_not_be_changed_for_others():
    def spoil(view):
        view.populations[0].outcomes.clear()
        with pytest.raises(TypeError):
            view.options["x"] = 1
        with pytest.raises(TypeError):
            view.requests[Slot("cold", 1, "A", Phase.MEASURED)] = ()
        return GateAnswer(GateOutcome.PASSED, "fine")

    second = Says(GateAnswer(GateOutcome.PASSED, "fine"))
    loaded = {
        "mine": LoadedPlugIn(DECLARED, Says(spoil), ""),
        "other": LoadedPlugIn(DECLARED.model_copy(update={"name": "other"}), second, ""),
    }
    found = judged(
        gate(GateKind.PLUG_IN, "first", plug_in=DECLARED),
        gate(GateKind.PLUG_IN, "second", plug_in=DECLARED.model_copy(update={"name": "other"})),
        plug_ins=loaded,
    )
    assert [result.outcome for result in found.values()] == [GateOutcome.PASSED] * 2
    assert second.seen[0].populations[0].outcomes


def endless(view):
    return endless(view)


class UnspeakableError(Exception):
    def __str__(self):
        raise ValueError("not even this")


@pytest.mark.parametrize(
    ("raised", "says"),
    [
        (ValueError("no such thing"), "its evaluator raised ValueError: no such thing"),
        (KeyError("limit"), "its evaluator raised KeyError: 'limit'"),
        (RuntimeError("two\nlines"), "its evaluator raised RuntimeError: two lines"),
        (SystemExit(3), "its evaluator raised SystemExit: 3"),
        (GeneratorExit(), "its evaluator raised GeneratorExit"),
        (MemoryError(), "its evaluator raised MemoryError"),
        (OSError(2, "gone", "a\ud800b"), "its evaluator raised FileNotFoundError: [Errno 2] gone"),
        (endless, "its evaluator raised RecursionError: maximum recursion depth exceeded"),
        (lambda view: 1 / 0, "its evaluator raised ZeroDivisionError: division by zero"),
    ],
)
def test_what_it_raises_is_missing_with_the_error(raised, says):
    found = asked(raised)
    assert found.outcome is GateOutcome.MISSING
    assert found.reason.startswith(says)
    found.model_dump_json()


def test_an_error_is_clipped_and_one_that_can_not_be_told_is_named():
    assert len(asked(ValueError("x" * 10_000)).reason) < 300
    assert "UnspeakableError" in asked(UnspeakableError()).reason


def test_a_person_may_still_stop_it():
    with pytest.raises(KeyboardInterrupt):
        asked(KeyboardInterrupt())


@pytest.mark.parametrize(
    "answer",
    [
        None,
        True,
        GateOutcome.PASSED,
        ("passed", "fine"),
        GateAnswer("passed", "fine"),
        GateAnswer(GateOutcome.PASSED, None),
        GateAnswer(GateOutcome.PASSED, "fine", 4),
    ],
)
def test_what_is_no_answer_is_missing(answer):
    found = asked(answer)
    assert (found.outcome, found.observed) == (GateOutcome.MISSING, "nothing")
    assert "no valid GateAnswer" in found.reason


def test_texts_are_one_clean_line():
    found = asked(GateAnswer(GateOutcome.FAILED, " a\n b\ud800 " + "x" * 999, "", "  "))
    assert found.reason.startswith("a b? x")
    assert len(found.reason) == 300
    assert (found.observed, found.population) == ("all", "8 populations")
    assert asked(GateAnswer(GateOutcome.FAILED, "")).reason == "its evaluator gives no reason"


def test_other_code_than_the_declared_is_not_asked():
    evaluator = Says(GateAnswer(GateOutcome.PASSED, "fine"))
    other = DECLARED.model_copy(update={"version": "2.0"})
    found = asked(evaluator, here=other)
    assert (found.outcome, found.reason) == (
        GateOutcome.MISSING,
        "plug-in mine: version 2.0 is installed, the plan was frozen with 1.0",
    )
    found = asked(evaluator, here=DECLARED.model_copy(update={"digest": "b" * 64}))
    assert found.outcome is GateOutcome.MISSING
    assert "its code is another than when the plan was frozen (sha256 bbbbbbbbbbbb" in found.reason
    assert evaluator.seen == []


def test_what_is_not_there_is_missing_with_its_reason():
    declared = gate(GateKind.PLUG_IN, plug_in=DECLARED)
    found = judged(declared)["g"]
    assert (found.outcome, found.reason) == (
        GateOutcome.MISSING,
        "plug-in mine: it was not loaded for this judgment",
    )
    found = judged(declared, plug_ins={"mine": LoadedPlugIn(None, None, "nobody offers it")})["g"]
    assert (found.outcome, found.reason) == (GateOutcome.MISSING, "plug-in mine: nobody offers it")
    assert judged(gate(GateKind.PLUG_IN))["g"].reason == "the gate declares no plug-in"


def test_it_is_not_asked_about_nothing_and_can_not_pass_what_did_not_run():
    evaluator = Says(GateAnswer(GateOutcome.PASSED, "fine"))
    found = asked(evaluator, how={"windows": no_window})
    assert (found.outcome, evaluator.seen) == (GateOutcome.NOT_RUN, [])
    found = asked(evaluator, how={"windows": first_window_only})
    assert found.outcome is GateOutcome.MISSING
    assert found.reason.startswith("passed, but of 6 of 8 populations no launch counts; first: ")
    assert (
        asked(Says(GateAnswer(GateOutcome.FAILED, "no")), how={"windows": first_window_only}).reason == "no"
    )


def example(name):
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_example_package():
    declared = PlugIn(
        name="mine",
        version="1.2.0",
        digest=hashlib.sha256((EXAMPLE / "finish.py").read_bytes()).hexdigest(),
    )
    found = asked(example("finish"), declared=declared, here=declared)
    # 2 workloads, 2 repetitions, 2 arms, 4 answers each; the fabricated server cuts each at its limit of 3 tokens
    assert (found.outcome, found.population) == (GateOutcome.FAILED, "32 answers")
    calls = example("calls").GATE
    assert asked(calls, options={"limit": 4}).outcome is GateOutcome.PASSED
    found = asked(calls, options={"limit": 3})
    assert (found.outcome, found.reason) == (GateOutcome.FAILED, "the largest population has 4 requests")
    assert asked(calls).reason == "its evaluator raised KeyError: 'limit'"


def test_a_built_in_evaluator_that_raises_is_missing_too(monkeypatch):
    def broken(view):
        raise AttributeError("a fault of our own")

    table = evaluate_gates.__globals__["_EVALUATORS"]
    monkeypatch.setitem(evaluate_gates.__globals__, "_EVALUATORS", {**table, GateKind.FAILURES: broken})
    found = judged(
        gate(GateKind.FAILURES, "failures", at_most_share=0.0), gate(GateKind.COMPLETENESS, "completeness")
    )
    assert found["failures"].outcome is GateOutcome.MISSING
    assert found["failures"].reason == "its evaluator raised AttributeError: a fault of our own"
    assert found["completeness"].outcome is GateOutcome.PASSED


def test_the_evidence_of_these_tests_is_whole():
    found = judged(gate(GateKind.COMPLETENESS, "completeness"), reply=steady, windows=all_windows)
    assert found["completeness"].outcome is GateOutcome.PASSED
