"""Which questions are put. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from recollect_lab.datasets.dataset import Dataset, DatasetConversation, DatasetQuestion


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenQuestions:
    """A conversation, and the questions to put to it: at least one."""

    conversation: DatasetConversation
    questions: tuple[DatasetQuestion, ...]


def choose_questions(dataset: Dataset, limit: int | None) -> tuple[ChosenQuestions, ...]:
    """The questions that retrieval can be scored on, or ``limit`` of them, evenly spaced over the file.

    So each conversation takes part by its share, and so does each category where a file is sorted by category. The
    same file and limit give the same questions.
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
