"""What a process takes of the machine, and where a figure comes from."""

from __future__ import annotations

import resource
import sys
from collections.abc import Sequence
from pathlib import Path

_STATUS = Path("/proc/self/status")


def peak_rss_mb() -> float:
    """The most memory that this process has held so far, in megabytes of 10**6 bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6


def rss_mb() -> float:
    """The memory that this process holds now, in megabytes; its peak where the system has no ``/proc``."""
    if not _STATUS.exists():
        return peak_rss_mb()
    line = next(line for line in _STATUS.read_text("ascii").splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024 / 1e6


def folder_mb(folder: Path) -> float:
    """All files below a folder, in megabytes."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6


def quantile(values: Sequence[float], share: float) -> float:
    """The value at or below which a share of them lies, by the nearest rank; ``values`` is not empty."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
