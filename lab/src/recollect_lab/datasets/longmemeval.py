"""Read LongMemEval (Wu et al., 2024, "LongMemEval: Benchmarking Chat Assistants on Long-Term Interactive Memory").

The loader reads the file as follows:

- Every question has its own haystack, so every question is a conversation and gets its own bank.
- **No bank contains the file's session ids**, because the ids of sessions with evidence begin with "answer_". Sessions
  are sorted by time (those of the same minute stay in the order of the file) and named by position: s001, s002. Their
  messages are s001:001 and so on. The gold sessions are renamed in the same way. A session that is in the haystack
  twice counts as two sessions.
- Times are read as UTC. The messages of a session get times one second apart, from the time of the session on.
- Sessions with a date after the question are kept: the published haystacks have them, and some contain evidence.
- Gold messages are those with ``has_answer``. A question without any is scored on sessions only. Abstention questions
  (their ids end in "_abs") are kept, but not scored, because nobody said what they ask for.
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
        InvalidInput: the file cannot be read, or is not a LongMemEval file.
    """
    source = read_source(path)
    try:
        conversations = tuple(
            _read_conversation(row) for row in cast(list[_LongMemEvalQuestion], json.loads(source.text))
        )
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as exc:
        raise InvalidInput(f"{path} is not a LongMemEval file: {type(exc).__name__}: {exc}") from exc
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
