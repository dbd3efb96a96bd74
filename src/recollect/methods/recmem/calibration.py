"""Find the similarity that counts as recurrence, from a bank's own units (RecMem, section 3.6 and appendix C).

Equation 5 compares a unit with the units that came before it. It asks if the ``theta_count``-th nearest of them has a
cosine of at least ``theta_sim``. How many units pass depends on the embedder and on the subjects of the bank. So the
threshold is set such that a chosen share of the bank's units passes. This share decides the cost of consolidation.
"""

from __future__ import annotations

import json
import logging
import math
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from recollect._threads import run_in_thread
from recollect.domain.calibration import Calibration, Quantile
from recollect.domain.codec import from_json, to_json
from recollect.domain.items import ItemKind
from recollect.domain.queries import NO_VECTORS
from recollect.errors import InvalidInput
from recollect.methods.dependencies import Dependencies
from recollect.methods.recmem.settings import CASUAL, RECURRENCE, ConsolidateSettings, Recurrence
from recollect.store.protocol import StoreReader

KEY: Final = "recmem.theta_sim"
"""The bank's setting that stores a :class:`Threshold`, as JSON."""

FEWEST_UNITS: Final = 50
MOST_UNITS: Final = 5000
QUANTILES: Final = (0.5, 0.75, 0.9, 0.95, 0.99)

_BLOCK: Final = 500

_log = logging.getLogger(__name__)
_warned_embedders: set[str] = set()

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """The calibration of a bank: ``share`` of ``units`` passed with this ``theta_sim`` and ``theta_count``."""

    embedder: str
    theta_sim: float
    theta_count: int
    share: float
    units: int
    at: datetime


async def calibrate(reader: StoreReader, *, share: float, theta_count: int) -> Calibration:
    """Find the threshold at which a share of the bank's units recurs, and compare it with the bank's current threshold.

    Nothing is written. In a large bank only the newest :data:`MOST_UNITS` units are used.

    Raises:
        InvalidInput: a number is out of its range, the bank has too few units, or the bank has no vectors.
    """
    if not 0.0 < share < 1.0:
        raise InvalidInput(f"the share of units that should recur is {share:g}; give a number between 0 and 1")
    if not 1 <= theta_count <= CASUAL.k:
        raise InvalidInput(f"theta_count is {theta_count}; give a number from 1 to {CASUAL.k}")
    if not reader.dimension:
        raise InvalidInput(f"bank {reader.name!r} cannot be calibrated: {NO_VECTORS}")
    vectors = await load_unit_vectors(reader)
    if len(vectors) < FEWEST_UNITS + theta_count:
        raise InvalidInput(
            f"bank {reader.name!r} has {len(vectors)} units; calibration needs at least {FEWEST_UNITS + theta_count}"
        )
    reached = await run_in_thread(compute_similarities, vectors, theta_count)
    before = (await choose_recurrence(reader, ConsolidateSettings())).theta_sim
    after = choose_threshold(reached, share)
    return Calibration(
        embedder=reader.embedder,
        units=len(vectors),
        theta_count=theta_count,
        quantiles=tuple(Quantile(share=q, similarity=_round_down(np.quantile(reached, q))) for q in QUANTILES),
        before=before,
        share_before=compute_share(reached, before, len(vectors)),
        after=after,
        share_after=compute_share(reached, after, len(vectors)),
        stored=False,
    )


def compute_similarities(vectors: Floats, count: int) -> Floats:
    """Return each unit's cosine with the ``count``-th nearest of the units before it.

    A unit with fewer than ``count`` units before it has no value.

    Args:
        vectors: the vectors in the order in which the units were stored, float32 ``(units, dimension)``, rows of length
            1.
        count: the rank of the compared unit, from 1.

    Returns:
        float32 ``(units - count,)``, at least ``(0,)``, in the order of the units.
    """
    reached = np.empty(max(len(vectors) - count, 0), dtype=np.float32)
    for start in range(count, len(vectors), _BLOCK):
        stop = min(start + _BLOCK, len(vectors))
        cosines = vectors[start:stop] @ vectors[:stop].T
        cosines[np.arange(stop) >= np.arange(start, stop)[:, None]] = -np.inf
        reached[start - count : stop - count] = np.partition(cosines, stop - count, axis=1)[:, stop - count]
    return reached


def choose_threshold(reached: Floats, share: float) -> float:
    """Return the similarity that a share of the units reaches: the ``1 - share`` quantile, rounded down.

    It is rounded to three decimal places.
    """
    return math.floor(float(np.quantile(reached, 1.0 - share)) * 1000) / 1000


def compute_share(reached: Floats, theta: float, units: int) -> float:
    """Return the share of all units, 0 to 1, that recur often enough at a threshold. Without units the share is 0."""
    return round(int((reached >= theta).sum()) / units, 4) if units else 0.0


def _round_down(value: Any) -> float:
    return round(float(value), 3)


async def load_unit_vectors(reader: StoreReader) -> Floats:
    """Return the vectors of the newest units, in the order in which they were stored: float32 ``(units, dimension)``.

    If a message is too long for one turn, its first passage represents the unit, as in consolidation.
    """
    found = sorted(await reader.items_of([ItemKind.TURN]), key=lambda turn: turn.order, reverse=True)
    turns = {turn.sources[0]: turn.id for turn in found}
    kept = [turns[message.id] for message in await reader.messages(turns)][-MOST_UNITS:]
    vectors = await reader.vectors(kept)
    rows = [vectors[unit] for unit in kept if unit in vectors]
    return np.stack(rows) if rows else np.empty((0, reader.dimension), dtype=np.float32)


def make_threshold_setting(found: Calibration, *, share: float, now: datetime) -> tuple[str, str]:
    """Return a calibration as a setting of the bank: its key and its value."""
    kept = Threshold(
        embedder=found.embedder,
        theta_sim=found.after,
        theta_count=found.theta_count,
        share=share,
        units=found.units,
        at=now,
    )
    return KEY, json.dumps(to_json(kept), sort_keys=True)


async def read_threshold(reader: StoreReader) -> Threshold | None:
    """Return the bank's calibration for its current embedder, or ``None`` if there is none."""
    value = await reader.setting(KEY)
    found = None if value is None else from_json(Threshold, json.loads(value))
    return found if found is not None and found.embedder == reader.embedder else None


async def choose_recurrence(reader: StoreReader, settings: ConsolidateSettings) -> Recurrence:
    """Return the thresholds of recurrence for a bank: from the settings, or else its calibration, or else its embedder.

    For an unknown embedder the thresholds of the paper are used, and a warning is logged once. In a bank without
    vectors nothing recurs, and a warning about that is logged once too.
    """
    if settings.recurrence is not None:
        return settings.recurrence
    usual, found = RECURRENCE.get(reader.embedder), await read_threshold(reader)
    if found is not None:
        return replace(usual or CASUAL, theta_sim=found.theta_sim, theta_count=found.theta_count)
    if usual is None and reader.embedder not in _warned_embedders:
        _warned_embedders.add(reader.embedder)
        if not reader.dimension:
            _log.warning(
                "bank %s: nothing is recognised as recurring, and only messages that are pinned or salient become "
                "episodes, because %s",
                reader.name,
                NO_VECTORS,
            )
            return CASUAL
        _log.warning(
            "no threshold is known for the embedder %s. The threshold %g of another embedder is used, and may "
            "consolidate everything or nothing. Set one with `recollect calibrate --bank %s`",
            reader.embedder,
            CASUAL.theta_sim,
            reader.name,
        )
    return usual or CASUAL


class RecurrenceCalibrator:
    """Calibrates the threshold of recurrence in a bank. See :class:`recollect.ports.Calibrator`."""

    def __init__(self, dependencies: Dependencies) -> None:
        pass

    async def calibrate(self, reader: StoreReader, *, share: float, theta_count: int) -> Calibration:
        """Calibrate a bank. See :func:`calibrate`."""
        return await calibrate(reader, share=share, theta_count=theta_count)

    def setting(self, found: Calibration, *, share: float, now: datetime) -> tuple[str, str]:
        """Return a calibration as a setting. See :func:`make_threshold_setting`."""
        return make_threshold_setting(found, share=share, now=now)
