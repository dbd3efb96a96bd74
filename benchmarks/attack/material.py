"""Seeded messages. Each contains a token of its own, so that a search for bytes tells whether it is still there."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from recollect import Message, Role

SPEAKERS = ("Ada", "Ben", "Iris", "Nora Quist", "toby", "Łucja", "O'Neil")
_PLACES = ("Leeds", "Lyon", "Porto", "São Paulo", "Zürich")
_WORDS = tuple(
    "river shelter beagle carpentry choir bread shoes walk sister morning course garden violin harvest lantern window "
    "ticket winter copper bridge letter kitchen ladder blanket compass orchard pepper saddle thunder velvet whistle "
    "again because yesterday never often always maybe together before after while although between without 🐕 « » "
    '— "quoted" it\'s 50% C++ naïve 東京 مرحبا'.split()
)
_START = datetime(2024, 5, 3, 18, tzinfo=UTC)
_TOKEN = re.compile(rb"zq[0-9]{12}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A message as the plain model of a bank keeps it. ``token`` occurs in its text and nowhere else."""

    id: str
    session: str
    speaker: str
    text: str
    token: str
    at: datetime
    captions: tuple[str, ...] = ()

    def to_message(self) -> Message:
        """Return the message as a caller gives it to the library."""
        return Message(
            id=self.id,
            text=self.text,
            speaker=self.speaker,
            at=self.at,
            captions=self.captions,
            role=Role.ASSISTANT if self.speaker == "Iris" else Role.USER,
        )


def make_said(rng: random.Random, session: str) -> Said:
    """Return a new message. Most messages are short, and some are very long."""
    token = f"zq{rng.randrange(10**12):012d}"
    length = rng.choice((3, 6, 10, 15, 25, 40)) if rng.random() < 0.97 else rng.randrange(200, 1500)
    words = rng.choices(_WORDS, k=length)
    words.insert(rng.randrange(length), f"{rng.choice(SPEAKERS)} saw {token} in {rng.choice(_PLACES)}")
    captions = (f"a picture of {token}",) if rng.random() < 0.05 else ()
    return Said(
        id=f"m{token}",
        session=session,
        speaker=rng.choice(SPEAKERS),
        text=" ".join(words),
        token=token,
        at=_START + timedelta(minutes=rng.randrange(10**6)),
        captions=captions,
    )


def find_tokens(data: bytes) -> set[str]:
    """Return the tokens in the bytes of a file, in one pass."""
    return {token.decode() for token in _TOKEN.findall(data.lower())}
