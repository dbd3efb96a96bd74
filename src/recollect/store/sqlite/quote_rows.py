"""Find the rows of a bank that quote forgotten texts (:mod:`recollect.text.quotes`), whatever they were derived from.

A model sees many messages when it writes about one. So a text can hold words of a message that it does not cite, and
the foreign keys do not lead to it. Words that also occur in what stays are no quote.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from recollect.store.profile_setting import PROFILE_KEY, read_profile_name
from recollect.store.sqlite.named_queries import get_query
from recollect.text.quotes import SPAN_WORDS, Quotes, Span, make_quotes

# Rows that repeat messages word for word. They are removed with their messages, and their bytes are searched for.
_RAW_KINDS = ("turn", "segment")
# What people said or gave. These columns decide what a quote is, so they cannot hold one.
_GROUND = frozenset({("message", "id"), ("message", "session"), ("message", "speaker"), ("message", "text")}) | {
    ("message", "captions"),
    ("session", "id"),
}
_MOST_REPEATED = 3  # texts that would stay; a phrase in more of them is the model's own
_WHERE = {
    "item": f"kind NOT IN {_RAW_KINDS} AND NOT id GLOB 'given:*'",
    "triple": "item NOT IN (SELECT seq FROM item WHERE id GLOB 'given:*')",
    "mention": "item NOT IN (SELECT seq FROM item WHERE id GLOB 'given:*')",
    "setting": "key NOT IN ('embedder', 'dimension')",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgottenTexts:
    """The words that must not be left. ``damaged`` is true if some of them could not be read in full."""

    texts: tuple[str, ...] = ()
    damaged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotingRows:
    """The rows that quote forgotten texts, by what identifies them.

    ``forgotten`` are the telling spans of these texts. ``quotes`` are those of them that the rows contain.
    """

    forgotten: Quotes = Quotes()
    quotes: Quotes = Quotes()
    labels: tuple[str, ...] = ()
    surfaces: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()


def read_quotes(connection: sqlite3.Connection, doomed_items: str, names: Iterable[str]) -> Quotes:
    """Return the telling spans of all texts that are marked to be forgotten.

    Args:
        connection: the bank.
        doomed_items: the numbers of the items that are removed with them, as a JSON list.
        names: names that nothing derived may contain any more.
    """
    derived = connection.execute(get_query("doomed_derived_texts"), {"items": doomed_items})
    return make_quotes(read_forgotten_texts(connection).texts, [decode(text) for (text,) in derived], names)


def read_forgotten_texts(connection: sqlite3.Connection) -> ForgottenTexts:
    """Return the texts of the messages and facts that are marked to be forgotten."""
    damaged = False
    texts = list[str]()
    for _, text, captions in connection.execute(get_query("doomed_messages")):
        damaged = damaged or _is_damaged(text) or _is_damaged(captions)
        texts += (decode(text), *read_captions(captions))
    texts += [cell for row in connection.execute(get_query("doomed_fact_texts")) for cell in row]
    return ForgottenTexts(texts=tuple(texts), damaged=damaged)


def list_doomed_messages(connection: sqlite3.Connection) -> tuple[str, ...]:
    """Return the ids of the messages that are marked to be forgotten."""
    return tuple(id_ for id_, _, _ in connection.execute(get_query("doomed_messages")))


def remove_common_phrases(connection: sqlite3.Connection, quotes: Quotes, doomed_items: str) -> Quotes:
    """Return the spans without phrases that a model repeats in several texts that would stay.

    Only long spans can be such phrases. They come from texts of a model, which has its own ways to say things.
    """
    long = Quotes(frozenset(span for span in quotes.spans if len(span) > SPAN_WORDS))
    if not long:
        return quotes
    rows = connection.execute(get_query("derived_texts"), {"items": doomed_items})
    counts = Counter(span for _, spans in _find_hits(rows, long) for span in spans)
    return Quotes(quotes.spans - {span for span, count in counts.items() if count > _MOST_REPEATED})


def find_quoting_items(connection: sqlite3.Connection, quotes: Quotes, doomed_items: str) -> list[int]:
    """Return the numbers of the items that would stay, and that contain spans of the texts to be forgotten."""
    found, _ = _find_rows(connection, ("derived_texts",), quotes, doomed_items)
    return [int(str(key)) for key in found["derived_texts"]]


def find_quoting_rows(connection: sqlite3.Connection, quotes: Quotes, doomed_items: str) -> QuotingRows:
    """Return the other rows that would stay, and that contain spans of the texts to be forgotten."""
    names = ("link_labels", "surfaces", "entity_names", "job_texts", "setting_texts")
    found, there = _find_rows(connection, names, quotes, doomed_items)
    labels, surfaces, entities, jobs, settings = (tuple(map(str, found[name])) for name in names)
    return QuotingRows(
        forgotten=quotes,
        quotes=there,
        labels=labels,
        surfaces=surfaces,
        entities=entities,
        jobs=jobs,
        settings=settings,
    )


def _find_rows(
    connection: sqlite3.Connection, queries: Sequence[str], quotes: Quotes, doomed_items: str
) -> tuple[dict[str, list[object]], Quotes]:
    """Return the keys of the rows that quote, by query, and the spans that they contain.

    What was derived is read once. The messages that stay are read only if spans were found.
    """
    bounds = {"items": doomed_items}
    hits = {name: list(_find_hits(connection.execute(get_query(name), bounds), quotes)) for name in queries}
    spans = {span for rows in hits.values() for _, ones in rows for span in ones}
    there = quotes.keep_only(spans).remove_found_in(read_remaining_texts(connection)) if spans else Quotes()
    keys = {name: [key for key, ones in rows if not there.spans.isdisjoint(ones)] for name, rows in hits.items()}
    return keys, there


def find_quoting_columns(connection: sqlite3.Connection, quotes: Quotes) -> tuple[str, ...]:
    """Return the columns, as "table.column", that still contain spans which no message that stays contains.

    Every column of every table that can hold text is read, as the schema lists them.
    """
    if not quotes:
        return ()
    found: dict[str, set[Span]] = {}
    for table, column in list_text_columns(connection):
        if (table, column) not in _GROUND:
            where = f" WHERE {_WHERE[table]}" if table in _WHERE else ""
            rows = connection.execute(f'SELECT DISTINCT 0, CAST("{column}" AS BLOB) FROM "{table}"{where}')
            found[f"{table}.{column}"] = {span for _, spans in _find_hits(rows, quotes) for span in spans}
    spans = {span for ones in found.values() for span in ones}
    left = quotes.keep_only(spans).remove_found_in(read_remaining_texts(connection)).spans
    return tuple(name for name, ones in found.items() if not left.isdisjoint(ones))


def list_text_columns(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    """Return the table and the name of every column that can hold text, as the schema lists them."""
    return [(table, column) for table, column in connection.execute(get_query("text_columns"))]


def read_remaining_texts(connection: sqlite3.Connection) -> Iterator[str]:
    """Yield everything that people said or gave, and that is not marked to be forgotten."""
    kept = connection.execute(get_query("setting"), (PROFILE_KEY,)).fetchone()
    yield read_profile_name(kept[0] if kept else None)
    for text, captions in connection.execute(get_query("remaining_texts")):
        yield decode(text)
        yield from read_captions(captions)
    for (text,) in connection.execute(get_query("remaining_names")):
        yield decode(text)


def read_captions(cell: bytes | str) -> list[str]:
    """Return the captions in a cell. A damaged cell counts as one caption."""
    text = decode(cell)
    with suppress(ValueError):
        captions = json.loads(text)
        if isinstance(captions, list):
            return [caption for caption in captions if isinstance(caption, str)]
    return [text]


def decode(cell: object) -> str:
    """Return the text of a cell that was read as bytes. Damaged bytes become U+FFFD."""
    if isinstance(cell, bytes):
        return cell.decode("utf-8", "replace")
    return "" if cell is None else str(cell)


def _is_damaged(cell: object) -> bool:
    try:
        return isinstance(cell, bytes) and cell.decode() is None
    except UnicodeDecodeError:
        return True


def _find_hits(rows: Iterable[tuple[object, ...]], quotes: Quotes) -> Iterator[tuple[object, set[Span]]]:
    for key, *cells in rows:
        spans = {span for cell in cells if cell is not None for span in quotes.find_in(decode(cell))}
        if spans:
            yield key, spans
