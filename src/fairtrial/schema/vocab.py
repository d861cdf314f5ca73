"""The words of fairtrial: every enumeration that code, documents and the command line share.

These strings appear nowhere else in the source as literals (tests/invariants checks it).
"""

from enum import IntEnum, StrEnum


class ExitCode(IntEnum):
    """What the process returns; documented in docs/reference/exit-codes.md."""

    DONE = 0
    INTERNAL = 1
    USAGE = 2
    NO_PROMOTION = 3
    INCOMPLETE = 4
    VERIFICATION_FAILED = 5
    NOT_RESTORED = 6
    BISECT_SKIP = 125
    INTERRUPTED = 130
    BISECT_ABORT = 255


class Level(StrEnum):
    """What a design can claim; a report never claims above it."""

    QUICK = "quick"
    STANDARD = "standard"
    FORMAL = "formal"


class Stage(StrEnum):
    """Part of a campaign; only formal traffic counts."""

    AUDIT = "audit"
    PILOT = "pilot"
    FORMAL = "formal"


class Phase(StrEnum):
    """Part of a workload. Formal requests are prime plus measured."""

    WARMUP = "warmup"
    PRIME = "prime"
    MEASURED = "measured"


class Role(StrEnum):
    """What a requirement protects or seeks."""

    PRIMARY = "primary"
    GUARDRAIL = "guardrail"
    INFORMATIONAL = "informational"


class ArmRole(StrEnum):
    """The incumbent or a change to it."""

    BASELINE = "baseline"
    CANDIDATE = "candidate"


class RecipeKind(StrEnum):
    """How an arm's server is started, checked and stopped."""

    REFERENCE = "reference"
    PROCESS = "process"
    ATTACH = "attach"


class LaunchScope(StrEnum):
    """How many workloads one launch serves."""

    WORKLOAD = "workload"
    WINDOW = "window"
    ATTACHED = "attached"


class LaunchPurpose(StrEnum):
    """Why a server was started."""

    MEASURE = "measure"
    SERVICE = "service"


class LoadKind(StrEnum):
    """How requests are released."""

    SERIAL = "serial"
    CLOSED_LOOP = "closed-loop"
    OPEN_LOOP = "open-loop"


class Replay(StrEnum):
    """The order in which primed conversations return."""

    NONE = "none"
    FORWARD = "forward"
    REVERSE = "reverse"


class OrderSource(StrEnum):
    """Where the order of arms comes from."""

    DECLARED = "declared"
    RANDOMISED = "randomised"


class Endpoint(StrEnum):
    """The OpenAI-compatible route a workload uses."""

    COMPLETIONS = "completions"
    CHAT = "chat"


class Direction(StrEnum):
    """Which way a metric is better."""

    LOWER = "lower"
    HIGHER = "higher"


class Unit(StrEnum):
    """Unit of a metric's stored value."""

    NANOSECONDS = "ns"
    TOKENS_PER_SECOND = "tokens/s"
    SHARE = "share"
    COUNT = "count"


class Metric(StrEnum):
    """Client-side metrics (docs/reference/metrics.md)."""

    TTFT = "ttft"
    TTFO = "ttfo"
    E2E = "e2e"
    QUEUE = "queue"
    ITL = "itl"
    TPOT = "tpot"
    DECODE_TOKENS_PER_SECOND = "decode_tokens_per_second"
    OUTPUT_THROUGHPUT = "output_throughput"
    GOODPUT = "goodput"


class Statistic(StrEnum):
    """How a population becomes one number."""

    MEDIAN = "median"
    P90 = "p90"
    P95 = "p95"
    P99 = "p99"
    WHOLE = "whole"


class Proof(StrEnum):
    """A fact established by evidence; unknown never collapses to true or false."""

    TRUE = "true"
    FALSE = "false"
    UNVERIFIED = "unverified"
    MISSING = "missing"
    SUPPLEMENTED = "false+supplemented"


class GateKind(StrEnum):
    """Rules over evidence that a plan can declare."""

    RESTORATION = "restoration"
    FAILURES = "failures"
    COMPLETENESS = "completeness"
    IDENTITY = "identity"
    EQUALITY = "equality"
    COUNTER = "counter"
    METRIC = "metric"
    GOODPUT = "goodput"
    ALL_OF = "all_of"
    ANY_OF = "any_of"
    PLUG_IN = "plug_in"


class GateOutcome(StrEnum):
    """The five answers of a gate."""

    PASSED = "passed"
    FAILED = "failed"
    MISSING = "missing"
    NOT_RUN = "not-run"
    HELD = "held"


class Verdict(StrEnum):
    """What the verdict engine says of a requirement."""

    SUPERIOR = "superior"
    NON_INFERIOR = "non_inferior"
    INFERIOR = "inferior"
    INCONCLUSIVE = "inconclusive"


class Recommendation(StrEnum):
    """What the evidence supports; promotion itself needs a person's signed act."""

    ELIGIBLE = "eligible_for_authorisation"
    KEEP_BASELINE = "keep_baseline"
    UNDECIDED = "undecided"
    INCOMPLETE = "evidence_incomplete"


class Equality(StrEnum):
    """Whether two arms did the same work or gave the same output for a case."""

    MATCHED = "matched"
    UNMATCHED = "unmatched"
    IDS_ABSENT = "unverified_ids_absent"
    MISSING = "missing"
    FAILED = "failed"
    """A request of the pair failed: that is counted as a failure, and says nothing of equality."""


class Outcome(StrEnum):
    """How one request ended. Only ``ok`` counts as success."""

    OK = "ok"
    SERVER_ERROR = "server_error"
    ABORTED = "aborted"
    TRUNCATED = "truncated"
    TRANSPORT_ERROR = "transport_error"
    EMPTY = "empty"
    HTTP_ERROR = "http_error"
    TIMED_OUT = "timed_out"
    NOT_SENT = "not_sent"


class ErrorClass(StrEnum):
    """Why a request is not ``ok``; one class for each thing a person would mend differently."""

    CONNECTION_REFUSED = "connection_refused"
    CONNECTION_RESET = "connection_reset"
    CONNECT_TIMED_OUT = "connect_timed_out"
    NAME_NOT_RESOLVED = "name_not_resolved"
    TLS_FAILED = "tls_failed"
    RESPONSE_TIMED_OUT = "response_timed_out"
    INCOMPLETE_BODY = "incomplete_body"
    MALFORMED_HTTP = "malformed_http"
    MALFORMED_STREAM = "malformed_stream"
    NOT_JSON = "not_json"
    UNAUTHORIZED = "unauthorized"
    NOT_FOUND = "not_found"
    RATE_LIMITED = "rate_limited"
    CLIENT_ERROR = "client_error"
    SERVER_FAILURE = "server_failure"
    ERROR_EVENT = "error_event"
    ABORTED = "aborted_by_server"
    NO_TOKENS = "no_tokens"
    INTERRUPTED = "interrupted"
    TOO_LARGE = "response_too_large"


class StampSource(StrEnum):
    """Who stamped the arrival of bytes."""

    USER = "user"
    KERNEL = "kernel"


class HitSource(StrEnum):
    """Which tier a request's cached prompt tokens came from."""

    DEVICE = "device"
    HOST = "host"
    MIXED = "mixed"
    NONE = "miss"
    UNKNOWN = "unknown"


class CounterPoint(StrEnum):
    """When a server's counters were read."""

    READY = "ready"
    AFTER_WARMUP = "after_warmup"
    AFTER_PRIME = "after_prime"
    AFTER_MEASURED = "after_measured"


class Counter(StrEnum):
    """Engine counters by fairtrial's own names; profiles map each engine's names to these."""

    ROW_PRESSURE = "host_row_pressure"
    PAGE_PRESSURE = "host_page_pressure"
    FETCHES_STARTED = "fetches_started"
    FETCHES_COMPLETED = "fetches_completed"
    FETCHES_FAILED = "fetches_failed"
    PREFILL_TOKENS = "prefill_tokens"
    CACHED_TOKENS = "cached_tokens"
    HITS_DEVICE = "hits_device"
    HITS_HOST = "hits_host"
    HITS_MIXED = "hits_mixed"
    MISSES = "misses"
    REQUESTS = "requests"
    GENERATED_TOKENS = "generated_tokens"


class ServiceState(StrEnum):
    """What of the baseline was in service."""

    RUNNING = "running"
    NOTHING = "nothing"
    ATTACHED = "attached"


class EndedBy(StrEnum):
    """How a launch came to its end."""

    TERMINATED = "terminated"
    KILLED = "killed"
    DIED = "died"
    REAPED = "reaped_as_orphan"
    LEFT_RUNNING = "left_running"


class WindowOutcome(StrEnum):
    """How a window ended."""

    COMPLETED = "completed"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


class LaunchFailure(StrEnum):
    """Why a launch never became ready."""

    EXITED = "process_exited"
    TIMED_OUT = "not_ready_in_time"
    PORT_TAKEN = "port_taken"
    WRONG_OWNER = "port_not_ours"
    WRONG_MODEL = "model_differs"
    PROBE_FAILED = "probe_failed"
    NOT_STARTED = "not_started"
    CHANGED = "identity_changed"


class ArtifactRole(StrEnum):
    """What a sealed file is."""

    REQUESTS = "requests"
    CAPTURE_INDEX = "capture_index"
    CAPTURE_BYTES = "capture_bytes"
    SENT_BYTES = "sent_bytes"
    CLIENT = "client_report"
    COUNTERS = "counters"
    SERVER_LOG = "server_log"
    IDENTITY = "identity"
    NOTE = "note"
    AMENDMENT = "amendment"
    TORN_TAIL = "torn_tail"


class StopRequest(StrEnum):
    """How urgently a person asked to stop."""

    SAFE_POINT = "at_safe_point"
    NOW = "now"


class Fault(StrEnum):
    """What broke in fairtrial itself during a session."""

    DRIVER = "driver_failed"
    EVIDENCE = "evidence_not_written"
    SERVER_CONTROL = "server_control_failed"
    INTERNAL = "internal_error"


class Condition(StrEnum):
    """Conditions of use of a cell; each false one carries its reason."""

    POPULATION_COMPLETE = "population_complete"
    FAILURES_ACCOUNTED = "failures_accounted"
    FRESH_LAUNCH = "fresh_launch"
    ORDER_AS_DECLARED = "order_as_declared"
    IDENTITY_VERIFIED = "identity_verified"
    DECLARED_BEFORE_TRAFFIC = "declared_before_traffic"
    WORK_EQUAL = "work_equal"
    OUTPUT_EQUAL = "output_equal"
    CACHE_STATE_AS_DECLARED = "cache_state_as_declared"
    WARMUP_COMPLETE = "warmup_complete"
    PARSER_CLEAN = "parser_clean"
    MIN_DATA = "min_data"
    COUNTERS_READ = "counters_read"
    MONITORING_ENFORCED = "monitoring_enforced"
    CLIENT_LAG_OK = "client_lag_ok"
    CALIBRATION_VALID = "aa_calibration_valid"
    NO_CONCURRENT_LOAD = "no_concurrent_load"
    DRIFT_OK = "drift_ok"
