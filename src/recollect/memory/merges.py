"""Undo entity merges."""

from __future__ import annotations

from datetime import datetime

from recollect.domain.entities import Merge
from recollect.errors import InvalidInput
from recollect.retain.resolve import plan_undo
from recollect.store.protocol import Store


async def undo_merge(store: Store, merge_id: str, now: datetime) -> Merge:
    """Give the merged name a new entity. Return the merge, marked as undone.

    Raises:
        InvalidInput: there is no such merge, or it has been undone.
    """
    merges = {merge.id: merge for merge in await store.merges()}
    merge = merges.get(merge_id)
    if merge is None:
        raise InvalidInput(f"there is no merge {merge_id!r} in bank {store.name!r}")
    if merge.undone is not None:
        raise InvalidInput(f"merge {merge_id!r} was undone at {merge.undone.isoformat()}")
    plan = plan_undo(merge, await store.mentions(merge.entity), at=now)
    await store.split_entity(plan.merge, plan.entity, plan.added)
    return plan.merge
