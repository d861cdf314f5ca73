"""Servers in service on this host: one private file each, gone when the server is."""

from dataclasses import dataclass
from pathlib import Path

from fairtrial.evidence.documents import canonical, read
from fairtrial.evidence.files import read_bounded, write_atomic
from fairtrial.schema.errors import EvidenceError
from fairtrial.schema.servers import Recipe, ServiceEntry
from fairtrial.serve.proc import alive as process_alive
from fairtrial.serve.state import state_dir

_PREFIX = "service-"
_LIMIT = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Stale:
    """An entry that was removed, and why."""

    name: str
    """Name of its file: the trial and the launch."""
    reason: str


def register(entry: ServiceEntry) -> None:
    """Write an entry down, whole or not at all, readable by this user only: recipes hold secrets.

    Raises:
        EvidenceError: It can't be written.
        UsageError: There is no state directory.
    """
    write_atomic(_path(entry), canonical(entry), mode=0o600)


def forget(entry: ServiceEntry) -> None:
    """Remove an entry; nothing when there is none."""
    _path(entry).unlink(missing_ok=True)


def entries() -> tuple[ServiceEntry, ...]:
    """Every server in service whose process lives, oldest first."""
    live = [found for path in _files() if isinstance(found := _load(path), ServiceEntry) and alive(found)]
    return tuple(sorted(live, key=lambda entry: (entry.started_ticks, entry.pid)))


def sweep() -> tuple[Stale, ...]:
    """Remove the entries that no living server belongs to, and say which and why."""
    removed = []
    for path in _files():
        found = _load(path)
        if isinstance(found, ServiceEntry) and alive(found):
            continue
        reason = "its server is gone" if isinstance(found, ServiceEntry) else found
        path.unlink(missing_ok=True)
        removed.append(Stale(path.stem.removeprefix(_PREFIX), reason))
    return tuple(removed)


def alive(entry: ServiceEntry) -> bool:
    """Whether exactly the process of the entry still runs."""
    return process_alive(entry.pid, entry.started_ticks)


def find_baseline(recipe: Recipe) -> ServiceEntry | None:
    """The server in service that was started from this recipe; the youngest if there are several.

    Commitments are left out of the comparison, since every freezing draws new keys; the
    private values themselves and the identity of the executable are compared.
    """
    wanted = _essence(recipe)
    for entry in reversed(entries()):
        if _essence(entry.recipe) == wanted and recipe.port in (0, entry.port):
            return entry
    return None


def _essence(recipe: Recipe) -> Recipe:
    """The recipe without what two freezings of one plan differ in, and without its time limits."""
    frozen = recipe.frozen.model_copy(
        update={"private": {}, "timing": type(recipe.frozen.timing)()},
    )
    return recipe.model_copy(update={"frozen": frozen, "port": 0})


def _path(entry: ServiceEntry) -> Path:
    return state_dir() / f"{_PREFIX}{entry.run}-{entry.launch}.json"


def _files() -> list[Path]:
    return sorted(state_dir().glob(f"{_PREFIX}*.json"))


def _load(path: Path) -> ServiceEntry | str:
    try:
        return read(ServiceEntry, read_bounded(path, _LIMIT), where=str(path))
    except EvidenceError as exc:
        return exc.message
