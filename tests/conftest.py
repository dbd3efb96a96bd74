"""For the tests of banks: a look into their files."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

_NOTHING_HALF = {
    "an item without its vector and terms": "SELECT id FROM item WHERE seq NOT IN (SELECT item FROM indexing)",
    "an item without a source": """
        SELECT id FROM item WHERE seq NOT IN (SELECT item FROM source) AND NOT id GLOB 'given:*'""",
    "a message without a turn": """
        SELECT id FROM message WHERE seq NOT IN
        (SELECT s.message FROM source s JOIN item i ON i.seq = s.item WHERE i.kind = 'turn')""",
    "a session whose positions have gaps or repeats": """
        SELECT session FROM message GROUP BY session
        HAVING count(DISTINCT position) != count(*) OR max(position) + 1 != count(*) OR min(position) != 0""",
    "a session whose turns share a place": """
        SELECT session FROM item WHERE kind = 'turn' GROUP BY session HAVING count(DISTINCT ord) != count(*)""",
    "a turn that does not stand where its first message does": """
        SELECT i.id FROM item i JOIN source s ON s.item = i.seq AND s.n = 0 JOIN message m ON m.seq = s.message
        WHERE i.kind = 'turn' AND i.ord / 1000000 != m.position""",
    "sources that have gaps": "SELECT item FROM source GROUP BY item HAVING max(n) + 1 != count(*)",
    "an entity without a mention": "SELECT id FROM entity WHERE id NOT IN (SELECT entity FROM mention)",
    "a row that points nowhere": "SELECT * FROM pragma_foreign_key_check",
    "a damaged file": "SELECT * FROM pragma_integrity_check WHERE integrity_check != 'ok'",
    "words of no item": "SELECT id FROM item_fts_docsize WHERE id NOT IN (SELECT seq FROM item)",
    "an item without its words": "SELECT seq FROM item WHERE seq NOT IN (SELECT id FROM item_fts_docsize)",
}


@pytest.fixture
def assert_sound() -> Callable[..., None]:
    """Looks whether a bank's file is whole; ``gaps`` are fine after something was forgotten."""

    def check(file: Path, *, gaps: bool = False) -> None:
        with closing(sqlite3.connect(file, isolation_level=None)) as connection:
            for problem, query in _NOTHING_HALF.items():
                if not (gaps and "gaps or repeats" in problem):
                    assert connection.execute(query).fetchall() == [], problem
            connection.execute("INSERT INTO item_fts (item_fts, rank) VALUES ('integrity-check', 1)")

    return check
