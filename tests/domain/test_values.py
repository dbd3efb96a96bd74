"""Small values: messages, usages, recalls, dispositions."""

from dataclasses import FrozenInstanceError, fields
from datetime import UTC, datetime, timedelta

import pytest

from recollect.domain.banks import Disposition
from recollect.domain.items import Item, ItemKind, Occurrence
from recollect.domain.links import LinkKind
from recollect.domain.messages import Message, Role
from recollect.domain.recalls import ArmReport, ArmStatus, RecallReceipt
from recollect.domain.signals import SIGNAL_NAMES, Signals, Weights
from recollect.domain.time import Interval, Precision
from recollect.domain.usage import Usage
from recollect.errors import InvalidInput, NaiveDatetime

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


def test_a_message_of_text_alone_is_the_users():
    message = Message(text="hello")
    assert (message.speaker, message.role, message.at, message.id, message.captions) == (
        "user",
        Role.USER,
        None,
        None,
        (),
    )


def test_a_message_never_changes():
    with pytest.raises(FrozenInstanceError):
        Message(text="hello").text = "goodbye"


def test_a_naive_time_is_refused_and_told_how_to_be_mended():
    with pytest.raises(NaiveDatetime, match=r"Message\.at.*timezone\.utc"):
        Message(text="x", at=NOON.replace(tzinfo=None))


@pytest.mark.parametrize("where", [{"text": "a\ud800"}, {"speaker": "\udfff"}, {"captions": ("fine", "b\ud83d")}])
def test_lone_surrogates_are_refused_where_they_stand(where):
    (name,) = where
    with pytest.raises(InvalidInput, match=rf"Message\.{name}.*surrogate"):
        Message(**{"text": "x", **where})


@pytest.mark.parametrize("text", ["", "\0", "🐕", "e\u0301", "\ufffe", "x" * 100_000])
def test_any_other_text_is_fine(text):
    assert Message(text=text, speaker=text, captions=(text,)).text == text


def test_usages_add_up():
    one = Usage(calls=1, tokens_in=20, tokens_out=300, tokens_cached=4000, seconds=0.5)
    other = Usage(calls=2, tokens_in=1, tokens_out=1, tokens_cached=1, seconds=0.25)
    assert one + other == Usage(calls=3, tokens_in=21, tokens_out=301, tokens_cached=4001, seconds=0.75)
    assert sum([one, one], Usage()) == one + one
    assert one + Usage() == one


def test_an_item_happened_when_its_first_time_says():
    day = Interval(start=NOON, end=NOON + timedelta(1), precision=Precision.DAY)
    year = Interval(start=NOON, end=None, precision=Precision.YEAR)
    plain = {"id": "i", "kind": ItemKind.TURN, "text": "", "session": "s", "speaker": "a", "sources": ("m",)}
    times = (Occurrence(words="then", interval=day), Occurrence(words="since", interval=year))
    assert Item(**plain, mentioned=NOON, recorded=NOON, occurrences=times).occurred == day
    assert Item(**plain, mentioned=NOON, recorded=NOON).occurred is None


@pytest.mark.parametrize(
    ("statuses", "complete"),
    [("ok idle ok", True), ("", True), ("ok failed", False), ("idle timeout", False), ("idle idle", True)],
)
def test_a_recall_is_complete_when_nothing_broke(statuses, complete):
    arms = [ArmReport(arm="x", status=ArmStatus(status), seconds=0, candidates=0) for status in statuses.split()]
    bare = {"fusion": "rrf", "reranker": None, "during": None, "seconds": 0.0, "tokens": 0}
    receipt = RecallReceipt(arms=tuple(arms), candidates=0, cut_by_limit=0, cut_by_budget=0, **bare)
    assert receipt.complete is complete


@pytest.mark.parametrize(
    "bad", [{"skepticism": 0}, {"literalism": 6}, {"empathy": -1}, {"bias_strength": 1.01}, {"bias_strength": -0.1}]
)
def test_a_disposition_keeps_its_bounds(bad):
    with pytest.raises(ValueError, match="must be"):
        Disposition(**bad)


def test_every_signal_has_a_weight_and_the_other_way_round():
    assert SIGNAL_NAMES == tuple(field.name for field in fields(Signals)) == tuple(f.name for f in fields(Weights))


def test_the_designs_words_are_there():
    assert {kind.value for kind in ItemKind} == set(
        "turn segment summary fact opinion observation gist triple episode semantic".split()
    )
    assert {kind.value for kind in LinkKind} == set("temporal semantic entity causal relation context synonymy".split())
