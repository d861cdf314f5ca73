"""Options of the reference engine and the geometry that they make."""

import re

from fairtrial.plan.reader import Table, kind, nearest_value, one_of
from fairtrial.profiles.geometry import GeometryError, split_pool
from fairtrial.profiles.reference_models import DEFAULT_MODEL, DEFAULT_ROW_PERCENT, MODELS, ModelShape
from fairtrial.schema.plan import PublicValue

MAX_MODEL_LEN = 8_192
"""Longest prompt plus output in tokens that the engine serves."""
_MAX_POOL_BYTES = 64 * 2**30
_KNOWN = (
    "host_row_percent",
    "host_pool_bytes",
    "model",
    "device_rows",
    "device_pages",
    "snapshot",
    "audit",
    "seed",
    "max_batch",
)
_SNAPSHOT = re.compile(r"mid-end|end|page-boundary-[1-9][0-9]{0,3}")
_SNAPSHOT_WORDS = ("mid-end", "end")
_RANGES = (
    ("device_rows", 1, 100_000),
    ("device_pages", 1, 1_000_000),
    ("seed", 0, 2**32 - 1),
    ("max_batch", 1, 64),
)


def reference_options(options: Table | None, recipe: Table) -> dict[str, PublicValue]:
    """Read the options, with the defaults that decide the caches spelled out."""
    table = options or Table(recipe.findings, (*recipe.path, "options"), {})
    table.only(*_KNOWN)
    shape = _shape(table)
    percent = table.integer("host_row_percent", DEFAULT_ROW_PERCENT, 1, 99)
    pool = table.size("host_pool_bytes", shape.default_pool_bytes, low=1)
    if pool > _MAX_POOL_BYTES:
        table.wrong("host_pool_bytes", "is above 64 GiB, the largest pool of the reference engine")
    found: dict[str, PublicValue] = {
        "host_row_percent": percent,
        "host_pool_bytes": pool,
        "model": shape.name,
    }
    for name, low, high in _RANGES:
        if name in table:
            found[name] = table.integer(name, low, low, high)
    found.setdefault("device_rows", shape.device_rows)
    found.setdefault("device_pages", shape.device_pages)
    if "snapshot" in table:
        found["snapshot"] = _snapshot(table)
    if "audit" in table:
        found["audit"] = table.switch("audit", default=False)
    _check_geometry(table, shape, pool, percent)
    return found


def _shape(table: Table) -> ModelShape:
    name = table.text("model", DEFAULT_MODEL)
    shape = MODELS.get(name)
    if shape is None:
        if name.strip():
            table.wrong("model", f"no model {kind(name)}", f"one of {one_of(sorted(MODELS))}")
        return MODELS[DEFAULT_MODEL]
    return shape


def _snapshot(table: Table) -> str:
    policy = table.text("snapshot", _SNAPSHOT_WORDS[0])
    if _SNAPSHOT.fullmatch(policy):
        return policy
    if policy.strip():
        near = nearest_value(policy, _SNAPSHOT_WORDS)
        table.wrong("snapshot", f"no policy {kind(policy)}", near or '"mid-end", "end" or "page-boundary-4"')
    return _SNAPSHOT_WORDS[0]


def _check_geometry(table: Table, shape: ModelShape, pool: int, percent: int) -> None:
    try:
        split_pool(pool, percent, shape.row_bytes, shape.page_bytes)
    except GeometryError as error:
        key = "host_pool_bytes" if "host_pool_bytes" in table else "host_row_percent"
        table.wrong(key, error.message, error.hint)
