"""The wordings of questions: several for each type and for both sides of a line."""

from __future__ import annotations

from typing import Final

Wordings = tuple[str, ...]
Sided = dict[str, Wordings]
"""Wordings by the side of the line that is known: its object, or its subject."""

BEFORE_AFTER: Final[Sided] = {
    "object": (
        "Immediately {side} {other}, which entity was the {relation} of {entity}?",
        "Which entity was the {relation} of {entity} right {side} {other} was?",
        "Find the entity whose time as the {relation} of {entity} came directly {side} that of {other}.",
    ),
    "subject": (
        "{entity} was the {relation} of which entity immediately {side} it was the {relation} of {other}?",
        "Right {side} its time as the {relation} of {other}, {entity} was the {relation} of which entity?",
        "Find the entity that {entity} was the {relation} of directly {side} {other}.",
    ),
}
AT_TIME: Final[Sided] = {
    "object": (
        "Which entity was the {relation} of {entity} in {time}?",
        "In {time}, which entity was the {relation} of {entity}?",
        "Find the entity that was the {relation} of {entity} in {time}.",
    ),
    "subject": (
        "{entity} was the {relation} of which entity in {time}?",
        "In {time}, {entity} was the {relation} of which entity?",
        "Find the entity that {entity} was the {relation} of in {time}.",
    ),
}
WHAT_TIME: Final[Sided] = {
    "start": (
        "When did {subject} start being the {relation} of {object}?",
        "In which {unit} did {subject} become the {relation} of {object}?",
        "Find the {unit} in which the time of {subject} as the {relation} of {object} began.",
    ),
    "end": (
        "When did {subject} stop being the {relation} of {object}?",
        "In which {unit} did {subject} cease to be the {relation} of {object}?",
        "Find the {unit} in which the time of {subject} as the {relation} of {object} ended.",
    ),
}
"""Wordings by the time that is asked for: the start or the end."""

FIRST_LAST: Final[Sided] = {
    "object": (
        "Which entity was the {place} to be the {relation} of {entity}?",
        "Of all entities that were the {relation} of {entity}, which was the {place}?",
        "Find the {place} entity that was the {relation} of {entity}.",
    ),
    "subject": (
        "Which entity was the {place} that {entity} was the {relation} of?",
        "Of all entities that {entity} was the {relation} of, which was the {place}?",
        "Find the {place} entity that {entity} was the {relation} of.",
    ),
}
AT_EVENT: Final[Sided] = {
    "object": (
        "Which entity was the {relation} of {entity} at the time when {event}?",
        "When {event}, which entity was the {relation} of {entity}?",
        "Find the entity that was the {relation} of {entity} in the {unit} in which {event}.",
    ),
    "subject": (
        "{entity} was the {relation} of which entity at the time when {event}?",
        "When {event}, {entity} was the {relation} of which entity?",
        "Find the entity that {entity} was the {relation} of in the {unit} in which {event}.",
    ),
}
EVENTS: Final[Sided] = {
    "start": (
        "{subject} started being the {relation} of {object}",
        "{subject} became the {relation} of {object}",
    ),
    "end": (
        "{subject} stopped being the {relation} of {object}",
        "{subject} ceased to be the {relation} of {object}",
    ),
}
NUMBER_OF_ENTITIES: Final[Sided] = {
    "object": (
        "Find the number of unique entities that were the {relation} of {entity} between {first} and {last}. {bounds}",
        "How many different entities were the {relation} of {entity} between {first} and {last}? {bounds}",
    ),
    "subject": (
        "Find the number of unique entities that {entity} was the {relation} of between {first} and {last}. {bounds}",
        "Of how many different entities was {entity} the {relation} between {first} and {last}? {bounds}",
    ),
}
NUMBER_OF_TIMES: Final[Sided] = {
    "object": (
        "How many times was any entity the {relation} of {entity} between {first} and {last}? {bounds}",
        "Count the times at which an entity was the {relation} of {entity} between {first} and {last}; an entity that "
        "was so twice counts twice. {bounds}",
    ),
    "subject": (
        "How many times was {entity} the {relation} of any entity between {first} and {last}? {bounds}",
        "Count the times at which {entity} was the {relation} of an entity between {first} and {last}; an entity that "
        "was met twice counts twice. {bounds}",
    ),
}
BOUNDS: Final = {
    True: "What ended in {first} or began in {last} counts as well.",
    False: "What ended in {first} or began in {last} does not count.",
}
LASTED: Final = (
    "When {subject} was the {relation} of {object} for the {place} time, for how many {unit}s did it last? "
    "Subtract the start from the end.",
    "For how many {unit}s, end less start, was {subject} the {relation} of {object} the {place} time?",
)
LASTED_ONCE: Final = (
    "For how many {unit}s was {subject} the {relation} of {object}? Subtract the start from the end.",
    "How many {unit}s did the time of {subject} as the {relation} of {object} last, end less start?",
)
IN_ORDER: Final[Sided] = {
    "object": (
        "List every entity that was the {relation} of {entity}{within}, {order}, and name it once for each time.",
        "Write a timeline, {order}, of all entities that were the {relation} of {entity}{within}; one that was so "
        "several times stands there as often.",
    ),
    "subject": (
        "List every entity that {entity} was the {relation} of{within}, {order}, and name it once for each time.",
        "Write a timeline, {order}, of all entities that {entity} was the {relation} of{within}; one that was met "
        "several times stands there as often.",
    ),
}
WITHIN: Final = " at some time from {first} to {last}, both included"
EARLIEST_FIRST: Final = "in the order in which their times began"
LATEST_FIRST: Final = "the latest beginning first"
