"""What calibrating a bank has found."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantile:
    """A share of the units, 0 to 1, and the similarity that so many of them do not exceed."""

    share: float
    similarity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What calibrating found, and what it did.

    ``quantiles`` are of the similarity of each unit to the ``theta_count``-th nearest that was kept before it.
    ``before`` and ``after`` are the thresholds, ``share_before`` and ``share_after`` the shares of units that come up
    often enough under each. ``stored`` says whether the bank goes by the new one from now on.
    """

    embedder: str
    units: int
    theta_count: int
    quantiles: tuple[Quantile, ...]
    before: float
    share_before: float
    after: float
    share_after: float
    stored: bool
