"""Lets the tests of this folder start the small engines of the serve tests."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "serve"))
