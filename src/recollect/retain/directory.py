"""Keep a bank's entities for resolution: their surface forms, who occurs with whom, and the candidates for a name.

The directory is in memory. It is built from the store's rows and updated by :meth:`Directory.apply`. The look-up of a
known surface is one dictionary access. The candidates for a new surface come from blocks of limited size. So the cost
of a write does not grow with the number of entities.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from heapq import nlargest
from typing import Final

from recollect._unicode import normalize_unicode
from recollect.domain.entities import Entity, Mention, Merge
from recollect.text.name_index import LONGEST_NAME

CANDIDATES: Final = 20
MAX_BLOCK_SIZE: Final = 8
LONG_WORD: Final = 6  # letters: only in a word this long can a difference be a spelling mistake and not another name


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """The result of resolution: new or changed entities, mentions, merges, and new pairs of entities.

    ``pairs`` are entities that one item mentions, each pair once, the smaller id first.
    """

    entities: tuple[Entity, ...] = ()
    mentions: tuple[Mention, ...] = ()
    merges: tuple[Merge, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoPlan:
    """The plan to undo a merge: the undone merge, the surface's own entity, and the mentions to remove and to add."""

    merge: Merge
    entity: Entity
    removed: tuple[Mention, ...]
    added: tuple[Mention, ...]


class NameBlocks:
    """The entities that share a word, an end of a long word, or the whole name. Candidates are searched in them.

    A block keeps at least the :data:`MAX_BLOCK_SIZE` most recently seen of its members and fewer than twice as many.
    ``evicted`` are the entities that a full block has dropped. They must be added again when they are seen again.
    """

    def __init__(self, entity: Callable[[str], Entity]) -> None:
        self._entity = entity
        self._members: dict[str, list[str]] = {}
        self.evicted: set[str] = set()

    def members(self, name: str) -> Sequence[str]:
        return self._members.get(name, ())

    def fill(self, names: Mapping[str, Iterable[str]]) -> None:
        """Add entities with all their normalised names to empty blocks.

        The latest entities are added first, so that no block has to be cut repeatedly.
        """
        for entity_id in select_latest(names, self._entity, len(names)):
            for name in list_blocks(names[entity_id]):
                members = self._members.setdefault(name, [])
                if len(members) < MAX_BLOCK_SIZE:
                    members.append(entity_id)
                else:
                    self.evicted.add(entity_id)

    def add(self, entity_id: str, keys: Iterable[str]) -> None:
        """Add an entity to the blocks of some of its normalised names."""
        for name in list_blocks(keys):
            members = self._members.setdefault(name, [])
            if entity_id in members:
                continue
            members.append(entity_id)
            # A full block drops half of its members at once. So its cost is constant on average.
            if len(members) >= 2 * MAX_BLOCK_SIZE:
                kept = select_latest(members, self._entity)
                self.evicted.update(set(members).difference(kept))
                self._members[name] = kept


class EntityDirectory:
    """The entities of one bank. Only :meth:`apply` and :meth:`undo` change it."""

    def __init__(
        self,
        entities: Iterable[Entity] = (),
        aliases: Iterable[tuple[str, str, int]] = (),
        pairs: Iterable[tuple[str, str]] = (),
        undone: Iterable[Merge] = (),
    ) -> None:
        """Build a directory.

        Args:
            entities: every entity of the bank.
            aliases: ``(entity id, surface, number of mentions)``. An entity's name is always one of its surfaces.
            pairs: ids of two entities that one item mentions, in any order. Pairs may be repeated.
            undone: merges that were undone.
        """
        self._entities: dict[str, Entity] = {entity.id: entity for entity in entities}
        self._owners: dict[str, str] = {}
        self._names: dict[str, tuple[str, ...]] = {}
        self._pairs: dict[str, set[str]] = {}
        self._apart: set[tuple[str, str]] = {(merge.entity, normalize_surface(merge.surface)) for merge in undone}
        self._blocks = NameBlocks(self._entities.__getitem__)
        for key, owner in _choose_owners(self._entities, aliases).items():
            self._add_name(owner, key)
        self._blocks.fill(self._names)
        for one, other in pairs:
            self._add_pair(one, other)

    def __len__(self) -> int:
        return len(self._entities)

    def __contains__(self, surface: object) -> bool:
        """Return true if a surface is a known name. So a directory can be the ``known`` of ``find_names``."""
        return isinstance(surface, str) and normalize_surface(surface) in self._owners

    def entity(self, entity_id: str) -> Entity:
        """Return the entity with this id.

        Raises:
            KeyError: there is no such entity.
        """
        return self._entities[entity_id]

    def find_owner(self, key: str) -> str | None:
        """Return the id of the entity that a normalised name means, or ``None`` if the name is not known."""
        return self._owners.get(key)

    def list_names(self, entity_id: str) -> tuple[str, ...]:
        """Return the normalised surfaces of an entity. Their order is not defined."""
        return self._names.get(entity_id, ())

    def has_pair(self, one: str, other: str) -> bool:
        """Return true if an item mentions both entities."""
        return other in self._pairs.get(one, ())

    def is_kept_apart(self, entity_id: str, key: str) -> bool:
        """Return true if a user has undone the merge of a name into this entity. ``key`` is the normalized name."""
        return (entity_id, key) in self._apart

    def get_block(self, name: str) -> Sequence[str]:
        """Return the ids in a block (see :class:`Blocks`)."""
        return self._blocks.members(name)

    def has_left_block(self, entity_id: str) -> bool:
        """Return true if a full block has dropped this entity."""
        return entity_id in self._blocks.evicted

    def find_candidates(self, surface: str) -> tuple[Entity, ...]:
        """Return at most :data:`CANDIDATES` entities to which this name may belong, the most recently seen first."""
        ids = choose_candidates(normalize_surface(surface), self.get_block, self._entities.__getitem__)
        return tuple(map(self._entities.__getitem__, select_latest(ids, self._entities.__getitem__, CANDIDATES)))

    def apply(self, resolution: Resolution) -> None:
        """Apply the result of a resolution that used this directory."""
        for entity in resolution.entities:
            before = self._entities.get(entity.id)
            self._entities[entity.id] = entity
            if before is not None and entity.last_seen > before.last_seen and self.has_left_block(entity.id):
                self._blocks.add(entity.id, self._names[entity.id])
        for mention in resolution.mentions:
            key = normalize_surface(mention.surface)
            if key not in self._owners:
                self._add_name(mention.entity, key)
                self._blocks.add(mention.entity, (key,))
        for one, other in resolution.pairs:
            self._add_pair(one, other)

    def undo(self, plan: UndoPlan) -> None:
        """Apply an undone merge. The surface gets its own entity, and stays separate from the old one.

        The old entity's co-occurrences stay as they are until the directory is built again.
        """
        key, old, new = normalize_surface(plan.merge.surface), plan.merge.entity, plan.entity.id
        self._apart.add((old, key))
        self._entities[new] = plan.entity
        self._names[old] = tuple(name for name in self._names.get(old, ()) if name != key)
        self._add_name(new, key)
        self._blocks = NameBlocks(self._entities.__getitem__)  # merges are undone rarely, so all can be indexed again
        self._blocks.fill(self._names)

    def _add_name(self, entity_id: str, key: str) -> None:
        self._owners[key] = entity_id
        self._names[entity_id] = (*self._names.get(entity_id, ()), key)

    def _add_pair(self, one: str, other: str) -> None:
        if one != other:
            self._pairs.setdefault(one, set()).add(other)
            self._pairs.setdefault(other, set()).add(one)


def _choose_owners(entities: Mapping[str, Entity], aliases: Iterable[tuple[str, str, int]]) -> dict[str, str]:
    """Return each normalised surface with its entity: the one that had this surface most often.

    Two entities share a surface only if somebody changed the store by hand. If the counts are equal, the entity with
    the smaller id has the surface.
    """
    counts: dict[tuple[str, str], int] = {}
    for entity in sorted(entities.values(), key=lambda entity: (entity.first_seen, entity.id)):
        counts[normalize_surface(entity.name), entity.id] = 0
    for entity_id, surface, count in aliases:
        if entity_id in entities:
            claim = normalize_surface(surface), entity_id
            counts[claim] = counts.get(claim, 0) + count
    owners: dict[str, str] = {}
    for (key, claimant), count in counts.items():
        holder = owners.setdefault(key, claimant)
        if (-count, claimant) < (-counts[key, holder], holder):
            owners[key] = claimant
    return owners


def select_latest(ids: Iterable[str], entity: Callable[[str], Entity], count: int = MAX_BLOCK_SIZE) -> list[str]:
    """Return the most recently seen of some entities, the latest first.

    If times are equal, the larger id comes first.
    """
    return nlargest(count, ids, key=lambda entity_id: (entity(entity_id).last_seen, entity_id))


def choose_candidates(key: str, block: Callable[[str], Sequence[str]], entity: Callable[[str], Entity]) -> list[str]:
    """Return the ids of the candidates for a normalised surface, in no defined order.

    Candidates are the entities that share most blocks with it. If several share the same number, the most recently seen
    are taken.
    """
    shared: Counter[str] = Counter()
    for name in list_blocks((key,)):
        members = block(name)
        shared.update(members if len(members) <= MAX_BLOCK_SIZE else select_latest(members, entity))
    if len(shared) <= CANDIDATES:
        return list(shared)
    return nlargest(CANDIDATES, shared, key=lambda one: (shared[one], entity(one).last_seen, one))


def list_blocks(keys: Iterable[str]) -> tuple[str, ...]:
    """Return the blocks of some normalised names. Resolution never merges two names without a common block.

    The blocks of a name are:

    - the name without blanks,
    - each of its words, such as "Ada" in "Ada Lovelace",
    - the first letter with the last word, such as "A. Lovelace",
    - for a long word among others, its first and last letters with the other words,
    - for a long word alone, its first four letters with the last, and its first letter with the last four.

    A name of more than :data:`LONGEST_NAME` characters has only the first block: it is a sentence and not a name.

    The last two blocks find names with one mistake inside a long word. One mistake changes at most one of the two
    blocks of a single word.
    """
    names: dict[str, None] = {}
    for key in keys:
        words = key.split(" ")
        names["=" + "".join(words)] = None
        if len(key) > LONGEST_NAME:
            continue
        for place, word in enumerate(words):
            if word not in _COMMON:
                names[":" + word] = None
            if len(word) >= LONG_WORD:
                names.update(dict.fromkeys(_make_frames(words, place, word)))
        if len(words) > 1:
            names[f"|{words[0][0]} {words[-1]}"] = None
    return tuple(names)


def _make_frames(words: Sequence[str], place: int, word: str) -> tuple[str, ...]:
    if len(words) == 1:
        return f"<{word[:4]}*{word[-1]}", f">{word[0]}*{word[-4:]}"
    return (" ".join((*words[:place], f"{word[0]}*{word[-1]}", *words[place + 1 :])),)


@lru_cache(maxsize=1 << 16)
def normalize_surface(surface: str) -> str:
    """Return a surface without case, accents, punctuation, a possessive and a leading "the".

    Differences in these do not make two names.

    Initials with dots or blanks become one word: "J. K. Rowling" and "JK Rowling" become "jk rowling". A surface
    without any letter or digit stays as it is, without blanks around it.
    """
    plain = _APOSTROPHES.sub("", _POSSESSIVE.sub("", surface.strip())).replace("&", " and ")
    words = _WORD.findall(plain.casefold()) if plain.isascii() else _strip_accents(plain).split()
    if len(words) > 1 and words[0] == "the":
        words = words[1:]
    if not words:
        return surface.strip()
    return _INITIALS.sub(lambda hit: hit[0].replace(" ", ""), " ".join(words))


def _strip_accents(text: str) -> str:
    """Return casefolded letters and digits without accents. Every other character becomes a blank.

    Only marks above and below letters are accents. Signs that change a Japanese or an Indic letter into another letter
    (combining classes under 200) stay.
    """
    parts = normalize_unicode("NFKD", text).casefold().translate(_LETTERS)
    kept = normalize_unicode("NFKC", "".join(char for char in parts if unicodedata.combining(char) < 200))
    return "".join(char if char.isalnum() or unicodedata.category(char)[0] == "M" else " " for char in kept)


def hash_short(*parts: str) -> str:
    """Return a hash of some strings: sixteen hexadecimal digits (64 bits). Lone surrogates are allowed."""
    return sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def make_entity_id(key: str) -> str:
    """Return the id of the entity that was first seen under a normalised name."""
    return f"entity:{hash_short(key)}"


_COMMON: Final = frozenset(("of", "the", "and", "de", "la", "del", "da", "van", "von", "der", "den", "di", "du"))
_POSSESSIVE: Final = re.compile(r"['’][sS]$|(?<=[sS])['’]$")
_APOSTROPHES: Final = re.compile(r"['’‘`´]")
_WORD: Final = re.compile(r"[^\W_]+")
_INITIALS: Final = re.compile(r"(?<![^ ])[^\W\d_](?: [^\W\d_](?![^ ]))+")
_LETTERS: Final = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h", "ŧ": "t"}
)
