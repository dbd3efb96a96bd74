"""Resolution: what merges, what must stay apart, equation 2 by hand, undoing, and independence of batching."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from math import exp

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.domain.entities import Entity, EntityKind, Mention
from recollect.errors import NaiveDatetime
from recollect.retain.directory import (
    CANDIDATES,
    MAX_BLOCK_SIZE,
    EntityDirectory,
    Resolution,
    make_entity_id,
    normalize_surface,
)
from recollect.retain.resolve import NameOccurrence, ResolveSettings, plan_undo, resolve_names

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
P, L, X, G = EntityKind.PERSON, EntityKind.LOCATION, EntityKind.OTHER, EntityKind.ORGANIZATION


def found(
    surface: str,
    kind: EntityKind = X,
    *,
    item: str = "item:1",
    at: datetime = NOON,
    together: tuple[str, ...] = (),
) -> NameOccurrence:
    return NameOccurrence(item=item, surface=surface, kind=kind, at=at, other_names=together)


def directory(*mentions: NameOccurrence) -> EntityDirectory:
    made = EntityDirectory()
    made.apply(resolve_names(mentions, made))
    return made


MERGED = [
    ("Woodhaven", "Wood Haven", X, X),
    ("Spider-Man", "Spiderman", X, X),
    ("iPhone 15", "iPhone15", X, X),
    ("Ada Lovelace", "Ada Lovelase", P, P),
    ("Tchaikovsky", "Tchaikowsky", P, X),
    ("Massachusetts", "Massachussetts", L, L),
    ("University of Bristol", "University of Birstol", G, G),
    ("Xenoblade Chronicles", "Xeonoblade Chronicles", X, X),
    ("Elizabeth Warrington", "Elisabeth Warrington", P, P),
    ("Ada Lovelace", "Ada", P, P),
    ("Ada Lovelace", "Lovelace", P, P),
    ("Ada Lovelace", "Dr. Lovelace", P, P),
    ("Ada Lovelace", "A. Lovelace", P, P),
    ("Ada", "Ada Lovelace", P, P),
    ("Amy Ellis Nutt", "Amy Nutt", P, P),
]
APART = [
    ("Iran", "Tigran", L, P),
    ("Iran", "Tigran", X, X),
    ("Room 101", "Room 102", X, X),
    ("Python 2", "Python 3", X, X),
    ("Python", "Python 3", X, X),
    ("Rocky II", "Rocky III", X, X),
    ("Windows 95", "Windows 98", X, X),
    ("Mara", "Marta", P, P),
    ("Sam", "Pam", P, P),
    ("John", "Jon", P, P),
    ("Anna", "Anne", P, P),
    ("Marion", "Marlon", P, P),
    ("Christina", "Christine", P, P),
    ("Australia", "Australian", L, X),
    ("Katharina", "Catharina", P, P),
    ("Slovakia", "Slovenia", L, L),
    ("Northern University", "Southern University", G, G),
    ("North Korea", "South Korea", L, L),
    ("J. Smith", "A. Smith", P, P),
    ("Mr. Smith", "Mrs. Smith", P, P),
    ("Aunt Mary", "Mary", P, P),
    ("New York", "York", L, L),
    ("Harry Potter", "Harry", X, X),
    ("Tim", "Tim Hortons", P, X),
    ("Washington Irving", "Washington", P, L),
    ("Alexandria Ocasio", "Alexandrja Ocasio", P, L),
    ("Team A", "Team B", X, X),
    ("Ada Lovelace", "Ada Byron", P, P),
    ("田中", "田口", P, P),
    ("かき", "がき", X, X),
    ("हिन", "हान", X, X),
    ("LGBT", "LGBTQ", X, X),
    ("Americas", "Americans", L, X),
    ("B00001A001", "B00001B001", X, X),
    ("Qualitative Research Methods", "Quantitative Research Methods", X, X),
]


@pytest.mark.parametrize(("known", "new", "kind", "new_kind"), MERGED)
def test_merges(known: str, new: str, kind: EntityKind, new_kind: EntityKind) -> None:
    told = resolve_names([found(known, kind), found(new, new_kind, item="item:2")], EntityDirectory())
    (merge,) = told.merges
    assert (merge.surface, merge.entity) == (new, make_entity_id(normalize_surface(known)))
    assert [entity.name for entity in told.entities] == [known]
    assert [mention.entity for mention in told.mentions] == [merge.entity] * 2


@pytest.mark.parametrize(("known", "new", "kind", "new_kind"), APART)
def test_stay_apart(known: str, new: str, kind: EntityKind, new_kind: EntityKind) -> None:
    told = resolve_names([found(known, kind), found(new, new_kind)], EntityDirectory())
    assert told.merges == ()
    assert len({mention.entity for mention in told.mentions}) == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Toby", "TOBY"),
        ("Toby", "Toby's"),
        ("Łódź", "Lodz"),
        ("Zoë", "Zoe"),
        ("O'Brien", "O’Brien"),
        ("J. K. Rowling", "JK Rowling"),
        ("J.K. Rowling", "J. K. Rowling"),
        ("The Hobbit", "Hobbit"),
        ("U.S.", "US"),
        ("Jean-Luc", "Jean Luc"),
        ("Ben & Jerry", "Ben and Jerry"),
        ("@ada", "Ada"),
        ("Straße", "STRASSE"),
        ("Toby 🐶", "toby"),
    ],
)
def test_spellings_of_one_name_need_no_merge(one: str, other: str) -> None:
    told = resolve_names([found(one), found(other)], EntityDirectory())
    assert told.merges == ()
    assert len(told.entities) == 1
    assert [mention.surface for mention in told.mentions] == [one, other]


@pytest.mark.parametrize("surface", ["", "  ", "\t"])
def test_blank_surfaces_are_left_out(surface: str) -> None:
    assert resolve_names([found(surface)], EntityDirectory()) == Resolution()


@pytest.mark.parametrize("surface", ["🙂", "\0", "\ud800", "...", "§", "ﷺ"])
def test_odd_surfaces_are_entities(surface: str) -> None:
    (entity,) = resolve_names([found(surface)], EntityDirectory()).entities
    assert entity.name == surface


def test_scores_are_equation_two() -> None:
    """Known: Lovelace met Babbage three days ago. New: her name misspelt, beside Babbage and a stranger."""
    known = directory(
        found("Ada Lovelace", P, together=("Babbage",)),
        found("Babbage", P, together=("Ada Lovelace",)),
    )
    later = NOON + timedelta(days=3)
    told = resolve_names([found("Ada Lovelase", P, item="item:2", at=later, together=("Babbage", "Zebedee"))], known)
    (merge,) = told.merges
    assert merge.string == pytest.approx(1 - 1 / 12)  # one edit in twelve characters
    assert merge.cooccurrence == pytest.approx(1 / 2)
    assert merge.temporal == pytest.approx(exp(-3 / 30))
    assert merge.score == pytest.approx(0.6 * 11 / 12 + 0.25 * 0.5 + 0.15 * exp(-0.1))
    assert (merge.at, merge.undone) == (later, None)


def test_a_first_name_alone_scores_its_string() -> None:
    known = directory(found("Ada Lovelace", P))
    (merge,) = resolve_names([found("Ada", P, at=NOON + timedelta(days=3000))], known).merges
    assert merge.score == pytest.approx(0.6)
    assert (merge.string, merge.cooccurrence) == (1.0, 0.0)


def test_a_mistake_needs_nearness_or_company() -> None:
    known = directory(found("Elizabeth", P, together=("Bath",)), found("Bath", L, together=("Elizabeth",)))
    late = NOON + timedelta(days=400)
    assert resolve_names([found("Elisabeth", P, at=late)], known).merges == ()
    assert len(resolve_names([found("Elisabeth", P, at=late, together=("Bath",))], known).merges) == 1


def test_a_new_surname_needs_nearness_or_company() -> None:
    known = directory(found("John", P))
    assert resolve_names([found("John Irving", P, at=NOON + timedelta(days=30))], known).merges == ()
    assert resolve_names([found("John Irving", P, together=("John",))], known).merges == ()


def test_a_shared_first_name_merges_with_nobody() -> None:
    known = directory(found("Ada Lovelace", P), found("Ada Byron", X))
    assert resolve_names([found("Ada", P)], known).merges == ()


def test_a_second_full_name_is_another_person() -> None:
    known = directory(found("Ada", P), found("Ada Lovelace", P))
    assert len(known) == 1
    assert resolve_names([found("Ada Byron", P)], known).merges == ()
    assert {one.entity for one in resolve_names([found("Ada")], known).mentions} == {make_entity_id("ada")}


def test_a_tie_is_no_merge() -> None:
    known = directory(found("Hallingwarth", P), found("Hollingwerth", P))
    assert len(known) == 2
    told = resolve_names([found("Hollingwarth", P)], known)
    assert told.merges == ()


def test_the_margin_is_a_setting() -> None:
    known = directory(found("Rosenberger", P), found("Rosenbörgar", P))
    assert len(known) == 2
    one = [found("Rosenbergar", P)]
    assert len(resolve_names(one, known, ResolveSettings(margin=0)).merges) == 1
    assert resolve_names(one, known).merges == ()


def test_times_and_kind_are_updated() -> None:
    early, late = NOON - timedelta(days=9), NOON + timedelta(days=9)
    known = directory(found("Toby"))
    (entity,) = resolve_names([found("Toby", P, at=late), found("toby", L, at=early)], known).entities
    assert entity == Entity(id=make_entity_id("toby"), name="Toby", kind=P, first_seen=early, last_seen=late)
    assert resolve_names([found("Toby")], known).entities == ()  # nothing new


def test_resolving_leaves_the_directory_alone() -> None:
    known = directory(found("Ada Lovelace", P))
    before = known.entity(make_entity_id("ada lovelace"))
    resolve_names([found("Ada", P, at=NOON + timedelta(days=1)), found("Zoe", P)], known)
    assert len(known) == 1
    assert "Ada" not in known
    assert known.entity(before.id) == before


def test_pairs_are_of_one_item() -> None:
    told = resolve_names(
        [found("Ada", together=("Bob",)), found("Bob", together=("Ada",)), found("Cid", item="2")], EntityDirectory()
    )
    assert told.pairs == (tuple(sorted((make_entity_id("ada"), make_entity_id("bob")))),)


def test_undo_gives_the_surface_its_own_entity() -> None:
    known = EntityDirectory()
    told = resolve_names(
        [found("Ada Lovelace", P), found("Ada", P, item="item:2"), found("ADA", P, item="item:3")], known
    )
    known.apply(told)
    (merge,) = told.merges
    late = NOON + timedelta(days=2)
    plan = plan_undo(merge, told.mentions, at=late, kind=P, seen={"item:2": NOON, "item:3": late})
    assert plan.merge == replace(merge, undone=late)
    assert plan.entity == Entity(id=make_entity_id("ada"), name="Ada", kind=P, first_seen=NOON, last_seen=late)
    assert plan.removed == told.mentions[1:]
    assert plan.added == tuple(
        Mention(entity=plan.entity.id, item=item, surface=surface)
        for item, surface in [("item:2", "Ada"), ("item:3", "ADA")]
    )
    known.undo(plan)
    again = resolve_names([found("Ada", P, item="item:4"), found("Ada Lovelace", P, item="item:5")], known)
    assert again.merges == ()
    assert [one.entity for one in again.mentions] == [plan.entity.id, merge.entity]


def test_an_undone_merge_is_never_redone() -> None:
    told = resolve_names([found("Ada Lovelace", P), found("Ada", P)], EntityDirectory())
    (merge,) = told.merges
    plan = plan_undo(merge, told.mentions, at=NOON)
    lovelace = told.entities[0]
    # The store has the undone merge, but lost the entity that it made.
    known = EntityDirectory(entities=[lovelace], aliases=[(lovelace.id, "Ada Lovelace", 1)], undone=[plan.merge])
    again = resolve_names([found("Ada", P)], known)
    assert again.merges == ()
    assert again.mentions[0].entity == plan.entity.id


def test_naive_times_are_refused() -> None:
    naive = NOON.replace(tzinfo=None)
    with pytest.raises(NaiveDatetime, match=r"Found\.at"):
        found("Ada", at=naive)
    told = resolve_names([found("Ada Lovelace", P), found("Ada", P)], EntityDirectory())
    with pytest.raises(NaiveDatetime, match="undo"):
        plan_undo(told.merges[0], told.mentions, at=naive)


def test_a_store_changed_by_hand_has_one_owner_for_a_surface() -> None:
    one, other = (Entity(id=id_, name=name, kind=P, first_seen=NOON, last_seen=NOON) for id_, name in ["aA", "bB"])
    known = EntityDirectory(entities=[one, other], aliases=[("a", "Sam", 1), ("b", "sam", 2), ("gone", "Sam", 9)])
    assert [mention.entity for mention in resolve_names([found("SAM")], known).mentions] == ["b"]


def test_candidates_are_capped_and_the_latest_first() -> None:
    many = [found(f"Ada N{n}", X, at=NOON + timedelta(minutes=n)) for n in range(10 * MAX_BLOCK_SIZE)]
    known = directory(*many)
    names = [entity.name for entity in known.find_candidates("Ada")]
    assert names == [one.surface for one in reversed(many)][:MAX_BLOCK_SIZE]
    assert len(known.find_candidates("Ada N1 N2 N3 N4 N5 N6 N7 N8 N9")) <= CANDIDATES
    known.apply(
        resolve_names([found("Ada N3", P, at=NOON + timedelta(days=9))], known)
    )  # back into the block it had left
    assert known.find_candidates("Ada")[0].name == "Ada N3"
    assert known.find_candidates("Zebedee") == ()


# fmt: off
_SURFACES = st.sampled_from([
    "Ada", "Ada Lovelace", "Lovelace", "Ada Lovelase", "ADA'S", "Ada Byron", "Byron", "Dr. Byron", "Room 1", "Room 2",
    "Woodhaven", "Wood Haven", "Iran", "Elizabeth", "Elisabeth", "Elizabet", "", "🙂",
])
# fmt: on
_FOUND = st.builds(
    NameOccurrence,
    item=st.sampled_from(["1", "2", "3"]),
    surface=_SURFACES,
    kind=st.sampled_from([P, L, X]),
    at=st.integers(0, 60).map(lambda day: NOON + timedelta(days=day)),
    other_names=st.lists(_SURFACES, max_size=3).map(tuple),
)


def in_batches(batches: list[list[NameOccurrence]]) -> tuple[object, ...]:
    made = EntityDirectory()
    told = []
    for batch in batches:
        told.append(resolve_names(batch, made))
        made.apply(told[-1])
    entities = {entity.id: entity for one in told for entity in one.entities}
    return (
        [mention for one in told for mention in one.mentions],
        [merge for one in told for merge in one.merges],
        [pair for one in told for pair in one.pairs],
        entities,
        [made.find_candidates(name) for name in ("Ada", "Byron", "Elizabeth", "Room 3")],
        {key: sorted(made.list_names(key)) for key in entities},
    )


@given(st.lists(_FOUND, max_size=12), st.integers(0, 12))
def test_batching_changes_nothing(mentions: list[NameOccurrence], cut: int) -> None:
    assert in_batches([mentions]) == in_batches([mentions[:cut], mentions[cut:]])
    assert in_batches([mentions]) == in_batches([[one] for one in mentions])


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 150), st.integers(0, 400)), min_size=100, max_size=300), st.integers(0, 300))
def test_batching_changes_nothing_where_blocks_overflow(seen: list[tuple[int, int]], cut: int) -> None:
    mentions = [
        found(f"Ada Number{chr(97 + n % 26)}{chr(97 + n // 26)}", (P, X)[n % 2], at=NOON + timedelta(hours=hour))
        for n, hour in seen
    ]
    assert in_batches([mentions]) == in_batches([mentions[:cut], mentions[cut:]])


@given(st.lists(_FOUND, max_size=12))
def test_a_rebuilt_directory_decides_the_same(mentions: list[NameOccurrence]) -> None:
    kept = EntityDirectory()
    told = resolve_names(mentions, kept)
    kept.apply(told)
    aliases = [(mention.entity, mention.surface, 1) for mention in told.mentions]
    rebuilt = EntityDirectory(entities=told.entities, aliases=aliases, pairs=told.pairs)
    probe = [
        found(surface, P, at=NOON + timedelta(days=61)) for surface in ("Ada L.", "Lovelaca", "Elizabetta", "Byron")
    ]
    assert resolve_names(probe, kept) == resolve_names(probe, rebuilt)


@given(st.text(st.characters(), max_size=30))
def test_any_surface_is_normalised(surface: str) -> None:
    assert normalize_surface(surface) == normalize_surface(f" {surface} ")
    assert bool(normalize_surface(surface)) == bool(surface.strip())
