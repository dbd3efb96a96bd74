"""How like messages must be to recur, set from the bank's own."""

from __future__ import annotations

from datetime import datetime

from recollect.domain.changes import Changeset
from recollect.methods.recmem.calibrate import Calibration, calibrate, threshold_setting
from recollect.methods.recmem.settings import ConsolidateSettings
from recollect.store.protocol import StoreReader

__all__ = ["Calibration", "calibrated", "threshold_of"]


async def calibrated(reader: StoreReader, *, share: float, theta_count: int) -> Calibration:
    """What calibrating a bank finds, held against what it goes by (:mod:`recollect.methods.recmem.calibrate`).

    Raises:
        InvalidInput: a number is out of its range, or the bank has too few units to tell.
    """
    return await calibrate(reader, share=share, theta_count=theta_count, settings=ConsolidateSettings())


async def threshold_of(found: Calibration, *, share: float, now: datetime) -> Changeset:
    """What makes a bank go by a calibration from now on."""
    return Changeset(settings=(threshold_setting(found, share=share, now=now),))
