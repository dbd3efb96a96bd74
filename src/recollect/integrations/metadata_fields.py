"""Name the metadata keys under which another memory keeps the time, the speaker and the session of a message."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from recollect.domain.items import ItemKind
from recollect.integrations.foreign_memory import ForeignPiece


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataFields:
    """The keys in the metadata of a piece for its time, its speaker and its session.

    ``at`` may hold a datetime, ISO 8601 or seconds since 1970. A time without a zone is ignored, because no zone is
    guessed. ``sources`` holds the ids of the messages behind a piece, one or several. ``id`` holds an id that is more
    stable than that of the backend. With it, backends that can filter exclude the pieces that were seen before. A
    missing key leaves its field empty.
    """

    at: str = "at"
    speaker: str = "speaker"
    session: str = "session"
    sources: str = "sources"
    id: str = ""


STANDARD: Final = MetadataFields()


def read_piece(
    metadata: Mapping[str, Any],
    fields: MetadataFields,
    *,
    text: str,
    own_id: str | None,
    at: object = None,
    score: float = 0.0,
    kind: ItemKind = ItemKind.TURN,
) -> ForeignPiece:
    """Return a piece with the fields that its metadata holds.

    Args:
        metadata: the metadata that the backend keeps next to the text.
        fields: the keys in the metadata.
        text: the text of the piece.
        own_id: the id in the backend. Without one, the id is made from the text.
        at: the time when the backend stored the piece. It counts if the metadata has no time.
        score: the score, on the scale of the backend.
        kind: the kind of item.
    """
    lasting = metadata.get(fields.id) if fields.id else None
    return ForeignPiece(
        id=str(lasting if lasting is not None else own_id or make_text_id(text)),
        text=text,
        at=parse_moment(metadata.get(fields.at)) or parse_moment(at),
        speaker=_read_words(metadata.get(fields.speaker)),
        session=_read_words(metadata.get(fields.session)),
        sources=_read_ids(metadata.get(fields.sources)),
        score=score,
        kind=kind,
    )


def make_text_id(text: str) -> str:
    """Return an id for a text without one. It is the same in every process."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def parse_moment(value: object) -> datetime | None:
    """Return an aware moment from a datetime, ISO 8601 or seconds since 1970, or ``None`` for anything else."""
    try:
        if isinstance(value, str):
            value = datetime.fromisoformat(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            value = datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return value if isinstance(value, datetime) and value.utcoffset() is not None else None


def _read_words(value: object) -> str:
    return value if isinstance(value, str) else ""


def _read_ids(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    return tuple(map(str, value)) if isinstance(value, Sequence) else ()
