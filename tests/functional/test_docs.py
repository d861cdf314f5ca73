"""Every command in the tutorial and the README runs as written, in the order in which it is written."""

import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs" / "tutorial").glob("*.md")),
    ROOT / "docs" / "how-to" / "load.md",
    ROOT / "docs" / "how-to" / "bench.md",
    ROOT / "docs" / "how-to" / "doctor.md",
    ROOT / "docs" / "how-to" / "power.md",
]
EXAMPLE_URL = "http://127.0.0.1:8000"
"""Where the pages have the server that they measure."""


def commands(page):
    blocks = re.findall(r"```console\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    return [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ fairtrial")]


def serving(program):
    """The address of a reference engine; it ends with the program's home."""
    engine = program.start("engine", "serve", "--model", "small", "--port", "0")
    for line in engine.stderr:
        if where := re.search(r"listening on (http://127\.0\.0\.1:\d+) ", line):
            return where[1]
    raise AssertionError("the engine said no address")


def plans(page):
    """The plans that a page shows whole: blocks that begin with the name of their file."""
    blocks = re.findall(r"```toml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    named = ((re.match(r"# ([a-z-]+\.toml)\n", block), block) for block in blocks)
    return {name[1]: block for name, block in named if name}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_run(page, program):
    found = commands(page)
    if any(EXAMPLE_URL in command for command in found):
        url = serving(program)
        found = [command.replace(EXAMPLE_URL, url) for command in found]
    for name, text in plans(page).items():
        (program.home / name).write_text(text)
    assert found, "a page of commands without a command"
    for command in found:
        program.run(*shlex.split(command)[1:], code=None if " demo" in command else 0)


def test_every_verb_is_documented(program):
    reference = (ROOT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")
    for verb in (
        "run",
        "resume",
        "restore",
        "status",
        "note",
        "judge",
        "report",
        "init",
        "demo",
        "bench",
        "doctor",
        "ab",
        "import",
    ):
        assert f"fairtrial {verb}" in reference
        assert program.run(verb, "--help").stdout.strip()
    for verb in (
        "plan check",
        "plan show",
        "plan freeze",
        "plan power",
        "plan amend",
        "serve load",
        "engine serve",
    ):
        assert f"fairtrial {verb}" in reference


def test_links_between_pages_lead_somewhere():
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page}: {target}"
