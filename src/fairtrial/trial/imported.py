"""What an imported record's directory is known by, without what reads it."""

from pathlib import Path

RECORD_FILE = "record.json"


def is_imported(directory: Path) -> bool:
    """Whether a directory holds an imported record."""
    return (directory / RECORD_FILE).is_file()
