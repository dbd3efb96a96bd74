"""Add the first messages of a name to the sources of an item, if the model took the name from those in use.

Otherwise the name would outlive the only message that told it. For example, the model may have read "him" in another
session as that name.
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
    """Return the items with further sources, for names that an item has and its own messages do not have.

    The further sources are the first messages of the name.

    The speakers in the chunk are named there. Their names need no further message.
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
