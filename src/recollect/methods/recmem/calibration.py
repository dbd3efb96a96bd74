"""What similarity means for an embedder, read off a bank's own units (RecMem, section 3.6 and appendix C).

Equation 5 asks whether the ``theta_count``-th nearest of the units that came before one is at least ``theta_sim`` like
it. How many units pass depends on the embedder and on what is talked about. So the threshold is taken where a chosen
share of the units there are passes: that share decides what consolidation costs.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from recollect.domain.calibration import Calibration, Quantile
from recollect.domain.codec import from_json, to_json
from recollect.domain.items import ItemKind
from recollect.domain.queries import NO_VECTORS
from recollect.errors import InvalidInput
from recollect.methods.dependencies import Dependencies
from recollect.methods.recmem.settings import CASUAL, RECURRENCE, ConsolidateSettings, Recurrence
from recollect.store.protocol import StoreReader

KEY: Final = "recmem.theta_sim"
"""The bank's setting that holds a :class:`Threshold`, as JSON."""

FEWEST_UNITS: Final = 50
MOST_UNITS: Final = 5000
QUANTILES: Final = (0.5, 0.75, 0.9, 0.95, 0.99)

_BLOCK: Final = 500

_log = logging.getLogger(__name__)
_warned_embedders: set[str] = set()

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """What a bank was calibrated to: ``share`` of ``units`` passed with this ``theta_sim`` and ``theta_count``."""

    embedder: str
    theta_sim: float
    theta_count: int
    share: float
    units: int
    at: datetime


async def calibrate(reader: StoreReader, *, share: float, theta_count: int) -> Calibration:
    """Find the threshold at which a share of the bank's units recurs, beside the one it goes by; nothing is written.

    Of a large bank the newest :data:`MOST_UNITS` units are looked at.

    Raises:
        InvalidInput: a number is out of its range, the bank has too few units to tell, or it holds no vectors.
    """
    if not 0.0 < share < 1.0:
        raise InvalidInput(f"the share of units that shall recur is {share:g}; it lies between 0 and 1")
    if not 1 <= theta_count <= CASUAL.k:
        raise InvalidInput(f"theta_count is {theta_count}; it lies between 1 and {CASUAL.k}")
    if not reader.dimension:
        raise InvalidInput(f"bank {reader.name!r} cannot be calibrated: {NO_VECTORS}")
    vectors = await load_unit_vectors(reader)
    if len(vectors) < FEWEST_UNITS + theta_count:
        raise InvalidInput(
            f"bank {reader.name!r} has {len(vectors)} units; to calibrate takes {FEWEST_UNITS + theta_count} at least"
        )
    reached = await asyncio.to_thread(compute_similarities, vectors, theta_count)
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
    """Each unit's cosine with the ``count``-th nearest of those before it; units with fewer before them have none.

    Args:
        vectors: in the order in which the units were kept, float32 ``(units, dimension)``, rows of length 1.
        count: from 1.

    Returns:
        float32 ``(units - count,)``, at least ``(0,)``, in that order.
    """
    reached = np.empty(max(len(vectors) - count, 0), dtype=np.float32)
    for start in range(count, len(vectors), _BLOCK):
        stop = min(start + _BLOCK, len(vectors))
        cosines = vectors[start:stop] @ vectors[:stop].T
        cosines[np.arange(stop) >= np.arange(start, stop)[:, None]] = -np.inf
        reached[start - count : stop - count] = np.partition(cosines, stop - count, axis=1)[:, stop - count]
    return reached


def choose_threshold(reached: Floats, share: float) -> float:
    """The similarity that a share of the units reaches: the ``1 - share`` quantile, rounded down to three places."""
    return math.floor(float(np.quantile(reached, 1.0 - share)) * 1000) / 1000


def compute_share(reached: Floats, theta: float, units: int) -> float:
    """The share of all the units, 0 to 1, that come up often enough at a threshold; 0 of none."""
    return round(int((reached >= theta).sum()) / units, 4) if units else 0.0


def _round_down(value: Any) -> float:
    return round(float(value), 3)


async def load_unit_vectors(reader: StoreReader) -> Floats:
    """Vectors of the newest units, in the order in which they were kept: float32 ``(units, dimension)``.

    Of a message that is too long for one turn, the first passage stands for the unit, as in consolidation.
    """
    found = sorted(await reader.items_of([ItemKind.TURN]), key=lambda turn: turn.order, reverse=True)
    turns = {turn.sources[0]: turn.id for turn in found}
    kept = [turns[message.id] for message in await reader.messages(turns)][-MOST_UNITS:]
    vectors = await reader.vectors(kept)
    rows = [vectors[unit] for unit in kept if unit in vectors]
    return np.stack(rows) if rows else np.empty((0, reader.dimension), dtype=np.float32)


def make_threshold_setting(found: Calibration, *, share: float, now: datetime) -> tuple[str, str]:
    """A calibration as the setting that the bank goes by."""
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
    """What the bank was calibrated to for the embedder that it has now; ``None`` where it was not."""
    value = await reader.setting(KEY)
    found = None if value is None else from_json(Threshold, json.loads(value))
    return found if found is not None and found.embedder == reader.embedder else None


async def choose_recurrence(reader: StoreReader, settings: ConsolidateSettings) -> Recurrence:
    """When something recurs in this bank: as the settings say, else as it was calibrated, else by its embedder.

    Of an embedder that nothing is known of, the paper's thresholds are taken, and a warning is logged once; so is that
    nothing recurs in a bank without vectors.
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
            "no threshold is known for the embedder %s: %g, which belongs to another, may make memory of everything or "
            "of nothing; `recollect calibrate --bank %s` sets one",
            reader.embedder,
            CASUAL.theta_sim,
            reader.name,
        )
    return usual or CASUAL


class RecurrenceCalibrator:
    """Calibrates what recurrence means in a bank. See :class:`recollect.ports.Calibrator`."""

    def __init__(self, dependencies: Dependencies) -> None:
        pass

    async def calibrate(self, reader: StoreReader, *, share: float, theta_count: int) -> Calibration:
        """See :func:`calibrate`."""
        return await calibrate(reader, share=share, theta_count=theta_count)

    def setting(self, found: Calibration, *, share: float, now: datetime) -> tuple[str, str]:
        """See :func:`make_threshold_setting`."""
        return make_threshold_setting(found, share=share, now=now)
