"""LongMemEval (Wu et al., 2024, "LongMemEval: Benchmarking Chat Assistants on Long-Term Interactive Memory").

What is taken, and how:

- Every question has a haystack of its own, so every question is a conversation, and gets a bank.
- **The file's session ids never get into a bank**: those with the evidence begin with "answer_". Sessions are sorted by
  time (those of one minute stay as the file has them) and named by position, s001, s002; messages s001:001. The gold
  sessions are renamed with them; a session that is in the haystack twice is two sessions.
- Times are read as UTC; a session's messages are said one second apart, from the session's time on.
- Sessions dated after the question stay: the published haystacks have them, and some hold evidence.
- Gold messages are those marked ``has_answer``. A question without any is scored on sessions only; abstention questions
  (ids that end in "_abs") are kept, and not scored: what they ask was never said.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NotRequired, TypedDict, cast

from recollect.domain.messages import Message, Role
from recollect.errors import InvalidInput
from recollect_lab.datasets.dataset import Dataset, DatasetConversation, DatasetQuestion, DatasetSession
from recollect_lab.datasets.files import read_source


class _LongMemEvalTurn(TypedDict):
    role: str
    content: str
    has_answer: NotRequired[bool]


class _LongMemEvalQuestion(TypedDict):
    question_id: str
    question_type: str
    question: str
    question_date: str
    answer: str | int
    answer_session_ids: list[str]
    haystack_dates: list[str]
    haystack_session_ids: list[str]
    haystack_sessions: list[list[_LongMemEvalTurn]]


def load_longmemeval(path: Path) -> Dataset:
    """Read a LongMemEval file (S, M or oracle): JSON, or JSON in gzip. Places are exchanges.

    Raises:
        InvalidInput: the file cannot be read, or is no LongMemEval file.
    """
    source = read_source(path)
    try:
        conversations = tuple(
            _read_conversation(row) for row in cast(list[_LongMemEvalQuestion], json.loads(source.text))
        )
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as exc:
        raise InvalidInput(f"{path} is no LongMemEval file: {type(exc).__name__}: {exc}") from exc
    return Dataset(name=source.name, conversations=conversations, place="exchange", checksum=source.checksum)


def _read_conversation(row: _LongMemEvalQuestion) -> DatasetConversation:
    haystack = zip(row["haystack_dates"], row["haystack_session_ids"], row["haystack_sessions"], strict=True)
    in_order = sorted(((_parse_time(date), name, turns) for date, name, turns in haystack), key=lambda one: one[0])
    renamed = [(f"s{position:03d}", at, name, turns) for position, (at, name, turns) in enumerate(in_order, 1)]
    gold = set(row["answer_session_ids"])
    question = DatasetQuestion(
        id=row["question_id"],
        text=row["question"],
        category=row["question_type"],
        at=_parse_time(row["question_date"]),
        answer=str(row["answer"]),
        evidence=tuple(said for new, _, _, turns in renamed for said in _find_gold_messages(new, turns)),
        sessions=tuple(new for new, _, name, _ in renamed if name in gold),
        unscored=_find_exclusion_reason(row),
    )
    sessions = tuple(_read_session(new, at, turns) for new, at, _, turns in renamed)
    return DatasetConversation(id=row["question_id"], sessions=sessions, questions=(question,))


def _find_exclusion_reason(row: _LongMemEvalQuestion) -> str | None:
    if row["question_id"].endswith("_abs"):
        return "abstention"
    return None if set(row["answer_session_ids"]) & set(row["haystack_session_ids"]) else "no evidence"


def _find_gold_messages(session: str, turns: list[_LongMemEvalTurn]) -> list[str]:
    return [_make_message_id(session, position) for position, turn in enumerate(turns, 1) if turn.get("has_answer")]


def _read_session(name: str, at: datetime, turns: list[_LongMemEvalTurn]) -> DatasetSession:
    messages = (
        Message(
            id=_make_message_id(name, position),
            speaker=turn["role"],
            role=Role(turn["role"]),
            text=turn["content"],
            at=at + timedelta(seconds=position - 1),
        )
        for position, turn in enumerate(turns, 1)
    )
    return DatasetSession(id=name, at=at, messages=tuple(messages))


def _make_message_id(session: str, position: int) -> str:
    return f"{session}:{position:03d}"


def _parse_time(text: str) -> datetime:
    return datetime.strptime(text, "%Y/%m/%d (%a) %H:%M").replace(tzinfo=UTC)
