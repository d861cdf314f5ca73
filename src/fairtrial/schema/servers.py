"""Servers as they are started and found: private recipes, launches."""

from typing import Literal

from pydantic import Field

from fairtrial.schema.base import Record
from fairtrial.schema.plan import FrozenRecipe
from fairtrial.schema.types import Count, Digest, Identifier, Positive
from fairtrial.schema.vocab import LaunchPurpose


class Recipe(Record):
    """A recipe with its private values: never published, never journalled."""

    frozen: FrozenRecipe
    argv: tuple[str, ...] = ()
    """Command of a ``process`` or ``reference`` server. ``{port}`` in a word becomes the port."""
    env: dict[str, str] = Field(default_factory=dict)
    cwd: str | None = None
    url: str | None = None
    """Base address of an ``attach`` endpoint, without ``/v1``."""
    host: str = "127.0.0.1"
    port: Count = 0
    """0: any free port for each launch."""
    model: str | None = None
    """Name the server must serve and requests ask for; None takes the first it lists."""
    token_env: str | None = None
    """Name of the environment variable that holds the bearer token."""


class Private(Record):
    """The trial's private file: values and the keys of their commitments."""

    schema_: Literal["fairtrial.private/v1"] = Field(default="fairtrial.private/v1", alias="schema")
    recipes: dict[str, Recipe]
    """By arm name."""
    keys: dict[str, str]
    """Commitment key (hex) by ``ARM.field``."""
    files: dict[str, str]
    """Absolute path of each requests file, by workload name."""
    plan_path: str


class ServiceEntry(Record):
    """A server in service, registered on this host by fairtrial."""

    schema_: Literal["fairtrial.service/v1"] = Field(default="fairtrial.service/v1", alias="schema")
    run: Identifier
    launch: Identifier
    purpose: LaunchPurpose
    pid: Positive
    started_ticks: Positive
    port: Positive
    recipe: Recipe
    identity: Digest | None
    family: tuple[tuple[Positive, Positive], ...] = ()
    """Pid and start ticks of every process seen as its own when it was proven ready."""
