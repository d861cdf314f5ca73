"""Installed packages for tests: the folder of the package beside the metadata that an installer would write."""

import importlib
import sys
import tomllib
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "plugin_package"


def install(folder, monkeypatch, *, name="example", version="1.0", entries=None, modules=None):
    """Put a package with these entry points and modules (text by file name) on the path."""
    for file, text in (modules or {}).items():
        (folder / file).write_text(text, encoding="utf-8")
    points = "".join(f"{key} = {value}\n" for key, value in (entries or {}).items())
    _metadata(folder, name, version, points)
    monkeypatch.syspath_prepend(str(folder))
    importlib.invalidate_caches()


def install_example(folder, monkeypatch):
    """Install tests/plugin_package as its pyproject.toml declares it."""
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    entries = project["entry-points"]["fairtrial.gates"]
    install(folder, monkeypatch, name=project["name"], version=project["version"], entries=entries)
    monkeypatch.syspath_prepend(str(PACKAGE / "src"))


def forget(*modules):
    """Another test's module of that name is imported no more."""
    for module in modules:
        sys.modules.pop(module, None)


def _metadata(folder, name, version, points):
    stem = f"{name.replace('-', '_')}-{version or '0'}.dist-info"
    (folder / stem).mkdir(exist_ok=True)
    stated = f"Version: {version}\n" if version else ""
    (folder / stem / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\n{stated}", encoding="utf-8"
    )
    (folder / stem / "entry_points.txt").write_text(f"[fairtrial.gates]\n{points}", encoding="utf-8")
