"""A journal whose end was cut off is contradicted by the private index."""

import pytest

from fairtrial.evidence import documents
from fairtrial.evidence.journal import Journal
from fairtrial.evidence.loading import load_evidence
from fairtrial.evidence.store import Store
from fairtrial.schema.errors import EvidenceError
from fairtrial.schema.facts import LaunchFailed, Opened, WindowOpened
from fairtrial.schema.vocab import ArtifactRole, LaunchFailure
from fairtrial.testing.clock import FakeClock
from fairtrial.testing.small_plan import small_plan


class Trial:
    """A trial directory that is written as a session does it."""

    def __init__(self, directory):
        self.directory = directory
        data = documents.canonical(small_plan())
        (directory / "plan.frozen.json").write_bytes(data)
        self.plan = documents.sha256_hex(data)
        self.clock = FakeClock()
        self.store = Store.open(directory)
        self.journal = Journal.create(directory / "journal", self.plan, self.clock)
        self.journal.append(
            Opened(run="r", plan_sha256=self.plan, origin_mono_ns="1", origin_wall_ns="1"),
        )

    def seal(self, artifact, *, record=True, head=None):
        sealed = self.store.seal_bytes(
            artifact.encode(),
            artifact=artifact,
            role=ArtifactRole.SERVER_LOG,
            launch=None,
            head=head or self.journal.durable_head,
        )
        if record:
            self.journal.append(sealed)

    def windows(self, count):
        for number in range(1, count + 1):
            self.journal.append(WindowOpened(window=f"r{number}a.1", repetition=number, arm="A", attempt=1))

    def fail(self):
        self.journal.append(LaunchFailed(launch="r1a.1", reason=LaunchFailure.EXITED))

    def cut(self, keep):
        """Keep so many lines of the first segment, and go on in a new session."""
        self.journal.close()
        path = self.directory / "journal" / "0001.jsonl"
        path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:keep]))
        self.resume()

    def resume(self):
        self.journal.close()
        self.journal = Journal.reopen(self.directory / "journal", self.plan, self.clock)

    def found(self):
        return load_evidence(self.directory).cut


@pytest.fixture
def trial(tmp_path):
    made = Trial(tmp_path)
    yield made
    made.journal.close()


def test_a_whole_history_has_no_cut(trial):
    trial.seal("before")
    trial.windows(2)
    trial.seal("after")
    trial.resume()
    trial.seal("later")
    assert trial.found() == ()


def test_a_failure_that_was_cut_away_is_remembered_by_what_was_sealed_after_it(trial):
    trial.seal("kept")  # lines: opened, sealed, launch_failed, sealed, sealed
    trial.fail()
    trial.seal("log")
    trial.seal("more")
    trial.cut(keep=2)
    trial.seal("log-2")
    # The head before the failure is still there for "kept", the failure itself is not for the others.
    assert trial.found() == ("log", "more")


def test_the_first_lines_cut_off_and_written_anew_are_found_too(trial):
    trial.fail()
    trial.seal("log")
    trial.journal.close()
    path = trial.directory / "journal" / "0001.jsonl"
    path.unlink()
    trial.journal = Journal.create(trial.directory / "journal", trial.plan, trial.clock)
    trial.journal.append(Opened(run="r", plan_sha256=trial.plan, origin_mono_ns="1", origin_wall_ns="1"))
    assert trial.found() == ("log",)


def test_a_crash_between_sealing_and_recording_is_no_cut(trial):
    trial.windows(100)
    trial.seal("lost", record=False)
    trial.resume()
    trial.windows(100)  # in the next segment, however long
    trial.seal("lost-2")
    assert trial.found() == ()


@pytest.mark.parametrize(("lines", "found"), [(64, ()), (65, ("lost",))])
def test_a_journal_that_went_on_for_more_than_a_group_should_have_told(trial, lines, found):
    trial.seal("lost", record=False)
    trial.windows(lines)
    assert trial.found() == found


@pytest.mark.parametrize(("lines", "found"), [(63, ()), (64, ("early",))])
def test_an_artifact_sealed_before_the_first_line_counts_from_it(trial, lines, found):
    trial.seal("early", record=False, head=trial.plan)  # `opened` is the first line after it
    trial.windows(lines)
    assert trial.found() == found


def test_a_loss_of_power_that_takes_a_group_is_no_cut(trial):
    trial.windows(1)
    durable = (trial.directory / "journal" / "0001.jsonl").read_bytes()
    for number in range(63):  # one less than a group: none of them is durable
        trial.seal(f"a{number}")
    assert trial.journal.size == 65
    trial.journal.close()
    (trial.directory / "journal" / "0001.jsonl").write_bytes(durable)
    trial.resume()
    trial.windows(70)
    assert trial.found() == ()


def test_entries_without_a_head_say_nothing(trial):
    trial.store.seal_bytes(b"x", artifact="old", role=ArtifactRole.NOTE, launch=None)
    trial.windows(70)
    assert trial.found() == ()


def test_what_is_sealed_while_evidence_is_read_is_neither_cut_nor_missing(trial, monkeypatch):
    from fairtrial.evidence import loading

    real = loading.read_journal

    def busy(*arguments):
        trial.fail()
        trial.seal("meanwhile")
        return real(*arguments)

    monkeypatch.setattr(loading, "read_journal", busy)
    evidence = load_evidence(trial.directory)
    assert evidence.cut == ()
    assert evidence.files["meanwhile"] == b"meanwhile"


def test_a_journal_cut_to_nothing_is_refused(trial):
    with pytest.raises(EvidenceError, match="does not begin with `opened`"):
        trial.cut(keep=0)
