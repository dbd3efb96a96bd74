"""A second engine, which shares nothing with SQLite but the index, passes the core of the contract."""

import pytest
from toy_engine import ToyStore

from recollect.domain.changes import Changeset
from recollect.domain.segments import Stream
from recollect.errors import BankExists, MissingCapability
from recollect.testing.store_contract import CoreContract
from recollect.testing.store_segments import SegmentsContract
from recollect.testing.store_triples import TriplesContract


class ToyStores:
    def __init__(self):
        self._open = {}

    async def names(self):
        return tuple(sorted(self._open))

    async def open(self, name, *, embedder, dimension, create=True):
        return self._open.setdefault(name, ToyStore(name, embedder, dimension))

    async def create(self, name, *, embedder, dimension, fill):
        if name in self._open:
            raise BankExists(name)
        staged = ToyStore(name, embedder, dimension)
        await fill(staged)
        if self._open.setdefault(name, staged) is not staged:
            raise BankExists(name)
        return staged

    async def drop(self, name):
        del self._open[name]

    async def banks_with_jobs(self, *, until, kinds=(), banks=None):
        return tuple(self._open)

    async def close(self):
        pass


class TestToy(CoreContract):
    @pytest.fixture
    def stores(self):
        return ToyStores()


class TestToyWithoutSegments(SegmentsContract, TriplesContract):
    """What the toy does not declare is skipped, and the reason says so."""

    @pytest.fixture
    def stores(self):
        return ToyStores()

    @pytest.fixture
    def store(self):
        return ToyStore("bank", "contract-16", 16)


async def test_the_toy_refuses_what_it_cannot_keep():
    with pytest.raises(MissingCapability, match="segments"):
        await ToyStore("bank", "contract-16", 16).commit(Changeset(stream=Stream(length=2, overlap=1)))
