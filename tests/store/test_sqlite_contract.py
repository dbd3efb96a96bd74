"""SQLite passes the stores' contract: in a folder, in memory, and with every search through the graph."""

import pytest

from recollect.store.sqlite.folder import SqliteFolder
from recollect.testing.store_contract import StoreContract


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
    exact = False

    @pytest.fixture
    async def stores(self, tmp_path):
        folder = SqliteFolder(tmp_path / "banks", graph_from=1)
        yield folder
        await folder.close()
