"""A recording in a folder of its own, and an endpoint to record from."""

import pytest
from replay_fakes import Elsewhere, served

from recollect_lab.recordings import Recording


@pytest.fixture
def recording(tmp_path):
    """Keeps these replies, on disk."""

    def made(*entries):
        kept = Recording.open(tmp_path / "kept", create=True)
        for each in entries:
            kept.add(each)
        return kept

    return made


@pytest.fixture
def elsewhere():
    with served(Elsewhere()) as endpoint:
        yield endpoint
