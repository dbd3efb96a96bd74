"""A bank in memory for each test."""

import pytest
from hands import opened


@pytest.fixture
async def store():
    banks, bank = await opened()
    yield bank
    await banks.close()
