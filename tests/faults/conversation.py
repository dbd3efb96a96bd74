"""A small conversation, and a model that answers every question on it the same way each time."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta

from recollect import Message, Role

FIRST, LATER = ("s1",), ("s2", "s3")
DAYS = {
    "s1": datetime(2024, 5, 3, 18, tzinfo=UTC),
    "s2": datetime(2024, 5, 20, 8, tzinfo=UTC),
    "s3": datetime(2024, 6, 10, 12, tzinfo=UTC),
}
SAID = {
    "s1": (
        ("Ada", "I adopted Toby from the shelter today. He is a beagle."),
        ("Iris", "I think dogs are good company for people who live alone."),
        ("Ada", "That is why I did it! My sister Nora helped me to choose him. 🐕"),
    ),
    "s2": (
        ("Ada", "Toby chewed my best shoes."),
        ("Iris", "What will you do about it?"),
        ("Ada", "We walk along the river every morning now; I have met half the street there."),
    ),
    "s3": (
        ("Ada", "I enrolled in a carpentry course in Lyon."),
        ("Ada", "So I gave Toby to Nora, since nobody was at home."),
    ),
}
COMPANY, OUTSIDE, HOME = "company", "reason to go out", "better home"
"""What each of the three opinions is recognised by: one is voiced, two are formed by reflecting."""

QUESTIONS = {"Is Toby good for Ada?": OUTSIDE, "Where should Toby live?": HOME}


def messages_of(session: str) -> list[Message]:
    return [
        Message(
            id=f"{session}-{n}",
            speaker=speaker,
            role=Role.ASSISTANT if speaker == "Iris" else Role.USER,
            text=text,
            at=DAYS[session] + timedelta(minutes=n),
        )
        for n, (speaker, text) in enumerate(SAID[session])
    ]


def _fact(what: str, names: str, *messages: int, **more: object) -> dict[str, object]:
    kinds = {"Ada": "person", "Nora": "person", "Toby": "other", "Lyon": "location"}
    entities = [{"name": name, "kind": kinds[name]} for name in names.split()]
    return {"what": what, "type": "world", "entities": entities, "messages": list(messages), **more}


def _because_of(target: int) -> list[dict[str, object]]:
    return [{"target": target, "relation": "caused_by"}]


FACTS = {
    "s1": [
        _fact("Ada adopted Toby, a beagle, from the shelter.", "Ada Toby", 1, start="2024-05-03", when="3 May 2024"),
        _fact("I think dogs are good company for people who live alone.", "Toby", 2, type="opinion"),
        _fact("Nora, the sister of Ada, helped her to choose Toby.", "Nora Ada Toby", 3),
        _fact(
            "Living alone was what made Ada want a dog.", "Ada", 3, 1, relations=[{"target": 1, "relation": "causes"}]
        ),
    ],
    "s2": [
        _fact("Toby chewed the best shoes that Ada had.", "Toby Ada", 1, start="2024-05-20"),
        _fact("Every morning Ada walks along the river with Toby.", "Ada Toby", 3),
        _fact("Ada met half of her street on these walks with Toby.", "Ada Toby", 3, relations=_because_of(2)),
    ],
    "s3": [
        _fact("Ada enrolled in a carpentry course in Lyon.", "Ada Lyon", 1),
        _fact("Ada gave Toby to Nora, since nobody was at home.", "Ada Toby Nora", 2, relations=_because_of(1)),
    ],
}
MOVES = {
    "Ada adopted Toby": {COMPANY: "reinforce"},
    "chewed": {COMPANY: "weaken"},
    "met half": {COMPANY: "reinforce", OUTSIDE: "reinforce"},
    "gave Toby": {COMPANY: "contradict", OUTSIDE: "contradict"},
}
"""What facts say of opinions. No order of them takes a confidence to 0 or 1, so the order makes no difference."""

REVISED = "I think dogs are good company only for people who are at home a lot."
STATEMENTS = {
    OUTSIDE: ("I believe Toby gives Ada a reason to go out.", 0.55, "Ada adopted Toby, a beagle"),
    HOME: ("In my view, the house of Nora is the better home for Toby.", 0.7, "Ada gave Toby to Nora"),
}


def reply_to(operation: str, subject: str, text: str) -> dict[str, object]:
    """What the model answers to a prompt, before JSON."""
    if operation == "hindsight.extract":
        return {"facts": FACTS[subject.partition("#")[0]]}
    if operation == "hindsight.observe":
        return _observed(subject, text)
    if operation == "hindsight.reinforce":
        return _assessed(text)
    return _reflected(subject, text)


def _observed(name: str, text: str) -> dict[str, object]:
    count = _last_number(text)
    parts = [list(range(start, count + 1, 3)) for start in (1, 2, 3)]
    told = (f"{name} is told of in {len(part)} of {count} facts, part {n}." for n, part in enumerate(parts, start=1))
    return {"observations": [{"text": one, "facts": part} for one, part in zip(told, parts, strict=True)]}


def _assessed(text: str) -> dict[str, object]:
    fact, _, opinions = text.partition("<opinions>")
    moves = next((moves for words, moves in MOVES.items() if words in fact), {})
    return {"assessments": [_assessment(int(n), line, moves) for n, line in _numbered(opinions)]}


def _assessment(number: int, opinion: str, moves: dict[str, str]) -> dict[str, object]:
    said = next((moves[words] for words in moves if words in opinion), "neutral")
    text = REVISED if said == "contradict" and COMPANY in opinion else None
    return {"number": number, "assessment": said, "reason": "The fact says so.", "text": text}


def _reflected(question: str, text: str) -> dict[str, object]:
    statement, confidence, basis = STATEMENTS[QUESTIONS[question]]
    number = next(int(n) for n, line in _numbered(text) if basis in line)
    opinion = {
        "statement": statement,
        "reasoning": "That is what happened.",
        "confidence": confidence,
        "entities": ["Ada", "Toby"],
        "rests_on": [number],
        "updates": None,
    }
    return {"answer": statement, "abstained": False, "citations": [number], "opinions": [opinion]}


def _numbered(text: str) -> list[tuple[str, str]]:
    return re.findall(r"^\[(\d+)\] (.*)$", text, re.MULTILINE)


def _last_number(text: str) -> int:
    return max(int(number) for number, _ in _numbered(text))


def as_json(reply: dict[str, object]) -> str:
    return json.dumps(reply, ensure_ascii=False)
