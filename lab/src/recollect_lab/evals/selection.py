"""Choose the questions to ask. Pure functions."""

from __future__ import annotations

from dataclasses import dataclass

from recollect_lab.datasets.dataset import Dataset, DatasetConversation, DatasetQuestion


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenQuestions:
    """A conversation, and the questions to ask about it, at least one."""

    conversation: DatasetConversation
    questions: tuple[DatasetQuestion, ...]


def choose_questions(dataset: Dataset, limit: int | None) -> tuple[ChosenQuestions, ...]:
    """Return the questions on which retrieval can be scored, or ``limit`` of them, evenly spaced over the file.

    So each conversation has its share of the questions. If the file is sorted by category, each category has its share
    too. The same file and limit always lead to the same questions.
    """
    scorable = [
        (conversation, question)
        for conversation in dataset.conversations
        for question in conversation.questions
        if question.unscored is None
    ]
    count = len(scorable) if limit is None else min(limit, len(scorable))
    taken = [scorable[position * len(scorable) // count] for position in range(count)]
    by_conversation: dict[str, list[DatasetQuestion]] = {}
    for conversation, question in taken:
        by_conversation.setdefault(conversation.id, []).append(question)
    return tuple(
        ChosenQuestions(conversation=conversation, questions=tuple(by_conversation[conversation.id]))
        for conversation in dataset.conversations
        if conversation.id in by_conversation
    )
