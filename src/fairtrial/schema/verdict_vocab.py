"""Words of the verdict engine; like all vocabulary they are used through their enumeration."""

from enum import StrEnum


class Estimand(StrEnum):
    """What the log ratio of one repetition is a ratio of."""

    PAIRED_CASES = "paired_log_ratio"
    """20 % trimmed mean over cases of ln(B/A), the same cases in both arms."""
    MEDIANS = "log_ratio_median"
    """ln of the ratio of the medians: the work is not matched case by case."""
    P90 = "log_ratio_p90"
    P95 = "log_ratio_p95"
    P99 = "log_ratio_p99"
    WHOLE = "log_ratio_whole"
    """One value for the whole population, e.g. its throughput."""
    SHARE = "share_met"
    """The candidate's own share against a declared one; no ratio at all."""


class Assumption(StrEnum):
    """What an analysis beside the main one takes pairs without two values for."""

    COMPLETE = "complete_pairs"
    """Only cases with a value in both arms."""
    WORST = "missing_against_candidate"
    """Missing records are the candidate's worst and the baseline's best."""
    BEST = "missing_for_candidate"
    CLIENT_AGAINST = "client_error_against_candidate"
    """The client made the baseline's times too long by all that its own error may be."""
    CLIENT_FOR = "client_error_for_candidate"
    """It made the candidate's times so."""


class Flag(StrEnum):
    """What stands beside a verdict and never turns it into a pass."""

    REGRESSION_DETECTED = "regression_detected"
    """The whole interval is on the harmful side of no difference."""
    IMPROVEMENT_DETECTED = "improvement_detected"
    WITHIN_NOISE = "within_aa_noise"
    """The mean is below the noise floor of an A/A calibration."""
    EXACT_CANNOT_REJECT = "exact_test_cannot_reject"
    """So few repetitions that the sign-flip test can't reach alpha whatever was observed."""
    MISSING_DECIDES = "missing_pairs_decide"
    """Pairs without two values would change the verdict, so there is none but inconclusive."""
    CLIENT_DECIDES = "client_error_decides"
    """The measuring client's own error would change the verdict, so there is none but inconclusive."""
    FAILURES_RANKED = "failures_ranked_worst"
    FAILED_MORE = "candidate_failed_more"
    """The candidate failed more than the baseline, where nothing else judges that: it can't pass."""
    DRIFT = "drift_suspected"
    ODD_LAUNCH = "odd_launch"


class CalibrationState(StrEnum):
    """What may be said of a plan's A/A calibration."""

    NONE = "none"
    VALID = "valid"
    STALE = "too_old"
    OTHER_HOST = "another_host"
    OTHER_BASELINE = "another_baseline"
    UNFIT = "unfit"
    """It found the baseline worse than itself, or had too few repetitions."""
