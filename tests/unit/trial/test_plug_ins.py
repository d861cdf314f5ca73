"""From installed packages to the judgment: what the plan named is loaded, and nothing else."""

import sys
from pathlib import Path

from fairtrial.judge.judge import judge
from fairtrial.plan.plug_ins import load
from fairtrial.schema.plan import FrozenGate
from fairtrial.schema.vocab import GateKind, GateOutcome
from fairtrial.testing.evidence import Script, fabricate
from fairtrial.testing.small_plan import small_plan
from fairtrial.trial.plug_ins import loaded_plug_ins

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "plan"))
from plug_in_support import install, install_example


def plan_with(plug_in, **fields):
    gate = FrozenGate(name="mine", kind=GateKind.PLUG_IN, plug_in=plug_in, **fields)
    return small_plan().model_copy(update={"gates": (gate,)})


def judged(plan):
    (result,) = judge(fabricate(Script(plan=plan)), plug_ins=loaded_plug_ins(plan)).gates
    return result


def test_an_installed_evaluator_judges(tmp_path, monkeypatch):
    install_example(tmp_path, monkeypatch)
    plug_in = load("calls-at-most").plug_in
    assert judged(plan_with(plug_in, options={"limit": 4})).outcome is GateOutcome.PASSED
    assert judged(plan_with(plug_in, options={"limit": 3})).outcome is GateOutcome.FAILED
    newer = plug_in.model_copy(update={"version": "9.9"})
    found = judged(plan_with(newer, options={"limit": 4}))
    assert found.outcome is GateOutcome.MISSING
    assert "version 1.2.0 is installed, the plan was frozen with 9.9" in found.reason


def test_where_it_is_not_installed_its_gate_is_missing(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        install_example(tmp_path, patch)
        plug_in = load("calls-at-most").plug_in
    found = judged(plan_with(plug_in))
    assert found.outcome is GateOutcome.MISSING
    assert "no installed package offers a gate 'calls-at-most'" in found.reason


def test_what_no_gate_names_is_not_loaded(tmp_path, monkeypatch):
    install(tmp_path, monkeypatch, entries={"bad": "explodes"}, modules={"explodes.py": "1 / 0"})
    assert loaded_plug_ins(small_plan()) == {}
    assert "explodes" not in sys.modules
