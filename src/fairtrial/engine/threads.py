"""Keeps linear algebra on one thread; imported before numpy by every module that uses it.

Spin-waiting BLAS threads gain nothing at these sizes and cost a factor of ten on busy cores.
Values that are set in the environment already are respected.
"""

import os
import sys

_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")

IN_TIME = "numpy" not in sys.modules
"""Whether this module came before numpy, so that the setting has an effect."""

for _name in _VARIABLES:
    os.environ.setdefault(_name, "1")
