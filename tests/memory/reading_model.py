"""A language model that reads, weighs and reflects by rule, so that a Hindsight bank can be made without one."""

import re

from recollect.domain.banks import Profile
from recollect.methods.hindsight.reflector import FormedOpinion, ReflectReply
from recollect.methods.hindsight.reinforcer import Assessments, OpinionAssessment
from recollect.methods.hindsight.replies import (
    CausalRelation,
    ExtractedFact,
    ExtractedFacts,
    ExtractedObservation,
    NamedEntity,
)
from recollect.methods.hindsight.replies import Observations as ObservationsReply
from recollect.testing.models import FunctionModel

NAMES = ("Ada", "Ben", "Toby", "Leeds")
IRIS = Profile(name="Iris", background="I look after Ada.")
_SAID = re.compile(r"^\[(\d+)\] \(\w+\) .*?, \d\d:\d\d: (.*)$", re.MULTILINE)
_NUMBER = re.compile(r"^\[(\d+)\]", re.MULTILINE)


def reading_model():
    return FunctionModel(reply)


def reply(prompt, answer_type):
    if answer_type is ExtractedFacts:
        return ExtractedFacts(facts=tuple(facts_in(prompt.text.partition("<messages>")[2])))
    numbers = [int(number) for number in _NUMBER.findall(prompt.text)]
    if answer_type is ObservationsReply:
        told = {"Much is known.": numbers, "This was first.": numbers[:1], "This was last.": numbers[-1:]}
        return ObservationsReply(
            observations=tuple(ExtractedObservation(text=t, facts=tuple(of)) for t, of in told.items())
        )
    if answer_type is Assessments:
        believed = map(int, _NUMBER.findall(prompt.text.partition("<opinions>")[2]))
        return Assessments(assessments=tuple(assessed(number, prompt.text) for number in believed))
    assert answer_type is ReflectReply
    formed = FormedOpinion(
        statement="I think Toby does Ada good.",
        reasoning="She adopted him.",
        confidence=0.5,
        entities=("Toby", "Ada"),
        rests_on=tuple(numbers[:1]),
    )
    return ReflectReply(answer="I think so.", abstained=False, citations=(1,), opinions=(formed,))


def facts_in(shown):
    """A fact a message; "And ..." goes with the one before, with "!" by itself as well; "because" names a cause."""
    told = []
    for number, text in _SAID.findall(shown):
        before = told[-1] if told else None
        if before is not None and text.startswith("And "):
            told[-1] = fact(f"{before.what} {text}", *before.messages, int(number))
        if before is None or not text.startswith("And ") or "!" in text:
            caused = before is not None and "because" in text
            told.append(fact(text, int(number), cause=len(told) if caused else None))
    return told


def fact(text, *messages, cause=None):
    return ExtractedFact(
        what=text,
        type="world",
        entities=tuple(NamedEntity(name=name, kind="person") for name in NAMES if name in text),
        relations=() if cause is None else (CausalRelation(target=cause, relation="caused_by"),),
        messages=messages,
    )


def assessed(number, text):
    said = "contradict" if "bites" in text else "reinforce"
    revised = "I think Toby does Ada harm. He bites." if said == "contradict" else None
    return OpinionAssessment(number=number, assessment=said, reason="So it says.", text=revised)
