import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

import pytest

from recollect.errors import NaiveDatetime
from recollect_lab.datasets.dataset import Dataset
from recollect_lab.reports.provenance import find_checkout, gather_provenance

AT = datetime(2024, 5, 1, tzinfo=UTC)
DATASET = Dataset(name="tiny", conversations=(), place="message", checksum="ab12")


class Fusion(StrEnum):
    RRF = "rrf"


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    fusion: Fusion = Fusion.RRF
    max_tokens: int = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    arms: tuple[str, ...] = ("bm25", "dense")
    folder: Path = Path("banks")
    inner: Inner = Inner()
    api_key: str = "sk-very-secret"
    rerank_token: str | None = None


def git(folder, *arguments):
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.org")
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)


@pytest.fixture
def checkout(tmp_path):
    git(tmp_path, "init", "-q")
    (tmp_path / "a").write_text("a")
    git(tmp_path, "add", "a")
    git(tmp_path, "commit", "-q", "-m", "a")
    return tmp_path


def test_what_stands_beside_a_figure():
    found = gather_provenance(DATASET, settings=Settings(), at=AT).to_json()
    assert found["dataset"] == {"name": "tiny", "sha256": "ab12"}
    assert found["at"] == "2024-05-01T00:00:00+00:00"
    assert set(found["packages"]) == {"numpy", "wordllama", "usearch", "dateparser"}
    assert all(found[name] for name in ("recollect", "python", "platform", "cpus"))


def test_settings_become_plain_and_secrets_are_masked():
    found = gather_provenance(DATASET, settings=Settings(), at=AT).to_json()
    assert found["settings"] == {
        "arms": ["bm25", "dense"],
        "folder": "banks",
        "inner": {"fusion": "rrf", "max_tokens": 1024},
        "api_key": "***",
        "rerank_token": None,
    }


def test_a_naive_time_is_refused():
    with pytest.raises(NaiveDatetime):
        gather_provenance(DATASET, settings=Settings(), at=AT.replace(tzinfo=None))


def test_a_checkout_is_clean_or_dirty(checkout):
    clean = find_checkout(checkout)
    (checkout / "b").write_text("b")
    dirty = find_checkout(checkout)
    assert clean is not None
    assert dirty is not None
    assert (len(clean.commit), clean.dirty, dirty.dirty) == (40, False, True)
    assert clean.commit == dirty.commit


def test_an_installation_inside_a_checkout_is_none_of_its_commits(checkout):
    installed = checkout / "site-packages"
    installed.mkdir()
    assert find_checkout(installed) is None


def test_without_a_repository_or_a_commit_there_is_none(tmp_path):
    assert find_checkout(tmp_path) is None
    git(tmp_path, "init", "-q")
    assert find_checkout(tmp_path) is None
