"""Move opinions with new facts (Hindsight, section 5.5): select candidates, assess them in one call, update
confidence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import ClassVar, Final, Literal

import numpy as np
from numpy.typing import NDArray

from recollect.answering.evidence import join_lines, render_with_times
from recollect.domain.changes import Changeset
from recollect.domain.items import Item, ItemKind
from recollect.domain.jobs import Job
from recollect.domain.opinions import Assessment, Opinion
from recollect.errors import InvalidInput
from recollect.methods.dependencies import Dependencies
from recollect.methods.hindsight.opinions import (
    OpinionChange,
    OpinionSettings,
    derive_opinion_changes,
    is_in_first_person,
    load_opinions,
)
from recollect.models.language import ModelRole, Prompt
from recollect.ports import Derive
from recollect.store.protocol import StoreReader
from recollect.text.fencing import DATA_RULE, fence_text

KIND: Final = "hindsight.reinforce"

Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReinforceSettings:
    """The constants of reinforcement.

    ``alpha`` is the step of equation 26, in (0, 1). ``theta`` is the cosine above which an opinion is a candidate
    without a shared entity (equation 25). ``most`` is the number of candidates for one fact.
    """

    alpha: float = 0.15
    theta: float = 0.5
    most: int = 8
    opinions: OpinionSettings = OpinionSettings()

    def __post_init__(self) -> None:
        if not 0.0 < self.alpha < 1.0:
            raise InvalidInput(f"alpha is {self.alpha}; it lies between 0 and 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpinionAssessment:
    """The meaning of the new fact for the opinion of that number.

    A neutral assessment has no text. Other texts are in the first person.
    """

    __pydantic_config__: ClassVar = {"title": "Assessed"}  # its name in requests to a model, recorded ones too

    number: int
    assessment: Literal["reinforce", "weaken", "contradict", "neutral"]
    reason: str
    text: str | None = None

    def __post_init__(self) -> None:
        if self.text is None:
            return
        if self.assessment == "neutral":
            raise ValueError(f"opinion {self.number}: what is neutral leaves the text as it is")
        if not is_in_first_person(self.text):
            raise ValueError(f"opinion {self.number}: the text must begin in the first person, as in 'I think'")


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessments:
    """The assessments of the opinions, each once."""

    assessments: tuple[OpinionAssessment, ...]

    def __post_init__(self) -> None:
        numbers = [one.number for one in self.assessments]
        if len(set(numbers)) != len(numbers):
            raise ValueError("assess each opinion once")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpinionCandidate:
    """An opinion with the ids of its entities and its vector, float32 ``(dimension,)``, of length 1."""

    opinion: Opinion
    entities: frozenset[str]
    vector: Vector


class Reinforcer:
    """Assesses each new fact against the opinions that it may affect. See :class:`recollect.ports.Consolidator`."""

    def __init__(self, parts: Dependencies, settings: ReinforceSettings | None = None) -> None:
        self._parts, self._settings = parts, settings or ReinforceSettings()

    @property
    def kind(self) -> str:
        return KIND

    def plan_jobs(self, changes: Changeset, now: datetime) -> tuple[Job, ...]:
        """Return a job for each new fact, due at once. The fact that was said first is assessed first."""
        facts = (entry.item for entry in changes.items if entry.item.kind is ItemKind.FACT)
        return tuple(
            Job(
                id=f"{KIND}:{fact.id}",
                kind=KIND,
                payload=fact.id,
                messages=fact.sources,
                due=min(now, fact.mentioned),
            )
            for fact in facts
        )

    async def consolidate(self, job: Job, reader: StoreReader, now: datetime) -> Derive:
        """Assess the fact. The changes apply the assessments to the opinions as they are at the commit.

        A fact that was forgotten, or affects no opinion, needs no call.
        """
        fact = next((item for item in await reader.items([job.payload]) if item.superseded is None), None)
        candidates = [] if fact is None else await self._find_candidates(fact, reader)
        assessed = await self._assess(fact, candidates) if fact is not None and candidates else {}

        async def derive(reader: StoreReader) -> Changeset:
            if not assessed:
                return Changeset()
            return await derive_opinion_changes(
                partial(plan_moves, fact=job.payload, assessed=assessed, alpha=self._settings.alpha),
                at=now,
                parts=self._parts,
                reader=reader,
                settings=self._settings.opinions,
            )

        return derive

    async def _find_candidates(self, fact: Item, reader: StoreReader) -> list[Opinion]:
        opinions = [opinion for opinion in await load_opinions(reader) if fact.id not in opinion.evidence]
        if not opinions:
            return []
        entities: dict[str, set[str]] = {}
        for mention in await reader.mentions_of([fact.id, *(opinion.steps[-1].id for opinion in opinions)]):
            entities.setdefault(mention.item, set()).add(mention.entity)
        vectors = await self._parts.embedder.embed([fact.text, *(opinion.text for opinion in opinions)])
        among = [
            OpinionCandidate(opinion=opinion, entities=frozenset(entities.get(opinion.steps[-1].id, ())), vector=vector)
            for opinion, vector in zip(opinions, vectors[1:], strict=True)
        ]
        chosen = select_candidates(frozenset(entities.get(fact.id, ())), vectors[0], among, self._settings)
        return [candidate.opinion for candidate in chosen]

    async def _assess(self, fact: Item, candidates: Sequence[Opinion]) -> dict[str, tuple[Opinion, OpinionAssessment]]:
        """Return, by the ids of opinions, each assessed opinion and its assessment."""

        def check(reply: Assessments) -> None:
            known = range(1, len(candidates) + 1)
            for one in reply.assessments:
                if one.number not in known:
                    raise ValueError(f"there is no opinion {one.number}; they are numbered 1 to {len(candidates)}")

        reply = await self._parts.model.generate(build_assessment_prompt(fact, candidates), Assessments, check=check)
        return {candidates[one.number - 1].id: (candidates[one.number - 1], one) for one in reply.value.assessments}


def select_candidates(
    entities: frozenset[str], vector: Vector, among: Sequence[OpinionCandidate], settings: ReinforceSettings
) -> list[OpinionCandidate]:
    """Return the opinions that a fact may affect (equation 25): at most ``most``, the most similar first.

    Args:
        entities, vector: those of the fact. Vectors have length 1, so their product is the cosine.
        among: the opinions.
        settings: the threshold and the bound.
    """
    likeness = {candidate.opinion.id: float(candidate.vector @ vector) for candidate in among}
    found = [
        candidate
        for candidate in among
        if candidate.entities & entities or likeness[candidate.opinion.id] > settings.theta
    ]
    found.sort(key=lambda candidate: (-likeness[candidate.opinion.id], candidate.opinion.id))
    return found[: settings.most]


def update_confidence(confidence: float, assessment: Assessment, alpha: float) -> float:
    """Return the confidence after evidence (equation 26). ``alpha`` is in (0, 1).

    Raises:
        ValueError: the assessment is not one of evidence.
    """
    match assessment:
        case Assessment.REINFORCE:
            return min(confidence + alpha, 1.0)
        case Assessment.WEAKEN:
            return max(confidence - alpha, 0.0)
        case Assessment.CONTRADICT:
            return max(confidence - 2 * alpha, 0.0)
        case Assessment.NEUTRAL:
            return confidence
        case _:
            raise ValueError(f"{assessment} is not what evidence says of an opinion")


def plan_moves(
    held: Sequence[Opinion], *, fact: str, assessed: Mapping[str, tuple[Opinion, OpinionAssessment]], alpha: float
) -> list[OpinionChange]:
    """Return the next steps of the present opinions after the assessments of a fact.

    A fact moves an opinion only once. A proposed text is used only if the opinion has not changed since the proposal.
    """
    steps = []
    for opinion in held:
        if opinion.id not in assessed or fact in opinion.evidence:
            continue
        before, one = assessed[opinion.id]
        assessment = Assessment(one.assessment)
        if assessment is not Assessment.NEUTRAL:
            steps.append(
                OpinionChange(
                    opinion=opinion.id,
                    text=one.text if one.text and before.text == opinion.text else opinion.text,
                    confidence=update_confidence(opinion.confidence, assessment, alpha),
                    assessment=assessment,
                    evidence=(fact,),
                )
            )
    return steps


_SYSTEM: Final = f"""You decide what one new fact means for opinions that are held already.

For every opinion say one of these:
- reinforce: the fact is a good reason to believe it more; it would move somebody who doubts it.
- weaken: the fact is a reason to believe it less, or an exception to it; also advice that events have overtaken.
- contradict: the fact cannot be squared with it.
- neutral: the fact is about something else, merely fits, or was to be expected either way.

Judge what the fact itself says, not what you know of the world. A fact that only shares a name with an opinion is \
neutral; most facts are. Give a short reason for each. Where an opinion that is not neutral no longer reads true as it \
stands, or the fact lets you put it more exactly, you may give its text anew: one or two sentences in English and in \
the first person ("I think ..."), with their reason. Else give null.

{DATA_RULE}"""


def build_assessment_prompt(fact: Item, opinions: Sequence[Opinion]) -> Prompt:
    """Return the prompt with a fact and the candidate opinions. Opinions are numbered from 1."""
    # Without their confidence: what a fact says of an opinion does not depend on how firmly it is held.
    lines = [f"[{number}] {join_lines(opinion.text)}" for number, opinion in enumerate(opinions, start=1)]
    return Prompt(
        role=ModelRole.CONSOLIDATE,
        operation=KIND,
        subject=fact.id,
        system=_SYSTEM,
        text=f"{fence_text('new_fact', render_with_times(fact))}\n\n{fence_text('opinions', chr(10).join(lines))}",
    )
