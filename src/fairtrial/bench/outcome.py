"""What a stage came to, from the files that its traffic left."""

from fairtrial.bench.options import as_options
from fairtrial.bench.rows import read_records
from fairtrial.bench.spec import BenchSpec
from fairtrial.bench.summary import stage_summary
from fairtrial.bench.tally import Tally
from fairtrial.drive.driver import PhaseResult
from fairtrial.schema.bench import StageSpec, StageSummary


def stage_outcome(stage: StageSpec, spec: BenchSpec, result: PhaseResult, processes: int) -> StageSummary:
    """Count every record of a stage.

    Args:
        stage: What it was.
        spec: The run: what a good request keeps to, and by which way requests went.
        result: Its traffic.
        processes: Load processes that it was given; there are fewer where it has fewer slots.

    Raises:
        EvidenceError: The records can't be read.
    """
    tally = Tally(spec.limits, spec.client.proxy)
    tally.add_all(read_records(result.requests))
    report = result.report
    return stage_summary(
        stage,
        tally,
        report,
        span=(result.started_ns, result.ended_ns),
        processes=processes if report is None else max(len(report.processes), 1),
        ended_early=None if result.ended_early is None else as_options(result.ended_early),
    )
