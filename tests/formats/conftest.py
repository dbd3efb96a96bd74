import io
from datetime import UTC, datetime

import pytest

from recollect.formats import read_messages as read_lines

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)


@pytest.fixture(scope="session")
def read():
    """Everything in a text, read with UTC for naive times; ``zone=None`` refuses them."""

    def read(text, **options):
        options = {"zone": UTC, "now": NOW, **options}
        return list(read_lines(io.StringIO(text, newline="\n"), **options))

    return read
