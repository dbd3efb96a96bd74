"""What a reply may not break, and the items it becomes."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from weaving import NOON, fact, person

from recollect.domain.entities import EntityKind
from recollect.domain.items import ItemKind, Network, Occurrence
from recollect.domain.links import Link, LinkKind
from recollect.domain.messages import Role, StoredMessage
from recollect.domain.time import Interval, Precision, instant_interval
from recollect.methods.hindsight.facts import (
    check_facts,
    join_dimensions,
    list_leftover_ids,
    make_causal_links,
    make_drafts,
    make_fact_id,
    select_new_drafts,
)
from recollect.methods.hindsight.opinions import make_opinion_id
from recollect.methods.hindsight.replies import (
    MOST_FACTS,
    CausalRelation,
    ExtractedFacts,
    ExtractedObservation,
    NamedEntity,
    Observations,
)
from recollect.retain.chunks import Chunk
from recollect.text.time_expressions.iso import parse_iso_date, parse_iso_span

BERLIN = timezone(timedelta(hours=2))


def message(n, text="hello", *, speaker="Ada", role=Role.USER, session="s", **more):
    at = datetime(2023, 7, 9, 10, n, tzinfo=BERLIN)
    stored = StoredMessage(
        id=f"m{n}",
        session=session,
        position=n,
        speaker=speaker,
        role=role,
        text=text,
        captions=(),
        at=at,
        recorded=NOON + timedelta(minutes=n),
    )
    return replace(stored, **more)


def chunk(*, context=1, messages=3, agent="Nobody", named=True, assistant=(), **more):
    line = [
        message(n, **({"speaker": "Bot", "role": Role.ASSISTANT} if n + 1 in assistant else {}), **more)
        for n in range(context + messages)
    ]
    return Chunk(
        context=tuple(line[:context]), messages=tuple(line[context:]), tokens=30, agent=agent, names_agent=named
    )


def drafts(reply, of, **more):
    return make_drafts(reply, of, **{"confidence": 0.6, "now": NOON, **more})


def test_facts_are_named_after_the_messages_of_their_chunk():
    one = chunk(context=2)
    assert make_fact_id(one, 0) == make_fact_id(chunk(context=2, text="other words"), 0) != make_fact_id(one, 1)
    assert make_fact_id(one, 0) == make_fact_id(replace(one, context=()), 0) != make_fact_id(chunk(context=1), 0)


# What a reply may not break

DAY = Interval(
    start=datetime(2023, 7, 9, tzinfo=BERLIN), end=datetime(2023, 7, 10, tzinfo=BERLIN), precision=Precision.DAY
)


@pytest.mark.parametrize(
    ("text", "start", "end", "precision"),
    [
        ("2023", "2023-01-01", "2024-01-01", Precision.YEAR),
        ("2023-07", "2023-07-01", "2023-08-01", Precision.MONTH),
        (" 2023-12 ", "2023-12-01", "2024-01-01", Precision.MONTH),
        ("2024-02-29", "2024-02-29", "2024-03-01", Precision.DAY),
    ],
)
def test_a_partial_date_is_as_long_as_it_is_known(text, start, end, precision):
    assert parse_iso_date(text, BERLIN) == Interval(
        start=datetime.fromisoformat(start).replace(tzinfo=BERLIN),
        end=datetime.fromisoformat(end).replace(tzinfo=BERLIN),
        precision=precision,
    )


def test_a_moment_is_in_the_speakers_zone_unless_it_names_its_own():
    moment = datetime(2023, 7, 9, 18, 30, tzinfo=BERLIN)
    assert (
        parse_iso_date("2023-07-09T18:30", BERLIN)
        == parse_iso_date("2023-07-09 18:30:00", BERLIN)
        == instant_interval(moment)
    )
    assert parse_iso_date("2023-07-09T16:30Z", BERLIN) == instant_interval(moment)
    assert parse_iso_date("2023-07-09T20:30+04:00", BERLIN) == instant_interval(moment)


@pytest.mark.parametrize(
    "text",
    [
        *("last summer", "7 May 2023", "2023-7", "23", "2023-02-30", "2023-13", "2023-07-09T25:00", "2023-07-09T", "0"),
        *("0000", "0001-01-01T00:00", "9999-12", "2023-07-09T18:30+99:00", "２０２３x", "2023-07-09\n2023"),
    ],
)
def test_what_is_no_date_is_told(text):
    with pytest.raises(ValueError, match=r"no date|there is no"):
        parse_iso_date(text, UTC)


def test_a_span_runs_from_the_first_date_to_the_end_of_the_last():
    assert parse_iso_span("2023-07-09", None, BERLIN) == parse_iso_span("2023-07-09", "2023-07-09", BERLIN) == DAY
    assert parse_iso_span(None, "", BERLIN) is None
    assert parse_iso_span("2023-05", "2023-07-09", BERLIN) == Interval(
        start=datetime(2023, 5, 1, tzinfo=BERLIN), end=DAY.end, precision=Precision.RANGE
    )
    assert parse_iso_span(None, "2023-07-09", BERLIN) == Interval(start=None, end=DAY.end, precision=Precision.RANGE)
    assert parse_iso_span("2023", "2023-07", UTC).end == datetime(2023, 8, 1, tzinfo=UTC)


def relation(target, kind="causes", **more):
    return CausalRelation(target=target, relation=kind, **more)


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: fact(""), "empty"),
        (lambda: fact(" … "), "empty"),
        (lambda: fact("Ada left", 0), "no message 0"),
        (lambda: fact("Ada left", -1), "no message -1"),
        (lambda: replace(fact("Ada left"), messages=()), "names no message"),
        (lambda: fact("Ada left", start="soon"), "'Ada left'.*no date"),
        (lambda: fact("Ada left", end="2023-02-30"), "there is no"),
        (lambda: fact("Ada left", start="2023-07-09", end="2023-07-08"), "ends .* before it starts"),
        (lambda: fact("Ada left", start="2024", end="2023-12-31"), "ends .* before it starts"),
        (lambda: NamedEntity(name=" ", kind="person"), "no name"),
        (lambda: relation(1, strength=1.1), "strength 1.1"),
        (lambda: relation(1, strength=float("nan")), "strength nan"),
        (lambda: ExtractedFacts(facts=(fact("Ada left", relations=(relation(2),)),)), "points to fact 2; there are 1"),
        (lambda: ExtractedFacts(facts=(fact("Ada left", relations=(relation(0),)),)), "points to fact 0"),
        (lambda: ExtractedFacts(facts=(fact("Ada left", relations=(relation(1),)),)), "fact 1 points to itself"),
        (lambda: ExtractedFacts(facts=(fact("Ada left"),) * (MOST_FACTS + 1)), "41 facts"),
        (lambda: ExtractedObservation(text="--", facts=(1,)), "empty"),
        (lambda: ExtractedObservation(text="Ada is here", facts=()), "names no fact"),
        (lambda: ExtractedObservation(text="Ada is here", facts=(0,)), "no fact 0"),
        (lambda: Observations(observations=()), "0 observations"),
        (lambda: Observations(observations=(ExtractedObservation(text="Ada", facts=(1,)),) * 2), "given twice"),
        (
            lambda: Observations(
                observations=tuple(ExtractedObservation(text=f"Ada {n}", facts=(1,)) for n in range(8))
            ),
            "8 observations",
        ),
    ],
)
def test_invariants_of_replies(make, problem):
    with pytest.raises(ValueError, match=problem):
        make()


def test_a_reply_may_hold_nothing():
    assert drafts(ExtractedFacts(facts=()), chunk()) == []


@pytest.mark.parametrize(
    ("told", "of", "problem"),
    [
        (fact("x1", 5), {}, "fact 1 names message 5; they are numbered 1 to 4"),
        (fact("x1", 1), {}, "context alone"),
        (fact("I went", 2, type="experience"), {}, "of type experience, but no message is the agent's"),
        (fact("I think so", 2, type="opinion"), {}, "of type opinion, but no message is the agent's"),
        (fact("I think so", 2, type="opinion"), {"assistant": (3,)}, "none of its messages is the agent's"),
        (fact("Tea is good", 3, type="opinion"), {"assistant": (3,)}, "first person"),
        (fact("I think so", 2, type="opinion"), {"agent": "Ada", "named": False}, "no message is the agent's"),
    ],
)
def test_a_reply_is_held_against_the_messages(told, of, problem):
    with pytest.raises(ValueError, match=problem):
        check_facts(ExtractedFacts(facts=(told,)), chunk(**of))


@pytest.mark.parametrize(
    ("told", "of"),
    [
        (fact("x1", 4, 1), {}),
        (fact("I went", 2, type="experience"), {"assistant": (1,)}),
        (fact("I think so", 2, 3, type="opinion"), {"assistant": (3,)}),
        (fact("I think so", 2, type="opinion"), {"agent": "ADA"}),
    ],
)
def test_what_passes(told, of):
    check_facts(ExtractedFacts(facts=(told,)), chunk(**of))


# Items


@pytest.mark.parametrize(
    ("dimensions", "text"),
    [
        ({"what": "Ada adopted Toby"}, "Ada adopted Toby."),
        ({"what": " Ada adopted Toby! "}, "Ada adopted Toby!"),
        ({"what": 'They chose "Beach Beats."'}, 'They chose "Beach Beats."'),
        (
            {
                "what": "Ada adopted Toby.",
                "when": "Sunday, 9 July 2023",
                "where": "the city shelter, Leeds",
                "who": "Toby is a puppy",
                "why": "she had long wanted a dog.",
            },
            "Ada adopted Toby (Sunday, 9 July 2023; the city shelter, Leeds). Toby is a puppy. "
            "She had long wanted a dog.",
        ),
        (
            {
                "what": "On Sunday, 9 July 2023, Ada adopted Toby at the shelter.",
                "when": "Sunday 9 July 2023.",
                "where": "at the shelter",
                "who": "Ada",
                "why": "",
            },
            "On Sunday, 9 July 2023, Ada adopted Toby at the shelter.",
        ),
        (
            {"what": "Ada met Toby's father", "who": "Toby is Ada's father"},
            "Ada met Toby's father. Toby is Ada's father.",
        ),
        ({"what": "Ada left", "when": "--", "why": "of the"}, "Ada left."),
    ],
)
def test_dimensions_read_as_one_text(dimensions, text):
    assert join_dimensions(replace(fact("x"), **dimensions)) == text


def test_a_fact_becomes_an_item():
    told = fact(
        "Ada adopted Toby",
        *(4, 2, 4),
        when="Sunday, 9 July 2023",
        start="2023-07-09",
        entities=(person(" Toby "), NamedEntity(name="Leeds", kind="location")),
    )
    of = chunk()
    (draft,) = drafts(ExtractedFacts(facts=(told,)), of)
    item = draft.item
    assert (item.id, item.kind, item.network) == (make_fact_id(of, 0), ItemKind.FACT, Network.WORLD)
    assert (item.text, draft.embedded) == ("Ada adopted Toby (Sunday, 9 July 2023).",) * 2
    assert (item.session, item.speaker, item.sources) == ("s", "Ada", ("m3", "m1"))
    assert item.occurrences == (Occurrence(words="Sunday, 9 July 2023", interval=DAY),)
    assert (item.mentioned, item.recorded, item.confidence) == (of.messages[2].at, NOON, None)
    assert draft.names == (("Toby", EntityKind.PERSON), ("Leeds", EntityKind.LOCATION))


def test_who_is_repeated_comes_after_who_is_cited_and_dates_nothing():
    of = chunk(messages=3)
    code = replace(of.all_messages[3], text="My code is 99812-77")
    of = replace(of, messages=(*of.messages[:2], code))
    (draft,) = drafts(ExtractedFacts(facts=(fact("Ada's code is 99812", 2),)), of)
    assert (draft.item.sources, draft.item.mentioned) == (("m1", "m3"), of.messages[0].at)


def test_a_time_that_no_word_gives_is_put_in_words():
    (draft,) = drafts(ExtractedFacts(facts=(fact("Ada left", 2, start="2023-07"),)), chunk())
    assert draft.item.occurrences[0].words == "July 2023"
    assert (draft.item.text, draft.embedded) == ("Ada left.", "Ada left. (July 2023)")


def test_the_agents_doings_are_experience():
    (draft,) = drafts(ExtractedFacts(facts=(fact("I booked it", 2, type="experience"),)), chunk(assistant=(2,)))
    assert (draft.item.kind, draft.item.network) == (ItemKind.FACT, Network.EXPERIENCE)
    assert draft.item.speaker == "Bot"


def test_facts_stand_in_the_order_of_their_messages():
    reply = ExtractedFacts(facts=(fact("x1", 4), fact("x2", 3, 2), fact("x3", 2)))
    orders = [draft.item.order for draft in drafts(reply, chunk())]
    assert sorted(range(3), key=lambda n: orders[n]) == [1, 2, 0]
    assert len(set(orders)) == 3


def test_an_opinion_becomes_the_first_step_of_one():
    told = fact("I think tea is better than coffee", 3, why="It keeps me calm", type="opinion")
    (draft,) = drafts(ExtractedFacts(facts=(told,)), chunk(agent="Bo", assistant=(3,)), confidence=0.7)
    item = draft.item
    assert item.kind is ItemKind.OPINION
    assert (item.network, item.confidence, item.speaker) == (None, 0.7, "Bo")
    assert item.text == "I think tea is better than coffee. It keeps me calm."
    assert (item.id, item.session) == (f"{make_opinion_id(told.what)}:0:formed", make_opinion_id(told.what))


def test_what_is_kept_already():
    facts = ExtractedFacts(
        facts=(fact("x1", 2), *(fact("I think tea is good", 3, type="opinion"),) * 2, fact("x2", 2)),
    )
    made = drafts(facts, chunk(assistant=(3,)))
    assert [draft.item.kind for draft in select_new_drafts(made, [])] == [
        ItemKind.FACT,
        ItemKind.OPINION,
        ItemKind.FACT,
    ]
    earlier = [replace(draft.item, recorded=NOON - timedelta(days=1), text="old") for draft in made[:2]]
    again = select_new_drafts(made, earlier)
    assert [(draft.item.text, draft.item.recorded) for draft in again] == [
        ("x1.", NOON - timedelta(days=1)),
        ("x2.", NOON),
    ]


def test_the_opposite_of_what_is_held_is_kept_beside_it():
    of = chunk(assistant=(2, 3))
    held = drafts(ExtractedFacts(facts=(fact("I think cats are better than dogs", 2, type="opinion"),)), of)
    told = ("I think dogs are better than cats", "I think cats are not better than dogs", "I believe cats are better")
    made = drafts(ExtractedFacts(facts=tuple(fact(one, 3, type="opinion") for one in told)), of)
    assert select_new_drafts(made, [draft.item for draft in held]) == made


def test_causal_links_weigh_one_and_say_how():
    reply = ExtractedFacts(
        facts=(
            fact("x1", 2, relations=(relation(2, "caused_by", strength=0.4), relation(2, "caused_by"))),
            fact("x2", 2, relations=(relation(1, "enables"), relation(3, "prevents"))),
            fact("x3", 2),
        )
    )
    made = drafts(reply, chunk())
    ids = [draft.item.id for draft in made]
    links = make_causal_links(reply, made)
    assert links == [
        Link(source=ids[a], target=ids[b], kind=LinkKind.CAUSAL, weight=1.0, label=label)
        for a, b, label in ((0, 1, "caused_by"), (1, 0, "enables"), (1, 2, "prevents"))
    ]


def test_one_opinion_told_twice_does_not_cause_itself():
    opinion = fact("I think tea is good", 3, type="opinion")
    reply = ExtractedFacts(facts=(replace(opinion, relations=(relation(2),)), opinion))
    assert make_causal_links(reply, drafts(reply, chunk(assistant=(3,)))) == []


def test_leftovers_are_what_a_longer_reading_left():
    of = chunk()
    made = drafts(ExtractedFacts(facts=(fact("x1", 2), fact("x2", 2))), of)
    assert list_leftover_ids(of, made) == [make_fact_id(of, n) for n in range(2, MOST_FACTS)]
