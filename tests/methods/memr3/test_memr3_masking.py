"""Masked retrieval inside the real store: no snippet comes twice, and k come as long as k are unseen."""

import random
from datetime import timedelta

import pytest
from memr3_bank import AT, EMBEDDER, concluded, found, parts, query, reason, retrieve

from recollect import Message
from recollect.domain.items import ItemKind
from recollect.domain.queries import Scope
from recollect.methods.memr3.trace import DecisionReason, get_loop
from recollect.recall.pipeline import TemprRetriever
from recollect.retain.encode import TurnEncoder
from recollect.store.sqlite.folder import SqliteFolder

BANKS = 240
PARTS = 2
WORDS = "sun lake paint rise grey wave boat sand gull wind pier tide rope sail fish moon star rain".split()


def sentence(luck):
    return " ".join(luck.choices(WORDS, k=luck.randint(1, 6))).capitalize() + "."


def seeking(luck):
    """A model that never has enough, and looks for something else each time."""
    known = found("It is not enough.", 1)

    def reply(prompt, answer_type):
        return retrieve(sentence(luck), known) if prompt.operation == "memr3.generate" else concluded("x", 1)

    return reply


async def filled(folder, name, luck):
    """A bank of messages by two people in one or two sessions, and the ids of its turns."""
    store = await folder.open(name, embedder=EMBEDDER.name, dimension=EMBEDDER.dimension)
    encoder, at = TurnEncoder(EMBEDDER), AT
    for session in ("s1", "s2")[: luck.choice((1, 1, 1, 2))]:
        said = []
        for n in range(luck.randint(1, 8)):
            at += timedelta(minutes=luck.randint(1, 500))
            said.append(Message(id=f"{session}-{n}", text=sentence(luck), speaker=luck.choice(("Ada", "Bob")), at=at))
        await store.commit(await encoder.encode(said, session=session, reader=store, now=at))
    return store, await store.items_of([ItemKind.TURN])


def scope_of(luck, turns):
    """What a caller may leave out beforehand: items or messages, by id."""
    if luck.random() < 0.6:
        return Scope(), turns
    hidden = {luck.choice((turn.id, luck.choice(turn.sources))) for turn in turns if luck.random() < 0.2}
    left = [turn for turn in turns if not hidden & {turn.id, *turn.sources}]
    return Scope(exclude=frozenset(hidden)), left


@pytest.mark.parametrize("part", range(PARTS))
async def test_no_snippet_comes_twice_and_k_come_while_k_are_unseen(part):
    luck, retrievals, dry, masked = random.Random(part), 0, 0, 0
    retriever = TemprRetriever(EMBEDDER)
    folder = SqliteFolder(":memory:")
    for at in range(BANKS // PARTS):
        store, turns = await filled(folder, f"bank-{at}", luck)
        scope, unseen = scope_of(luck, turns)
        k = luck.randint(1, 6)
        asked = query(sentence(luck), scope=scope, max_tokens=None)
        built = parts(retriever, seeking(luck))
        answer = await reason(built, asked, reader=store, n_max=luck.randint(1, 5), n_chk=k, settles=False)
        left = {turn.id for turn in unseen}
        for came in ([snippet.id for snippet in one.snippets] for one in get_loop(answer).rounds if one.query):
            assert len(came) == min(k, len(left)), f"bank {at}: {len(came)} of {k} came, {len(left)} were unseen"
            assert set(came) <= left, f"bank {at}: {set(came) - left} had been seen or left out"
            left -= set(came)
            retrievals += 1
            dry += not came
        assert get_loop(answer).end_reason in (DecisionReason.BUDGET, None)
        masked += bool(scope.exclude)
    await folder.close()
    assert (retrievals > BANKS // PARTS * 2, dry > 10, masked > 20) == (True, True, True), (retrievals, dry, masked)
