"""Where a memory of somebody else's keeps what a message has besides its words."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from recollect.domain.items import ItemKind
from recollect.integrations.foreign import Found


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """The keys of a piece's metadata under which stand when it was said, by whom, and in which session.

    ``at`` may hold a datetime, ISO 8601 or seconds since 1970; a time without a zone is as good as none, since no zone
    is guessed. ``sources`` holds the ids of the messages behind a piece, one or several. ``id`` holds an id that
    outlasts the backend's own, where there is one: with it, backends that can filter leave out themselves what was
    seen already. What is not there is left empty.
    """

    at: str = "at"
    speaker: str = "speaker"
    session: str = "session"
    sources: str = "sources"
    id: str = ""


STANDARD: Final = Fields()


def found_in(
    metadata: Mapping[str, Any],
    fields: Fields,
    *,
    text: str,
    own_id: str | None,
    at: object = None,
    score: float = 0.0,
    kind: ItemKind = ItemKind.TURN,
) -> Found:
    """A piece with what its metadata tells of it.

    Args:
        metadata: whatever the backend keeps beside the words.
        fields: where in it stands what.
        text: the words.
        own_id: the backend's id; made of the words where it has none.
        at: when the backend stored it, where the metadata does not say when it was said.
        score: on the backend's scale.
        kind: what it is.
    """
    lasting = metadata.get(fields.id) if fields.id else None
    return Found(
        id=str(lasting if lasting is not None else own_id or id_of(text)),
        text=text,
        at=moment(metadata.get(fields.at)) or moment(at),
        speaker=_words(metadata.get(fields.speaker)),
        session=_words(metadata.get(fields.session)),
        sources=_ids(metadata.get(fields.sources)),
        score=score,
        kind=kind,
    )


def id_of(text: str) -> str:
    """An id of a text that has none: the same in every process."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def moment(value: object) -> datetime | None:
    """An aware moment from a datetime, ISO 8601 or seconds since 1970; ``None`` for anything else."""
    try:
        if isinstance(value, str):
            value = datetime.fromisoformat(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            value = datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return value if isinstance(value, datetime) and value.utcoffset() is not None else None


def _words(value: object) -> str:
    return value if isinstance(value, str) else ""


def _ids(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    return tuple(map(str, value)) if isinstance(value, Sequence) else ()
