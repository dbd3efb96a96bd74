"""Read LoCoMo (Maharana et al., 2024, "Evaluating Very Long-Term Conversational Memory of LLM Agents").

The loader reads the file as follows:

- A session has a time in the file, but its messages do not. Its messages get times one second apart, from the time of
  the session on (read as UTC), so that their order is kept. A question is asked at the time of the last message.
- Captions of pictures (``blip_caption``) are retained, separate from the text. The search words of the pictures
  (``query``) and their addresses are not retained, because nobody in the conversation has seen them.
- Questions of category 5 are left out and counted (adversarial: their evidence answers another question). So are
  questions with the same text as an earlier one in the conversation. Questions without evidence are kept, but not
  scored.
- Evidence is repaired: "D8:6; D9:17" is two ids, "D:11:26" is D11:26, and "D30:05" is D30:5. An id that is given twice
  counts once. Evidence that still names no message ("D", "D10:19") is dropped and counted.
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
from recollect_lab.datasets.dataset import Dataset, DatasetConversation, DatasetQuestion, DatasetSession
from recollect_lab.datasets.files import read_source

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
_ADVERSARIAL = 5

_SESSION = re.compile(r"session_(\d+)")
_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")


class _LocomoTurn(TypedDict):
    speaker: str
    dia_id: str
    text: str
    blip_caption: NotRequired[str]


class _LocomoQuestion(TypedDict):
    question: str
    category: int
    evidence: list[str]
    answer: NotRequired[str | int | None]


class _LocomoSample(TypedDict):
    sample_id: str
    conversation: Mapping[str, Any]  # the vendor's shape: session_N: list[_Turn]; session_N_date_time: str
    qa: list[_LocomoQuestion]


@dataclass(frozen=True, slots=True, kw_only=True)
class _LoadedSample:
    """One conversation, and the numbers of questions and pieces of evidence that were left out."""

    conversation: DatasetConversation
    left_out: Counter[str]
    bad_evidence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _RepairedEvidence:
    ids: tuple[str, ...]
    bad: int


def load_locomo(path: Path) -> Dataset:
    """Read a LoCoMo file: JSON, or JSON in gzip. Places are messages.

    Raises:
        InvalidInput: the file cannot be read, or is not a LoCoMo file.
    """
    source = read_source(path)
    try:
        taken = [_load_sample(sample) for sample in cast(list[_LocomoSample], json.loads(source.text))]
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as exc:
        raise InvalidInput(f"{path} is not a LoCoMo file: {type(exc).__name__}: {exc}") from exc
    return Dataset(
        name=source.name,
        conversations=tuple(one.conversation for one in taken),
        place="message",
        checksum=source.checksum,
        left_out=dict(sum((one.left_out for one in taken), Counter[str]())),
        bad_evidence=sum(one.bad_evidence for one in taken),
    )


def _load_sample(sample: _LocomoSample) -> _LoadedSample:
    sessions = _read_sessions(sample["conversation"])
    session_of = {message.id: session.id for session in sessions for message in session.messages if message.id}
    reasons = [_find_exclusion_reason(position, sample["qa"]) for position in range(len(sample["qa"]))]
    asked = [(position, row) for position, row in enumerate(sample["qa"]) if reasons[position] is None]
    evidence = [repair_evidence(row["evidence"], session_of) for _, row in asked]
    now = sessions[-1].messages[-1].at
    questions = tuple(
        _read_question(f"{sample['sample_id']}:q{position + 1:03d}", row, found, session_of, now)
        for (position, row), found in zip(asked, evidence, strict=True)
    )
    return _LoadedSample(
        conversation=DatasetConversation(id=sample["sample_id"], sessions=sessions, questions=questions),
        left_out=Counter(reason for reason in reasons if reason is not None),
        bad_evidence=sum(found.bad for found in evidence),
    )


def _find_exclusion_reason(position: int, rows: list[_LocomoQuestion]) -> str | None:
    row = rows[position]
    if row["category"] == _ADVERSARIAL:
        return "adversarial"
    before = (other["question"] for other in rows[:position] if other["category"] != _ADVERSARIAL)
    return "repeated" if row["question"] in before else None


def _read_question(
    name: str, row: _LocomoQuestion, found: _RepairedEvidence, session_of: Mapping[str, str], now: datetime | None
) -> DatasetQuestion:
    return DatasetQuestion(
        id=name,
        text=row["question"],
        category=CATEGORIES[row["category"]],
        at=now,
        answer=str(row.get("answer", "")),
        evidence=found.ids,
        sessions=tuple(dict.fromkeys(session_of[name] for name in found.ids)),
        unscored=None if found.ids else "no evidence",
    )


def repair_evidence(given: Iterable[str], known: Mapping[str, str]) -> _RepairedEvidence:
    """Read the evidence that annotators wrote. ``known`` has the ids of the conversation's messages as keys."""
    ids: list[str] = []
    bad = 0
    for text in given:
        named = [f"D{int(session)}:{int(turn)}" for session, turn in _EVIDENCE.findall(text)]
        kept = [name for name in named if name in known]
        ids += kept
        bad += max(len(named), 1) - len(kept)
    return _RepairedEvidence(ids=tuple(dict.fromkeys(ids)), bad=bad)


def _read_sessions(conversation: Mapping[str, Any]) -> tuple[DatasetSession, ...]:
    """Return the sessions that have messages, in order of time. (The file has dates of some sessions that are not in
    it.)
    """
    names = [name for name, turns in conversation.items() if _SESSION.fullmatch(name) and turns]
    sessions = (_read_session(name, conversation[name], conversation[f"{name}_date_time"]) for name in names)
    return tuple(sorted(sessions, key=lambda session: session.at))


def _read_session(name: str, turns: list[_LocomoTurn], date: str) -> DatasetSession:
    at = datetime.strptime(date, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
    messages = (_read_message(turn, at + timedelta(seconds=position)) for position, turn in enumerate(turns))
    return DatasetSession(id=name, at=at, messages=tuple(messages))


def _read_message(turn: _LocomoTurn, at: datetime) -> Message:
    caption = turn.get("blip_caption")
    return Message(
        id=turn["dia_id"],
        speaker=turn["speaker"],
        text=turn["text"],
        at=at,
        captions=(caption,) if caption else (),
    )
