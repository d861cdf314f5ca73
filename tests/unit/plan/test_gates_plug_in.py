"""Plug-in gates of plans: found by name, identified, or refused with the line and the reason."""

import hashlib
import re
import sys

import pytest
from plan_support import MINIMAL, check, problems
from plug_in_support import PACKAGE, forget, install, install_example

from fairtrial.plan.expand import expanded_toml
from fairtrial.plan.freeze import freeze
from fairtrial.plan.plug_ins import PlugInError, load
from fairtrial.schema.plan import PlugIn
from fairtrial.schema.vocab import GateKind

GATE = '[gates.mine]\nplug_in = "mine"\n'
GOOD = "def evaluate(view):\n    return None\n"


@pytest.fixture
def offered(tmp_path, monkeypatch):
    """Installs a package whose one gate ``mine`` is the module with this text."""

    def offer(text=GOOD, entry="a_gate_of_a_test", **fields):
        forget("a_gate_of_a_test")
        fields.setdefault("entries", {"mine": entry})
        install(tmp_path, monkeypatch, modules={"a_gate_of_a_test.py": text}, **fields)
        return tmp_path / "a_gate_of_a_test.py"

    yield offer
    forget("a_gate_of_a_test")


def test_the_example_package(tmp_path, monkeypatch):
    install_example(tmp_path, monkeypatch)
    plan = check(
        MINIMAL + '[gates.ended]\nplug_in = "finished-by-itself"\nworkloads = ["w"]\n'
        '[gates.few]\nplug_in = "calls-at-most"\noptions = { limit = 12 }\narms = ["B"]\n'
    )
    ended, few = plan.gates[-2:]
    folder = PACKAGE / "src" / "fairtrial_example_gates"
    digests = [hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in ("finish.py", "calls.py")]
    assert ended.plug_in == PlugIn(name="finished-by-itself", version="1.2.0", digest=digests[0])
    assert few.plug_in == PlugIn(name="calls-at-most", version="1.2.0", digest=digests[1])
    assert (few.kind, few.options, few.arms) == (GateKind.PLUG_IN, {"limit": 12}, ("B",))
    frozen = freeze(plan)
    assert freeze(check(expanded_toml(frozen.plan))).plan.gates == plan.gates


def test_the_gates_of_the_documentation_are_gates(tmp_path, monkeypatch):
    install_example(tmp_path, monkeypatch)
    page = PACKAGE.parents[1] / "docs" / "how-to" / "gates.md"
    blocks = re.findall(r"```toml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    shown = [block for block in blocks if block.startswith("[gates")]
    assert len(shown) == 6
    plan = MINIMAL.replace("[workloads.w]", "[workloads.chats]") + "phases = { measured = 24 }\n"
    fetched = '[gates.fetched]\ncounter = "misses"\nat_least = 1\n'
    kinds = {gate.kind for gate in check(plan + fetched + "".join(shown)).gates}
    assert kinds == set(GateKind) - {GateKind.EQUALITY}


def test_options_are_checked_by_the_plug_in_when_the_plan_is_read(tmp_path, monkeypatch):
    install_example(tmp_path, monkeypatch)
    gate = '[gates.few]\nplug_in = "calls-at-most"\n'
    (found,) = problems(MINIMAL + gate)
    assert (found.key, found.where) == ("gates.few.plug_in", "plan.toml:6")
    assert found.message == "calls-at-most: limit must be a whole number"
    first, second = problems(MINIMAL + gate + 'options = { limit = "many", limits = 2 }\n')
    assert {first.message, second.message} == {
        "calls-at-most: limit must be a whole number",
        "calls-at-most: there is no option limits",
    }
    assert (first.key, first.where) == ("gates.few.options", "plan.toml:7")


def test_version_and_digest_follow_the_code(offered):
    file = offered(version="2.0")
    assert load("mine").plug_in == PlugIn(
        name="mine", version="2.0", digest=hashlib.sha256(GOOD.encode()).hexdigest()
    )
    file.write_text(GOOD + "# changed\n")
    assert load("mine").plug_in.digest == hashlib.sha256((GOOD + "# changed\n").encode()).hexdigest()


def test_nobody_offers_it(offered):
    (found,) = problems(MINIMAL + GATE)
    assert (found.key, found.where) == ("gates.mine.plug_in", "plan.toml:6")
    assert "no installed package offers a gate 'mine'" in found.message
    assert "docs/how-to/gates.md" in found.hint
    offered()
    (found,) = problems(MINIMAL + GATE.replace('"mine"', '"mime"'))
    assert "did you mean mine?" in found.message


@pytest.mark.parametrize(
    ("text", "entry", "says"),
    [
        ("1 / 0\n", "a_gate_of_a_test", "can't be loaded: ZeroDivisionError: division by zero"),
        ("import sys\nsys.exit('no')\n", "a_gate_of_a_test", "can't be loaded: SystemExit: no"),
        ("def f(: pass\n", "a_gate_of_a_test", "can't be loaded: SyntaxError: invalid syntax"),
        ("def f(): f()\nf()\n", "a_gate_of_a_test", "can't be loaded: RecursionError: "),
        (GOOD, "a_gate_of_a_test:nothing", "can't be loaded: AttributeError: "),
        (GOOD, "no_such_module_of_a_test", "can't be loaded: ModuleNotFoundError: "),
        (GOOD, "a_gate_of_a_test:evaluate", "is no evaluator"),
        ("evaluate = 3\n", "a_gate_of_a_test", "is no evaluator"),
        ("class G:\n    def evaluate(self, view): ...\n", "a_gate_of_a_test:G", "is no evaluator"),
        (
            "import functools\nclass G: ...\ng = G()\ng.evaluate = len\n",
            "a_gate_of_a_test:g",
            "no file defines",
        ),
        (
            "class G:\n    evaluate = len\n    @property\n    def evaluate(self): raise OSError('x')\ng = G()\n",
            "a_gate_of_a_test:g",
            "can't be used: OSError: x",
        ),
    ],
)
def test_what_can_not_be_loaded_is_a_problem_of_the_plan(offered, text, entry, says):
    offered(text, entry)
    (found,) = problems(MINIMAL + GATE)
    assert (found.key, found.where) == ("gates.mine.plug_in", "plan.toml:6")
    assert says in found.message
    assert "\n" not in found.line()


def test_a_person_may_still_stop_it(offered):
    offered("raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        load("mine")


def test_a_check_of_options_that_fails(offered):
    offered(GOOD + "def problems(options):\n    raise ValueError('really\\nno')\n")
    (found,) = problems(MINIMAL + GATE)
    assert found.message == "its check of options failed: ValueError: really no"


def test_two_packages_of_one_name(offered, tmp_path, monkeypatch):
    offered()
    other = tmp_path / "other"
    other.mkdir()
    install(other, monkeypatch, name="second", entries={"mine": "elsewhere"})
    with pytest.raises(PlugInError, match="more than one installed package offers a gate 'mine'"):
        load("mine")


def test_a_package_without_a_version(offered):
    offered(version="")
    with pytest.raises(PlugInError, match="version"):
        load("mine")


def test_nothing_is_loaded_that_no_plan_names(offered):
    offered("raise SystemExit\n")
    assert problems(MINIMAL) == []
    assert "a_gate_of_a_test" not in sys.modules


def test_all_faults_at_once():
    text = (
        MINIMAL
        + """[gates.one]
plug_in = "No Name"
options = { "A b" = 1, share = 0.5, text = "two words", far = 9007199254740993 }
[gates.two]
plug_in = 3
options = 4
arms = ["C"]
at_most = 1
"""
    )
    found = [(one.where.partition(":")[2], one.key) for one in problems(text)]
    assert found == [
        ("6", "gates.one.plug_in"),
        ("7", "gates.one.options.'A b'"),
        ("7", "gates.one.options.far"),
        ("7", "gates.one.options.share"),
        ("7", "gates.one.options.text"),
        ("9", "gates.two.plug_in"),
        ("10", "gates.two.options"),
        ("11", "gates.two.arms.0"),
        ("12", "gates.two.at_most"),
    ]
