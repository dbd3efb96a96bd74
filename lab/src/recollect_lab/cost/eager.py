"""Eager extraction as Mem0 does it (Chhikara et al., 2025): the baseline for recurrence.

A model reads every pair of messages as it comes, together with the ten nearest memories. The model extracts facts. For
each fact it says whether the fact is new, replaces a memory, ends a memory, or is known. Mem0 makes two calls for this,
and again two if both speakers are its users. Here it is one call, so that the cost is rather too low than too high.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

import numpy as np
from numpy.typing import NDArray

from recollect.answering.evidence import format_moment, indent_lines, join_lines
from recollect.domain.messages import Message
from recollect.domain.usage import Usage
from recollect.models.embedder import Embedder
from recollect.models.language import LanguageModel, ModelRole, Prompt
from recollect.text.fencing import DATA_RULE, fence_text
from recollect_lab.datasets.dataset import DatasetConversation

OPERATION: Final = "eager.extract"
NEAREST: Final = 10

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedMemory:
    """A fact, the action for it, and the number of the memory that it concerns, or ``None``."""

    __pydantic_config__: ClassVar = {"title": "Extracted"}  # its name in requests to a model, recorded ones too

    fact: str
    action: Literal["ADD", "UPDATE", "DELETE", "NONE"]
    memory: int | None = None

    def __post_init__(self) -> None:
        if not any(map(str.isalnum, self.fact)):
            raise ValueError("a fact is empty")
        if self.action in ("UPDATE", "DELETE") and self.memory is None:
            raise ValueError(f"{self.action} names no memory that it changes")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedMemories:
    """The facts of a pair of messages. It is empty if nothing is worth storing."""

    memories: tuple[ExtractedMemory, ...]


class EagerMemory:
    """Facts and their vectors, in memory. Facts that were deleted or replaced are gone."""

    def __init__(self, dimension: int) -> None:
        self._texts: dict[int, str] = {}
        self._vectors = np.zeros((0, dimension), dtype=np.float32)

    @property
    def texts(self) -> tuple[str, ...]:
        """Return the facts that are valid, the oldest first."""
        return tuple(self._texts.values())

    def nearest(self, vector: Floats, count: int) -> list[int]:
        """Return the places of the ``count`` facts that are nearest to a vector of length 1, the nearest first."""
        places = np.fromiter(self._texts, dtype=np.int64)
        scores = self._vectors[places] @ vector
        return [int(place) for place in places[np.argsort(-scores, kind="stable")[:count]]]

    def text(self, place: int) -> str:
        return self._texts[place]

    def apply_changes(self, changes: Sequence[tuple[ExtractedMemory, Floats]], shown: Sequence[int]) -> None:
        """Apply changes. The memory number of a change counts the places in ``shown``, from 1."""
        for change, vector in changes:
            if change.action == "NONE":
                continue
            if change.action != "ADD" and change.memory is not None:
                self._texts.pop(shown[change.memory - 1], None)
            if change.action != "DELETE":
                self._texts[len(self._vectors)] = change.fact
                self._vectors = np.vstack([self._vectors, vector])


def pair_messages(conversation: DatasetConversation) -> Iterator[tuple[Message, ...]]:
    """Yield the messages of each session two by two. If their number is odd, the last one comes alone."""
    for session in conversation.sessions:
        said = session.messages
        yield from (said[at : at + 2] for at in range(0, len(said), 2))


async def extract_all(
    conversation: DatasetConversation, embedder: Embedder, model: LanguageModel
) -> tuple[Usage, EagerMemory]:
    """Read a conversation pair by pair. Return the cost of the calls and the facts that were stored.

    Raises:
        ModelError: a call failed.
    """
    notes, usage = EagerMemory(embedder.dimension), Usage()
    for pair in pair_messages(conversation):
        usage += await _extract_pair(pair, notes, embedder, model)
    return usage, notes


async def _extract_pair(pair: Sequence[Message], notes: EagerMemory, embedder: Embedder, model: LanguageModel) -> Usage:
    (asked,) = await embedder.embed(["\n".join(_render_words(message) for message in pair)])
    shown = notes.nearest(asked, NEAREST)

    def check(reply: ExtractedMemories) -> None:
        for one in reply.memories:
            if one.memory is not None and not 1 <= one.memory <= len(shown):
                raise ValueError(f"there is no memory {one.memory}; they are numbered 1 to {len(shown)}")

    prompt = build_extraction_prompt(pair, [notes.text(place) for place in shown])
    reply = await model.generate(prompt, ExtractedMemories, check=check)
    made = reply.value.memories
    vectors = await embedder.embed([one.fact for one in made]) if made else ()
    notes.apply_changes(list(zip(made, vectors, strict=True)), shown)
    return reply.usage


_SYSTEM: Final = f"""You tend the notes that a long-term memory keeps on the people in a conversation. You are shown \
the newest messages, and the notes that are nearest to them. Read the messages for facts, and decide for each fact \
what it does to the notes.

A fact is worth a note if somebody who meets these people again in a year would be glad to know it: who they are and \
who is close to them, where they live and work, what they did or went through, what they have in mind to do and when, \
what they like and cannot stand, what they own, how they are, what they decided. Pass over small talk, politeness, \
questions that nobody answered, and what everybody knows.

How to write it:
- one plain sentence a fact, about a person called by name, that needs no other sentence to be understood;
- with every name, number and place that the messages give;
- with the day in place of "yesterday" or "next week", worked out from the date that stands before the message;
- nothing that was not said: no guesses at feelings or reasons.
One to three facts are usual for two messages. Where nothing is worth a note, give none.

What it does to the notes (action):
- ADD: none of the notes tells this; memory is null.
- UPDATE: a note tells part of it, or how it was before. Write what holds now, with what stays true of the note: the \
fact takes the place of the note. Other words for what the note says already are no update.
- DELETE: by what was said, a note is wrong or over, and nothing takes its place. The fact says what is over.
- NONE: a note tells it already.
memory: with UPDATE, DELETE and NONE the number of that note, as it is shown; never another number.

{DATA_RULE}"""


def build_extraction_prompt(pair: Sequence[Message], memories: Sequence[str]) -> Prompt:
    """Return the prompt for a pair of messages. The memories are numbered from 1."""
    known = [f"[{number}] {join_lines(text)}" for number, text in enumerate(memories, start=1)]
    said = [f"[{number}] {_render_moment(message)}" for number, message in enumerate(pair, start=1)]
    return Prompt(
        role=ModelRole.EXTRACT,
        operation=OPERATION,
        subject=str(pair[0].id),
        system=_SYSTEM,
        text="\n\n".join(
            (fence_text("memories", "\n".join(known) or "none yet"), fence_text("messages", "\n".join(said)))
        ),
    )


def _render_moment(message: Message) -> str:
    when = "" if message.at is None else f", {format_moment(message.at)}"
    return f"{join_lines(message.speaker)}{when}: {indent_lines(_render_words(message))}"


def _render_words(message: Message) -> str:
    return "\n".join((message.text, *(f"[{caption}]" for caption in message.captions)))
