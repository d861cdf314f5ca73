"""Recipes: how each arm's server is started, read from the plan."""

import re
import sys
from collections.abc import Mapping
from types import MappingProxyType
from urllib.parse import urlsplit

from fairtrial.plan.reader import IDENTIFIER, Table, kind, one_of
from fairtrial.plan.reference_options import reference_options
from fairtrial.profiles import openai, reference
from fairtrial.profiles.registry import AUTO, PROFILES
from fairtrial.schema.plan import FrozenRecipe, PublicValue, Timing
from fairtrial.schema.servers import Recipe
from fairtrial.schema.vocab import RecipeKind

SERVED_MODEL = "served_model"
"""Option that holds the name a server must serve, where the name may be published."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,94}")
_COMMON = ("engine", "model", "token_env")
_TIMING = ("start_timeout", "stop_grace", "port")
_KEYS: Mapping[RecipeKind, tuple[str, ...]] = MappingProxyType(
    {
        RecipeKind.REFERENCE: (*_COMMON, *_TIMING, "options"),
        RecipeKind.PROCESS: (*_COMMON, *_TIMING, "argv", "env", "cwd"),
        RecipeKind.ATTACH: (*_COMMON, "url"),
    },
)
_ADDRESS_HINT = "write it like http://127.0.0.1:8000, the token in an environment variable (token_env)"
STAND_IN = Recipe(frozen=FrozenRecipe(kind=RecipeKind.REFERENCE, profile=reference.NAME))
"""Returned for a recipe that can't be read; the plan is refused anyway."""


def read_recipe(table: Table) -> Recipe:
    """Read one recipe; every fault becomes a problem."""
    which = _kind(table)
    if which is None:
        table.only(*dict.fromkeys(key for keys in _KEYS.values() for key in keys))
        return STAND_IN
    table.only(*_KEYS[which])
    if which is RecipeKind.REFERENCE:
        recipe = _reference(table)
    elif which is RecipeKind.PROCESS:
        recipe = _process(table)
    else:
        recipe = _attach(table)
    return recipe


def _kind(table: Table) -> RecipeKind | None:
    if "argv" in table and "url" in table:
        table.wrong(
            "url", "a recipe has argv or url, not both", "argv starts a server, url uses a running one"
        )
        return None
    if "argv" in table:
        return RecipeKind.PROCESS
    if "url" in table:
        return RecipeKind.ATTACH
    if table.values.get("engine") == reference.NAME:
        return RecipeKind.REFERENCE
    table.findings.problem(
        table.path,
        "a recipe needs argv, url or the reference engine",
        f'write argv = ["..."], url = "http://..." or engine = "{reference.NAME}"',
    )
    return None


def _reference(table: Table) -> Recipe:
    options = reference_options(table.table("options"), table)
    words = [sys.executable, "-m", "fairtrial", "engine", "serve", "--port", "{port}"]
    for name, value in options.items():
        flag = f"--{name.replace('_', '-')}"
        if isinstance(value, bool):
            words.extend([flag] if value else [])
        else:
            words.extend([flag, str(value)])
    served, public = _model(table)
    if served is not None:
        words.extend(["--served-model-name", served])
    token = _variable(table)
    if token is not None:
        words.extend(["--token-env", token])
    port = _port(table)
    return Recipe(
        frozen=FrozenRecipe(
            kind=RecipeKind.REFERENCE,
            profile=reference.NAME,
            options=options | public | _port_option(port),
            timing=_timing(table),
        ),
        argv=tuple(words),
        port=port,
        model=served,
        token_env=token,
    )


def _process(table: Table) -> Recipe:
    served, public = _model(table)
    port = _port(table)
    argv = table.texts("argv") or ("",)
    if table.values.get("port", 0) == 0 and not any("{port}" in word for word in argv):
        table.missing("port", 'declare the port it listens on, or write "{port}" in argv for a free one')
    return Recipe(
        frozen=FrozenRecipe(
            kind=RecipeKind.PROCESS,
            profile=_profile(table),
            options=public | _port_option(port),
            timing=_timing(table),
        ),
        argv=argv,
        env=_env(table),
        cwd=_folder(table),
        port=port,
        model=served,
        token_env=_variable(table),
    )


def _attach(table: Table) -> Recipe:
    served, public = _model(table)
    return Recipe(
        frozen=FrozenRecipe(kind=RecipeKind.ATTACH, profile=_profile(table, running=True), options=public),
        url=_address(table),
        model=served,
        token_env=_variable(table),
    )


def _folder(table: Table) -> str | None:
    """An absolute path; a relative one starts at the plan's folder."""
    text = table.optional_text("cwd")
    return None if text is None else str(table.findings.folder / text)


def _profile(table: Table, *, running: bool = False) -> str:
    """The profile's name; of a running server it may be left open until it is looked at."""
    known = sorted([*PROFILES, AUTO] if running else PROFILES)
    name = table.text("engine", openai.NAME)
    if name in known:
        return name
    if name == AUTO:
        what = "an engine can be found out of a running server only"
        table.wrong("engine", what, f"one of {one_of(known)}")
    elif name.strip():
        table.wrong("engine", f"no engine profile {kind(name)}", f"one of {one_of(known)}")
    # The one profile that lacks nothing: as a stand-in it causes no further problem.
    return reference.NAME


def _model(table: Table) -> tuple[str | None, dict[str, PublicValue]]:
    """The model's name, and the option that publishes it where it is a plain name."""
    name = table.optional_text("model")
    if name is None:
        return None, {}
    return name, ({SERVED_MODEL: name} if IDENTIFIER.fullmatch(name) else {})


def _port(table: Table) -> int:
    return table.integer("port", 0, 0, 65_535)


def _port_option(port: int) -> dict[str, PublicValue]:
    return {"port": port} if port else {}


def _timing(table: Table) -> Timing:
    default = Timing()
    return Timing(
        start_ms=table.milliseconds("start_timeout", default.start_ms),
        stop_grace_ms=table.milliseconds("stop_grace", default.stop_grace_ms, low=0),
    )


def _variable(table: Table) -> str | None:
    name = table.optional_text("token_env")
    if name is not None and name.strip() and not _VARIABLE.fullmatch(name):
        table.wrong(
            "token_env", "is not the name of an environment variable", "give the name, never the token"
        )
        return None
    return name


def _env(table: Table) -> dict[str, str]:
    inner = table.table("env")
    if inner is None:
        return {}
    values: dict[str, str] = {}
    seen: dict[str, str] = {}
    for name, value in inner.values.items():
        if not _VARIABLE.fullmatch(name):
            inner.wrong(name, "is not the name of an environment variable")
        elif name.lower() in seen:
            inner.wrong(name, f"differs from {seen[name.lower()]} only in case")
        elif not isinstance(value, str) or "\0" in value:
            inner.wrong(name, f"must be text, not {kind(value)}", "write numbers in quotes")
        else:
            values[name] = value
            seen[name.lower()] = name
    return values


def _address(table: Table) -> str:
    """The base address without a trailing ``/v1``."""
    text = table.text("url")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    plain = text.isascii() and text.isprintable() and " " not in text
    if parts.scheme not in {"http", "https"} or not parts.hostname or port == 0 or not plain:
        table.wrong("url", "is not an http or https address", _ADDRESS_HINT)
    elif parts.username or parts.password or parts.query or parts.fragment:
        # The address is not repeated: what is too much in it may be a secret.
        table.wrong("url", "holds more than scheme, host, port and path", _ADDRESS_HINT)
    return text.rstrip("/").removesuffix("/v1")
