"""Names that a model took from those in use: the messages they come from are sources as well.

Otherwise a name would outlive the only message that told it, in what another session's "him" was read as.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from recollect.domain.entities import NameInUse
from recollect.domain.items import Item
from recollect.domain.messages import StoredMessage
from recollect.retain.chunks import Chunk


def add_name_sources(items: Iterable[Item], chunk: Chunk, names: Sequence[NameInUse]) -> tuple[Item, ...]:
    """The items, each with the first messages of the names in it that none of its own messages has.

    Whoever speaks in the chunk is named there, and needs no other message.
    """
    speakers = "\n".join(message.speaker for message in chunk.all_messages)
    words = {message.id: message for message in chunk.all_messages}
    return tuple(_add_name_sources(item, [words[id_] for id_ in item.sources], speakers, names) for item in items)


def _add_name_sources(item: Item, cited: Sequence[StoredMessage], speakers: str, names: Sequence[NameInUse]) -> Item:
    said = "\n".join([speakers, *(text for message in cited for text in (message.text, *message.captions))])
    taken = [one for one in names if _has_name(item.text, one.name) and not _has_name(said, one.name)]
    sources = dict.fromkeys((*item.sources, *(id_ for one in taken for id_ in one.messages)))
    return replace(item, sources=tuple(sources)) if taken else item


def _has_name(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.I) is not None
