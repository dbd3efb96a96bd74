"""Synthetic conversations for measurements: seeded, always the same, as wordy and as repetitive as people are.

Nothing is downloaded, and no real person's words are used. Words follow a Zipf-Mandelbrot law over ``words.txt``
(everyday English). Rare words are put together from syllables. The talk consists of scenes of about forty messages. In
each scene two people talk about a few words, so that words come in bursts, as in a chat. Facts are planted among the
messages, and questions ask for them later, so that a fast engine that finds nothing is noticed.

``benchmarks/README.md`` compares this talk with real talk.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import accumulate, islice
from pathlib import Path
from random import Random

from recollect.domain.messages import Message

VOCABULARY = 8_000
ZIPF_SHIFT, ZIPF_POWER = 22.0, 1.55
STOP_SHARE = 0.48
SCENE_MESSAGES, SCENE_WORDS, SCENE_SHARE = 40, 40, 0.2
NAME_SHARE, TIME_SHARE, QUESTION_SHARE = 0.3, 0.2, 0.25
DATED_QUESTIONS = 0.2
FEWEST_WORDS, MOST_WORDS = 5, 45
START = datetime(2016, 3, 1, 8, tzinfo=UTC)

_STOP_WORDS = """the the the the a a a to to to to and and and and i i i i i it it it you you you of of in in in is is
was was that that for for my my me me with on on at have have had so so but we we we they he she this just be are not
do did what how when if or as from by about there them him her his our your can could would should will been has were
who any some here too then than no""".split()
_TIMES = """yesterday|last Thursday|last week|two weeks ago|last month|three days ago|on Sunday|next Friday|last summer|
this morning|tomorrow|in 2019|last year|on 12 May|a month ago|next week|last night|on Tuesday|in October|
the day before yesterday""".replace("\n", "").split("|")
_ONSETS = "b bl br c cl d dr f fl g gr h j k l m n p pr qu r s sl st t th tr v w z".split()
_NUCLEI = "a ai e ea i o oa ou u".split()
_CODAS = "b ck d g l ll m n nd ng nt p r rk s sh st t x".split()
_PEOPLE = """Aaron Abigail Amara Anton Beatrice Boris Camille Carlos Chloe Conrad Daphne Dmitri Edith Elias Esther
Felix Fiona Gareth Greta Hassan Helena Hugo Imogen Ivan Jasmine Jerome Judith Kamal Klara Lars Leila
Lorenzo Lydia Magnus Marisol Marcus Nadia Nikolai Octavia Oscar Paloma Pascal Quentin Ramona Rashid
Rosalind Rupert Sabine Samir Selma Stefan Sylvia Tamara Tobias Ulrich Valerie Viktor Wanda Xavier Yasmin
Zachary""".split()
_OPENERS = (
    *("",) * 6,
    "Do you still know? ",
    "Please tell me, I need to know: ",
    "Think back to that good day. ",
    "I want to find out: ",
)
SPEAKERS = ("Nora", "Emil", "Ruth", "Jonas", "Ines", "Paul", "Maya", "Leo")


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A pattern for a planted fact and its question. ``{adjective}`` and ``{place}`` are never in the question."""

    fact: str
    question: str


FRAMES = (
    Frame(
        fact="I finally bought the {adjective} {thing} for {name} in {place}",
        question="Where did {speaker} buy the {thing} for {name}?",
    ),
    Frame(
        fact="{name} gave me a {adjective} {thing} from {place}",
        question="What kind of {thing} did {name} give {speaker}?",
    ),
    Frame(
        fact="we took the {thing} to {name} in {place}, it was {adjective}",
        question="Where did {speaker} take the {thing} to {name}?",
    ),
    Frame(
        fact="{name} broke my {adjective} {thing} on the way to {place}",
        question="Which {thing} of {speaker}'s was broken by {name}?",
    ),
    Frame(
        fact="I met {name} at the {thing} in {place} and it got {adjective}",
        question="In which town did {speaker} meet {name} at the {thing}?",
    ),
    Frame(
        fact="{name} is moving to {place} because of the {adjective} {thing}",
        question="Where is {name} moving, was it about the {thing}?",
    ),
    Frame(
        fact="I lent {name} the {adjective} {thing} that came from {place}",
        question="Which {thing} did {speaker} lend {name}?",
    ),
    Frame(
        fact="{name} taught me how to mend a {thing} in {place}, very {adjective}",
        question="Where was {speaker} when {name} showed how to mend the {thing}?",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Messages of one session, in order; every message has an ``id`` and an ``at``."""

    session: str
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Needle:
    """A planted fact: its position among all messages (from 0), its text, and the question for it."""

    position: int
    text: str
    question: str

    @property
    def message(self) -> str:
        return message_id(self.position)


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """A corpus of ``items`` messages with ``needles`` planted facts (at most a fifth). The same seed makes the same
    corpus.
    """

    items: int
    needles: int = 0
    seed: int = 0

    def batches(self, size: int) -> Iterator[Batch]:
        """Yield the messages in sessions of ``size``. They are made one by one, so that they need no memory."""
        messages = self.messages()
        for number in range((self.items + size - 1) // size):
            yield Batch(session=f"session-{number:05}", messages=tuple(islice(messages, size)))

    def messages(self) -> Iterator[Message]:
        """Yield every message in order of time.

        Each scene has two speakers. About a minute passes between messages, and about a day between scenes.
        """
        rng, planted = Random(f"messages {self.seed}"), {needle.position: needle.text for needle in self.planted()}
        at, scene = START, _scene(rng)
        for position in range(self.items):
            if position % SCENE_MESSAGES == 0:
                at, scene = at + timedelta(hours=rng.uniform(12, 48)), _scene(rng)
            at += timedelta(seconds=rng.randint(20, 120))
            text = _talk(rng, scene)
            if position in planted:
                text = f"{planted[position]}. {text}"
            speaker = speaker_at(position, self.seed)
            yield Message(id=message_id(position), speaker=speaker, text=text, at=at)

    def planted(self) -> list[Needle]:
        """Return the facts, spread evenly over the messages. No two have the same thing and the same name."""
        rng, count = Random(f"needles {self.seed}"), min(self.needles, self.items // 5)
        pairs = rng.sample(range(len(_things()) * len(_PEOPLE)), count)
        return [self._needle(rng, at * self.items // count, pair) for at, pair in enumerate(pairs)]

    def fingerprint(self) -> str:
        """Return the SHA-256 of all texts and questions, in hexadecimal. Figures with the same value measured the same
        corpus.
        """
        digest = hashlib.sha256()
        for text in (*(m.text for m in self.messages()), *(needle.question for needle in self.planted())):
            digest.update(text.encode() + b"\n")
        return digest.hexdigest()

    def _needle(self, rng: Random, position: int, pair: int) -> Needle:
        frame = rng.choice(FRAMES)
        slots = {
            "thing": _things()[pair // len(_PEOPLE)],
            "name": _PEOPLE[pair % len(_PEOPLE)],
            "adjective": rng.choice(_things()),
            "place": rng.choice(_places()),
            "speaker": speaker_at(position, self.seed),
        }
        question = rng.choice(_OPENERS) + frame.question.format(**slots)
        if rng.random() < DATED_QUESTIONS:
            question = f"{question.removesuffix('?')}, was it {rng.choice(('last month', 'last year', 'in 2018'))}?"
        fact = frame.fact.format(**slots)
        return Needle(position=position, text=fact[0].upper() + fact[1:], question=question)


def message_id(position: int) -> str:
    return f"m{position:07}"


def speaker_at(position: int, seed: int) -> str:
    """Return the speaker at a position. Two people take turns in a scene."""
    pair = Random(f"scene {seed} {position // SCENE_MESSAGES}").sample(SPEAKERS, 2)
    return pair[position % 2]


def _scene(rng: Random) -> Sequence[str]:
    """Return the words that two people talk about in a scene."""
    return rng.choices(vocabulary(), cum_weights=_scene_weights(), k=SCENE_WORDS)


def _talk(rng: Random, topic: Sequence[str]) -> str:
    """Return a message of 5 to 45 words, usually about twenty, in sentences. It may have a name, a time or a question
    mark.
    """
    count = min(MOST_WORDS, max(FEWEST_WORDS, round(rng.lognormvariate(2.98, 0.52))))
    words = _words(rng, topic, count)
    if rng.random() < NAME_SHARE:
        words[rng.randrange(1, count)] = _name(rng)
    if rng.random() < TIME_SHARE:
        words[rng.randrange(1, count)] = rng.choice(_TIMES)
    return _punctuated(rng, words)


def _words(rng: Random, topic: Sequence[str], count: int) -> list[str]:
    frequent = rng.choices(_STOP_WORDS, k=count)
    content = rng.choices(vocabulary(), cum_weights=_weights(), k=count)
    return [
        stop if draw < STOP_SHARE else rng.choice(topic) if draw < STOP_SHARE + SCENE_SHARE else word
        for stop, word, draw in ((s, w, rng.random()) for s, w in zip(frequent, content, strict=True))
    ]


def _name(rng: Random) -> str:
    return rng.choice(_PEOPLE) if rng.random() < 0.7 else rng.choice(_places())


def _punctuated(rng: Random, words: Sequence[str]) -> str:
    sentences, start = [], 0
    while start < len(words):
        end = min(len(words), start + rng.randint(5, 14))
        sentence = " ".join(words[start:end])
        sentences.append(sentence[0].upper() + sentence[1:])
        start = end
    return ". ".join(sentences) + ("?" if rng.random() < QUESTION_SHARE else ".")


@cache
def vocabulary() -> tuple[str, ...]:
    """Return content words, the most frequent first: the words of ``words.txt``, then made-up words."""
    common = (Path(__file__).parent / "words.txt").read_text("utf-8").split()
    return (*common, *_invented(VOCABULARY - len(common), "words"))


@cache
def _things() -> tuple[str, ...]:
    """Return the words that planted facts are about. They are not frequent, but frequent enough that other messages
    have them.
    """
    return vocabulary()[100:1100]


@cache
def _places() -> tuple[str, ...]:
    return tuple(word.capitalize() for word in _invented(500, "places"))


def _invented(count: int, purpose: str) -> tuple[str, ...]:
    """Return ``count`` different words of two or three syllables. They are always the same."""
    rng, made = Random(purpose), dict[str, None]()
    while len(made) < count:
        syllables = [rng.choice(_ONSETS) + rng.choice(_NUCLEI) for _ in range(rng.choice((2, 2, 3)))]
        made["".join(syllables) + rng.choice(_CODAS)] = None
    return tuple(made)


@cache
def _weights() -> tuple[float, ...]:
    """Return cumulative Zipf-Mandelbrot weights: a word's frequency falls as ``1 / (rank + shift) ** power``."""
    return tuple(accumulate((rank + ZIPF_SHIFT) ** -ZIPF_POWER for rank in range(1, VOCABULARY + 1)))


@cache
def _scene_weights() -> tuple[float, ...]:
    """Return cumulative weights for the words of scenes. Frequent words have less weight than in :func:`_weights`."""
    return tuple(accumulate((rank + 60.0) ** -1.25 for rank in range(1, VOCABULARY + 1)))
