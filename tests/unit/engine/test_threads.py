"""BLAS threads are pinned before numpy reads their number, on every way into the engine."""

import os
import subprocess
import sys

import pytest

PROBE = """
import importlib, os, sys
importlib.import_module(sys.argv[1])
from fairtrial.engine import threads
print(threads.IN_TIME, "numpy" in sys.modules, os.environ["OPENBLAS_NUM_THREADS"])
"""


def probe(module, **extra):
    env = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")} | extra
    run = subprocess.run(
        [sys.executable, "-c", PROBE, module], env=env, capture_output=True, text=True, check=True
    )
    return run.stdout.split()


@pytest.mark.parametrize("module", ["fairtrial.engine.service", "fairtrial.engine.prompt_run"])
def test_one_thread_before_numpy(module):
    assert probe(module) == ["True", "True", "1"]


def test_a_number_that_is_set_stays():
    assert probe("fairtrial.engine.prompt_run", OPENBLAS_NUM_THREADS="2")[-1] == "2"
