"""The result of calibrating a bank."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantile:
    """A quantile of similarities: a ``share`` (0 to 1) of the units has at most this ``similarity``."""

    share: float
    similarity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The result of calibrating the similarity at which units of a bank recur.

    ``quantiles`` are over the similarity of each unit to its ``theta_count``-th nearest earlier unit. ``before`` and
    ``after`` are the old and the new threshold. ``share_before`` and ``share_after`` are the shares of units that recur
    at these thresholds. ``stored`` is true if the bank uses the new threshold from now on.
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
