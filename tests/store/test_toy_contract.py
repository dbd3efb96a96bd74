"""A second engine, which shares nothing with SQLite but the index, passes the core of the contract."""

import pytest
from toy_engine import ToyStore, ToyStores

from recollect.domain.changes import Changeset
from recollect.domain.segments import Stream
from recollect.errors import MissingCapability
from recollect.testing.store_contract import CoreContract
from recollect.testing.store_segments import SegmentsContract
from recollect.testing.store_triples import TriplesContract


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
