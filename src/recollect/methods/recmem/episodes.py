"""The prompts and replies for episodes (RecMem, section 3.3), and the items that replies become.

An episode that grows is a chain of items, like an opinion: ``episode:{stem}:{step}``. Each step supersedes the step
before it. So the old text stays readable, and is valid again if the exchange that was merged into it is forgotten. The
sources of a step include those of all steps before it. A step is derived from all turns that a model saw for it, and
not from the step before. If one of these turns is forgotten, all the others are examined again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import ClassVar, Final

from recollect.answering.evidence import indent_lines
from recollect.domain.items import Item, ItemKind, Occurrence
from recollect.domain.time import Interval, Precision
from recollect.methods.recmem.units import Unit, number_units, render_unit
from recollect.models.language import ModelRole, Prompt
from recollect.retain.directory import hash_short
from recollect.text.fencing import DATA_RULE, fence_text
from recollect.text.time_expressions import describe_interval, find_times

MERGE: Final = "recmem.merge"
EPISODES: Final = "recmem.episodes"
MOST_EPISODES: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeReply:
    """The decision whether an exchange belongs to an episode.

    If it does, ``episode`` is the new text of the episode.
    """

    __pydantic_config__: ClassVar = {"title": "Merged"}  # its name in requests to a model, recorded ones too

    merge: bool
    episode: str = ""

    def __post_init__(self) -> None:
        if self.merge and not _has_words(self.episode):
            raise ValueError("merge is true, but the episode that holds both is empty")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedEpisode:
    """An episode. ``exchanges`` are the numbers of its exchanges."""

    __pydantic_config__: ClassVar = {"title": "Told"}  # its name in requests to a model, recorded ones too

    text: str
    exchanges: tuple[int, ...]

    def __post_init__(self) -> None:
        if not _has_words(self.text):
            raise ValueError("an episode is empty")
        if not self.exchanges:
            raise ValueError("an episode names no exchange that it tells of")


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodesReply:
    """The episodes in exchanges: at most three, or none if no exchanges belong together."""

    __pydantic_config__: ClassVar = {"title": "Episodes"}  # its name in requests to a model, recorded ones too

    episodes: tuple[ExtractedEpisode, ...]

    def __post_init__(self) -> None:
        if len(self.episodes) > MOST_EPISODES:
            raise ValueError(f"{len(self.episodes)} episodes are too many; give at most {MOST_EPISODES}")
        if len({one.text.strip() for one in self.episodes}) < len(self.episodes):
            raise ValueError("an episode is given twice")


def check_episodes(reply: EpisodesReply, exchanges: int, *, required: int | None = None) -> None:
    """Raise ValueError if a reply does not fit the exchanges that were shown.

    ``required`` is the number of an exchange that must be in an episode.

    Raises:
        ValueError: a number belongs to no exchange, or the required exchange is in no episode.
    """
    named = {number for one in reply.episodes for number in one.exchanges}
    for number in sorted(named):
        if not 1 <= number <= exchanges:
            raise ValueError(f"there is no exchange {number}; they are numbered 1 to {exchanges}")
    if required is not None and required not in named:
        raise ValueError(f"no episode tells of exchange {required}, which has to be kept")


_MERGE: Final = f"""You keep the episodes of a long-term memory. An episode tells one thread in the lives of the \
people who talk: how it began, how it went on, where it stands.

Decide whether the new exchange belongs to the episode. It does where the same people go on with the same event, plan, \
problem or matter, so that both would be told as one story. A shared subject, mood or word is not enough; nor is \
general advice, a pleasantry or an invented example that changes nothing for them. When in doubt, it does not.

merge: true or false.
episode: where true, the episode told anew with what the exchange adds, corrects or ends; else empty.
- One paragraph in the third person, in order of time, with names instead of pronouns that could mean several. \
Keep every name, number, place and date that matters; put lists, explanations and made-up stories into a few words.
- Dates stay as they are. An exchange is dated by when it was said; reckon words like "yesterday" or "next month" from \
that and write the date, or "the week before 8 May 2023". Never leave them as they stand.
- What the exchange answers follows it in brackets, for understanding it.
- Add nothing that neither of the two says.

{DATA_RULE}"""


def build_merge_prompt(episode: Item, unit: Unit, characters: int) -> Prompt:
    """Return the prompt with a unit and the episode nearest to it (equation 6)."""
    return Prompt(
        role=ModelRole.CONSOLIDATE,
        operation=MERGE,
        subject=unit.messages[0].id,
        system=_MERGE,
        text="\n\n".join(
            (
                fence_text("episode", indent_lines(episode.text)),
                fence_text("new_exchange", render_unit(unit, characters)),
            )
        ),
    )


_EPISODES: Final = f"""You write episodes for a long-term memory. An episode tells how one matter in the lives of the \
people who talk went on over time. You are shown exchanges that are alike, in order of time; days or months may lie \
between them, and they may be about several matters.

Sort them by matter: the same event, plan, problem or situation of the same people. Write one episode for each matter \
that goes on through more than one exchange, at most {MOST_EPISODES}; rather one whole episode than several scraps. \
Leave out exchanges that fit nowhere. Give none where nothing hangs together.

text: one paragraph of two to six sentences, in the third person and in order of time: how it began, what changed, \
what was decided, how it stands, what it means to those concerned.
- Names instead of pronouns that could mean several. Keep names, numbers and places that matter to the story.
- What an exchange answers follows it in brackets, for understanding it.
- An exchange is dated by when it was said, which need not be when it happened. Reckon words like "yesterday" or "next \
month" from that and write the date, or "the week before 8 May 2023". Never leave them as they stand.
- What people do, plan, feel and decide counts. Put explanations, lists and made-up stories into a few words. Do not \
list everything about somebody: single facts are kept elsewhere.
- Add nothing that the exchanges do not say.
exchanges: the numbers of the exchanges that the episode tells of.

{DATA_RULE}"""


def build_episodes_prompt(units: Sequence[Unit], *, required: int | None, characters: int) -> Prompt:
    """Return the prompt with a cluster in order of time (equation 7).

    ``required`` is the number of a unit to be kept.
    """
    text = fence_text("exchanges", number_units(units, characters))
    if required is not None:
        text = f"{text}\n\nExchange {required} has to be kept: one episode tells of it, even if of nothing else."
    return Prompt(
        role=ModelRole.CONSOLIDATE, operation=EPISODES, subject=units[-1].messages[0].id, system=_EPISODES, text=text
    )


def make_episodes(
    reply: EpisodesReply, units: Sequence[Unit], *, label: str, now: datetime
) -> list[tuple[Item, list[Unit]]]:
    """Return the items of a reply, each with the units of its episode, in order of time."""
    stem = hash_short(*(unit.id for unit in units))
    made = []
    for n, told in enumerate(reply.episodes):
        of = [units[number - 1] for number in sorted(set(told.exchanges))]
        chain = f"episode:{stem}{n}"
        made.append((_make_item(told.text, chain, 0, of, label=label, seen=list_seen_turns(units), now=now), of))
    return made


def merge_into_episode(episode: Item, text: str, unit: Unit, *, now: datetime) -> Item:
    """Return the next step of an episode, with an exchange merged into it (equation 6)."""
    chain, _, step = episode.id.rpartition(":")
    item = _make_item(text, chain, int(step) + 1, [unit], label=episode.label, seen=list_seen_turns([unit]), now=now)
    return replace(
        item,
        speaker=episode.speaker,
        sources=tuple(dict.fromkeys((*episode.sources, *item.sources))),
        mentioned=max(episode.mentioned, item.mentioned),
        derived_from=tuple(dict.fromkeys((*episode.derived_from, *item.derived_from))),
    )


def list_seen_turns(units: Sequence[Unit]) -> tuple[str, ...]:
    """Return the ids of the turns in units that a model sees.

    Items made of these units are removed if any of these turns is forgotten.
    """
    turns = (turn for unit in units for turn in (unit.item, unit.before) if turn is not None)
    return tuple(dict.fromkeys(turn.id for turn in turns))


def _make_item(
    text: str, chain: str, step: int, of: Sequence[Unit], *, label: str, seen: Iterable[str], now: datetime
) -> Item:
    mentioned = max(message.at for unit in of for message in unit.messages)
    return Item(
        id=f"{chain}:{step}",
        kind=ItemKind.EPISODE,
        text=text.strip(),
        # A chain is like a session: its steps are in order, as turns are in a session.
        session=chain,
        speaker=of[0].item.speaker,
        sources=tuple(dict.fromkeys(source for unit in of for source in unit.item.sources)),
        mentioned=mentioned,
        recorded=now,
        order=step,
        occurrences=_span_times(text, mentioned),
        derived_from=tuple(seen),
        label=label,
    )


def _span_times(text: str, said: datetime) -> tuple[Occurrence, ...]:
    """Return the time of an episode, from the first of the times in it to the last.

    It is empty if the text names none.
    """
    times = [found.interval for found in find_times(text, said)]
    starts, ends = [one.start for one in times if one.start], [one.end for one in times if one.end]
    if not starts or not ends:
        return ()
    first, last = min(starts), max(ends)
    whole = next((one for one in times if (one.start, one.end) == (first, last)), None)
    span = whole or Interval(start=first, end=last, precision=Precision.RANGE)
    return (Occurrence(words=describe_interval(span), interval=span),)


def _has_words(text: str) -> bool:
    return any(map(str.isalnum, text))
