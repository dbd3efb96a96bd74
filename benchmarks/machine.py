"""Measure the memory and disk space of a process. It also has the common functions of the benchmark programs."""

from __future__ import annotations

import argparse
import resource
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

_STATUS = Path("/proc/self/status")


def peak_rss_mb() -> float:
    """Return the peak memory of this process so far, in megabytes of 10**6 bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6


def rss_mb() -> float:
    """Return the present memory of this process, in megabytes. On a system without ``/proc`` it is the peak."""
    if not _STATUS.exists():
        return peak_rss_mb()
    line = next(line for line in _STATUS.read_text("ascii").splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024 / 1e6


def folder_mb(folder: Path) -> float:
    """Return the size of all files below a folder, in megabytes."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6


def quantile(values: Sequence[float], share: float) -> float:
    """Return the value below which a ``share`` of the values are, by the nearest rank. ``values`` is not empty."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class Report(Protocol):
    """The results of a benchmark."""

    def to_json(self) -> str: ...

    def to_table(self) -> str: ...


def whole_number(text: str) -> int:
    """Read an option that must be 1 or more.

    Raises:
        ArgumentTypeError: the number is less than 1.
    """
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not 1 or more")
    return number


def hand_over(report: Report, given: argparse.Namespace) -> None:
    """Print a report as a table, or as one JSON object with ``--json``. Write the JSON object also to the file of
    ``--out``.
    """
    written = report.to_json()
    if given.out:
        given.out.parent.mkdir(parents=True, exist_ok=True)
        given.out.write_text(written + "\n", "utf-8")
    print(written if given.json else report.to_table())
