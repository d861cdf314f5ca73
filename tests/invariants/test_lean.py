"""What must start quickly imports nothing heavy: the load worker, and bench on its way to the first request."""

import subprocess
import sys
from pathlib import Path

import pytest

SRC = Path(__file__).resolve().parents[2] / "src" / "fairtrial"
HEAVY = ("pydantic", "numpy", "aiohttp", "rich", "jinja2", "psutil", "cyclopts")
LEAN = sorted(
    ".".join(path.relative_to(SRC.parent).with_suffix("").parts).removesuffix(".__init__")
    for package in ("drive", "decode", "profiles", "stats", "bench")
    for path in (SRC / package).rglob("*.py")
    if path.name != "fallback.py"  # aiohttp is what it is for
)


def test_there_are_modules_to_look_at():
    assert "fairtrial.drive.worker" in LEAN
    assert len(LEAN) > 40


@pytest.mark.parametrize("module", LEAN)
def test_lean_modules_import_nothing_heavy(module):
    program = f"import sys, {module}; print(*(name for name in {HEAVY!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
