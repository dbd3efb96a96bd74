"""The ledger of a bank, with one row for every model call."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import datetime

from recollect.domain.time import to_micros
from recollect.domain.usage import Cost, LedgerEntry, Usage
from recollect.store.sqlite.named_queries import get_query
from recollect.store.sqlite.rows import Row


def add_entries(connection: sqlite3.Connection, entries: Sequence[LedgerEntry]) -> None:
    connection.executemany(get_query("add_to_ledger"), [_make_row(entry) for entry in entries])


def sum_spent(connection: sqlite3.Connection, role: str | None, since: datetime | None) -> Usage:
    bounds = {"role": role, "since": None if since is None else to_micros(since)}
    return _read_usage(connection.execute(get_query("spent"), bounds).fetchone())


def list_costs(connection: sqlite3.Connection) -> list[Cost]:
    return [
        Cost(operation=operation, role=role, model=model, failed=failed, usage=_read_usage(sums))
        for operation, role, model, failed, *sums in connection.execute(get_query("costs"))
    ]


def _read_usage(sums: Row) -> Usage:
    calls, tokens_in, tokens_out, tokens_cached, seconds = sums
    return Usage(calls=calls, tokens_in=tokens_in, tokens_out=tokens_out, tokens_cached=tokens_cached, seconds=seconds)


def _make_row(entry: LedgerEntry) -> Row:
    usage = entry.usage
    return (
        to_micros(entry.at),
        entry.operation,
        entry.role,
        entry.model,
        int(entry.failed),
        usage.calls,
        usage.tokens_in,
        usage.tokens_out,
        usage.tokens_cached,
        usage.seconds,
    )
