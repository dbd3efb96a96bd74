"""The real adapter, over real HTTP, against a replay: what it asks carries its place, and an old reply can stand in."""

from dataclasses import dataclass

import pytest
from replay_fakes import completion, entry

from recollect.app import build_rehearsal_model
from recollect.errors import ModelUnavailable
from recollect.models.language import ModelRole, Prompt
from recollect_lab.recordings import Recording, ReplayServer


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    name: str


def prompt(text, subject="2023-07-11"):
    return Prompt(
        role=ModelRole.EXTRACT, operation="hindsight.extract", subject=subject, system="Name the dog.", text=text
    )


async def named(server, asked):
    return (await build_rehearsal_model(server.base_url).generate(asked, Named)).value.name


async def test_recorded_replayed_and_stood_in(tmp_path, recording, elsewhere):
    elsewhere.answer = lambda _: (200, completion('{"name": "Toby"}'), {})
    with ReplayServer(recording(), upstream=elsewhere.base_url) as server:
        assert await named(server, prompt("I adopted Toby.")) == "Toby"
    (kept,) = Recording.open(tmp_path / "kept").entries
    assert kept.asked.purpose == ("extract", "hindsight.extract", "2023-07-11")
    assert "metadata" not in elsewhere.asked[0]
    with ReplayServer(Recording.open(tmp_path / "kept")) as server:
        assert await named(server, prompt("I adopted Toby.")) == "Toby"
        assert server.report.is_fresh
        assert await named(server, prompt("Ada: I adopted Toby.")) == "Toby"
        (stale,) = server.report.stale
    assert stale.entry == kept


async def test_what_is_missing_fails_at_once(recording):
    with ReplayServer(recording(entry())) as server:
        with pytest.raises(ModelUnavailable, match="no reply is recorded"):
            await named(server, prompt("I adopted Toby.", subject="another day"))
        assert [asked.subject for asked in server.report.missing] == ["another day"]
