"""SQLite passes the stores' contract: in a folder, in memory, and with every search through the graph."""

import pytest

from recollect.store.sqlite.folder import SqliteFolder
from recollect.testing.store_contract import StoreContract
from recollect.testing.store_tolerance import Tolerance


class TestSqliteFolder(StoreContract):
    @pytest.fixture
    async def stores(self, tmp_path):
        folder = SqliteFolder(tmp_path / "banks")
        yield folder
        await folder.close()


class TestSqliteInMemory(StoreContract):
    @pytest.fixture
    async def stores(self):
        folder = SqliteFolder(":memory:")
        yield folder
        await folder.close()


class TestSqliteGraph(StoreContract):
    tolerance = Tolerance(semantic=0.7)

    @pytest.fixture
    async def stores(self, tmp_path):
        folder = SqliteFolder(tmp_path / "banks", graph_from=1)
        yield folder
        await folder.close()
