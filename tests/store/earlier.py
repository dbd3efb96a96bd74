"""Banks as earlier versions of recollect left them."""

import sqlite3
from contextlib import closing
from unittest.mock import patch

from recollect.store.sqlite import schema
from recollect.store.sqlite.named_queries import load_migrations


def make_earlier_bank(file, migrations, *statements):
    """Create a bank's file with the first migrations only, and run statements in it. Each may have parameters."""
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        with patch.object(schema, "load_migrations", lambda: load_migrations()[:migrations]):
            schema.migrate(connection, file)
        for statement in statements:
            connection.execute(*((statement,) if isinstance(statement, str) else statement))
