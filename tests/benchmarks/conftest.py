"""The benchmarks are no part of the package: they are imported from the checkout, whatever the folder of the run."""

import sys
from pathlib import Path

_ROOT = str(Path(__file__).resolve().parents[2])
if _ROOT not in sys.path:
    sys.path.insert(0, _ROOT)
