"""Attack a store on purpose, and count every promise that does not hold.

Run it with ``python -m benchmarks.attack``. :mod:`benchmarks.attack.scenario` defines what is counted.
"""

import os

# The library is forked thousands of times here, and numpy's threads do not survive a fork. They are set before numpy is
# imported for the first time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
