"""A language model of no wit that answers whatever Hindsight asks, soundly: by the type of the answer alone."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing

from recollect.methods.default.first_pass import FirstPassReply
from recollect.methods.hindsight.answerer import AnswererReply
from recollect.methods.hindsight.background import MergedBackground
from recollect.methods.hindsight.observer import FEWEST_FACTS
from recollect.methods.hindsight.reflector import FormedOpinion, ReflectReply
from recollect.methods.hindsight.reinforcer import Assessments, OpinionAssessment
from recollect.methods.hindsight.replies import (
    CausalRelation,
    ExtractedFact,
    ExtractedFacts,
    ExtractedObservation,
    NamedEntity,
    Observations,
)
from recollect.methods.memr3.answer import ConclusionReply
from recollect.methods.memr3.trace import Finding
from recollect.methods.memr3.tracker import GenerationReply
from recollect.models.languages.replies import find_schema_name
from recollect.testing.models import FunctionModel

HINDSIGHT = ("--recipe", "hindsight", "--model", "openai:x")
"""Options of a command that has a model."""


def make_due(bank="default"):
    """Let every job of a bank of the working folder's store be due, without waiting for its time."""
    with closing(sqlite3.connect(f"recollect-data/{bank}.bank")) as connection, connection:
        connection.execute("UPDATE job SET due = 0")


_NUMBERED = re.compile(r"^\[(\d+)\] (.*)$", re.M)
_NAME = re.compile(r"\b[A-Z][a-z]+\b")


def standin(**kept):
    """A model that answers soundly; ``kept`` are other values by the names of their types, or errors to raise."""

    def answer(prompt, answer_type):
        value = kept.get(find_schema_name(answer_type)) or sound(prompt.text, find_schema_name(answer_type))
        if isinstance(value, Exception):
            raise value
        return value

    return FunctionModel(answer, name="standin")


def sound(text, kind):
    """A sound answer to the text of a prompt."""
    return {
        "Answered": _answered,
        "FirstPass": _passed,
        "Generated": _generated,
        "Concluded": lambda numbered, text: ConclusionReply(**_SO),
        "Reflected": _reflected,
        "ExtractedFacts": _extracted,
        "Observations": _observed,
        "Assessments": _assessed,
        "Merged": lambda numbered, text: MergedBackground(background="I am Iris. I keep notes."),
    }[kind](_NUMBERED.findall(text), text)


def _extracted(numbered, text):
    """A fact for each of the first two new messages; the first causes the second."""
    context = len(_NUMBERED.findall(text.partition("<messages>")[0]))
    facts = [
        ExtractedFact(
            what=f"It was said that {words.rpartition(': ')[2]}",
            type="world",
            start="2023-07-11",
            entities=tuple(NamedEntity(name=name, kind="person") for name in ("Ada", "Toby") if name in words),
            messages=(int(number),),
        )
        for number, words in numbered[context : context + 2]
    ]
    if len(facts) == 2:
        first = facts[0]
        facts[0] = ExtractedFact(
            what=first.what,
            type="world",
            start=first.start,
            entities=first.entities,
            messages=first.messages,
            relations=(CausalRelation(target=2, relation="causes"),),
        )
    return ExtractedFacts(facts=tuple(facts))


def _observed(numbered, text):
    return Observations(
        observations=tuple(
            ExtractedObservation(text=f"Ada is known for {n} things.", facts=(1, 2)) for n in range(FEWEST_FACTS)
        )
    )


def _assessed(numbered, text):
    numbers = [int(number) for number, _ in numbered]
    return Assessments(
        assessments=tuple(
            OpinionAssessment(number=number, assessment="reinforce", reason="it fits") for number in numbers
        )
    )


def _answered(numbered, text):
    if "dentist" in text.rpartition("<question>")[2]:
        return AnswererReply(reasoning="nobody said", answer="Memory does not say.", abstained=True, citations=())
    return AnswererReply(reasoning="entry 1 says so", answer="Entry one says so.", abstained=False, citations=(1, 2))


_SO = {"reasoning": "entry 1 says so", "answer": "Entry one says so.", "abstained": False, "citations": (1,)}


def _passed(numbered, text):
    return FirstPassReply(**_SO)


def _generated(numbered, text):
    """The first snippet that is shown is all that is needed."""
    known = Finding(fact=numbered[0][1] if numbered else "Nothing else is known.", snippets=(1,))
    return GenerationReply(evidence=(known,), gaps=(), decision="answer", draft="So it is said.")


def _reflected(numbered, text):
    opinion = FormedOpinion(
        statement="I think dogs are good for Ada",
        reasoning="she laughs more",
        confidence=0.6,
        entities=("Ada",),
        rests_on=(1,),
    )
    return ReflectReply(answer="I think so, as far as I know.", abstained=False, citations=(1,), opinions=(opinion,))
