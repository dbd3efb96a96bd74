"""LoCoMo (Maharana et al., 2024, "Evaluating Very Long-Term Conversational Memory of LLM Agents").

What is taken, and how:

- A session's messages are said one second apart, from the session's time on (read as UTC): the file dates sessions
  only, and the order must be kept. A question is asked at the time of the last message.
- Captions of pictures (``blip_caption``) are retained, apart from the text. The words the pictures were searched with
  (``query``) and their addresses are not: nobody in the conversation has seen them.
- Left out and counted: category 5 (adversarial: what it cites answers another question), and a question whose text was
  asked in the same conversation before. Questions without evidence are kept, and not scored.
- Evidence is mended: "D8:6; D9:17" is two ids, "D:11:26" is D11:26, "D30:05" is D30:5, an id given twice is one, and
  what then names no message ("D", "D10:19") is dropped and counted.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NotRequired, TypedDict, cast

from recollect.domain.messages import Message
from recollect.errors import InvalidInput
from recollect_lab.datasets.dataset import Conversation, Dataset, Question, Session
from recollect_lab.datasets.files import read_source

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
_ADVERSARIAL = 5

_SESSION = re.compile(r"session_(\d+)")
_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")


class _Turn(TypedDict):
    speaker: str
    dia_id: str
    text: str
    blip_caption: NotRequired[str]


class _Asked(TypedDict):
    question: str
    category: int
    evidence: list[str]
    answer: NotRequired[str | int | None]


class _Sample(TypedDict):
    sample_id: str
    conversation: Mapping[str, Any]  # the vendor's shape: session_N: list[_Turn]; session_N_date_time: str
    qa: list[_Asked]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Taken:
    """One conversation, and what of it was not taken."""

    conversation: Conversation
    left_out: Counter[str]
    bad_evidence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Evidence:
    ids: tuple[str, ...]
    bad: int


def load(path: Path) -> Dataset:
    """Read a LoCoMo file: JSON, or JSON in gzip. Places are messages.

    Raises:
        InvalidInput: the file cannot be read, or is no LoCoMo file.
    """
    source = read_source(path)
    try:
        taken = [_take(sample) for sample in cast(list[_Sample], json.loads(source.text))]
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as exc:
        raise InvalidInput(f"{path} is no LoCoMo file: {type(exc).__name__}: {exc}") from exc
    return Dataset(
        name=source.name,
        conversations=tuple(one.conversation for one in taken),
        place="message",
        checksum=source.checksum,
        left_out=dict(sum((one.left_out for one in taken), Counter[str]())),
        bad_evidence=sum(one.bad_evidence for one in taken),
    )


def _take(sample: _Sample) -> _Taken:
    sessions = _sessions(sample["conversation"])
    session_of = {message.id: session.id for session in sessions for message in session.messages if message.id}
    reasons = [_reason_to_leave(position, sample["qa"]) for position in range(len(sample["qa"]))]
    asked = [(position, row) for position, row in enumerate(sample["qa"]) if reasons[position] is None]
    evidence = [mend_evidence(row["evidence"], session_of) for _, row in asked]
    now = sessions[-1].messages[-1].at
    questions = tuple(
        _question(f"{sample['sample_id']}:q{position + 1:03d}", row, found, session_of, now)
        for (position, row), found in zip(asked, evidence, strict=True)
    )
    return _Taken(
        conversation=Conversation(id=sample["sample_id"], sessions=sessions, questions=questions),
        left_out=Counter(reason for reason in reasons if reason is not None),
        bad_evidence=sum(found.bad for found in evidence),
    )


def _reason_to_leave(position: int, rows: list[_Asked]) -> str | None:
    row = rows[position]
    if row["category"] == _ADVERSARIAL:
        return "adversarial"
    before = (other["question"] for other in rows[:position] if other["category"] != _ADVERSARIAL)
    return "repeated" if row["question"] in before else None


def _question(
    name: str, row: _Asked, found: _Evidence, session_of: Mapping[str, str], now: datetime | None
) -> Question:
    return Question(
        id=name,
        text=row["question"],
        category=CATEGORIES[row["category"]],
        at=now,
        answer=str(row.get("answer", "")),
        evidence=found.ids,
        sessions=tuple(dict.fromkeys(session_of[name] for name in found.ids)),
        unscored=None if found.ids else "no evidence",
    )


def mend_evidence(given: Iterable[str], known: Mapping[str, str]) -> _Evidence:
    """Read what annotators wrote as evidence; ``known`` has the ids of the conversation's messages as keys."""
    ids: list[str] = []
    bad = 0
    for text in given:
        named = [f"D{int(session)}:{int(turn)}" for session, turn in _EVIDENCE.findall(text)]
        kept = [name for name in named if name in known]
        ids += kept
        bad += max(len(named), 1) - len(kept)
    return _Evidence(ids=tuple(dict.fromkeys(ids)), bad=bad)


def _sessions(conversation: Mapping[str, Any]) -> tuple[Session, ...]:
    """The sessions that have messages, in order of time. (The file dates some sessions that it does not have.)"""
    names = [name for name, turns in conversation.items() if _SESSION.fullmatch(name) and turns]
    sessions = (_session(name, conversation[name], conversation[f"{name}_date_time"]) for name in names)
    return tuple(sorted(sessions, key=lambda session: session.at))


def _session(name: str, turns: list[_Turn], date: str) -> Session:
    at = datetime.strptime(date, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
    messages = (_message(turn, at + timedelta(seconds=position)) for position, turn in enumerate(turns))
    return Session(id=name, at=at, messages=tuple(messages))


def _message(turn: _Turn, at: datetime) -> Message:
    caption = turn.get("blip_caption")
    return Message(
        id=turn["dia_id"],
        speaker=turn["speaker"],
        text=turn["text"],
        at=at,
        captions=(caption,) if caption else (),
    )
