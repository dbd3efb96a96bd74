"""Run MemR3 without a bank, over any retriever."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import datetime
from typing import Final, NoReturn, cast

from recollect.app import build_embedder, load_settings
from recollect.app.models import ModelArgument, choose_model
from recollect.domain.answers import Answer
from recollect.domain.queries import Query
from recollect.errors import InvalidInput
from recollect.memory.memory import utc_now
from recollect.memory.query_options import RecallOptions, build_query
from recollect.methods.dependencies import Dependencies
from recollect.methods.memr3.answer import LoopResponder
from recollect.methods.memr3.settings import LoopSettings
from recollect.models.language import LanguageModel
from recollect.ports import Listener, Retriever, ignore_event
from recollect.retain.entity_directory import DirectoryCache
from recollect.store.protocol import StoreReader


class MissingBank:
    """Stands for the reader of a bank where there is no bank. Reading anything from it is an error."""

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        raise InvalidInput(f"this retriever reads {name!r} of a bank, and there is no bank. Use bank.ask instead")


NO_BANK: Final = cast(StoreReader, MissingBank())
"""The reader for retrievers over another memory. MemR3's loop reads nothing from a bank either."""


async def answer_over(
    retriever: Retriever,
    question: str,
    *,
    model: ModelArgument | None = None,
    settings: LoopSettings | None = None,
    limit: int = 20,
    max_tokens: int | None = 4096,
    exclude: str | Iterable[str] = (),
    now: datetime | None = None,
    follow: Listener = ignore_event,
) -> Answer:
    """Answer a question with MemR3's loop over a memory of another framework. No bank is needed.

    Nothing is stored, and no ledger is written. ``Answer.trace`` has the iterations of the loop.

    Args:
        retriever: finds the evidence: a retriever of this package, or any :class:`recollect.ports.Retriever` that does
            not use its reader.
        question: the question.
        model: a model, in any form that :meth:`recollect.Memory.open` takes. By default it is read from the
            environment.
        settings: the limits of the loop.
        limit: the maximum number of pieces of evidence in one retrieval, in addition to ``settings.n_chk``.
        max_tokens: the maximum number of tokens of evidence in all retrievals together. ``None`` means no limit.
        exclude: ids of pieces that must not be returned.
        now: the aware present for expressions such as "last week". By default it is the time of the clock.
        follow: receives each iteration when it is finished.

    Raises:
        NoModel: no language model is configured.
        InvalidInput: a limit is not positive, a time has no zone, or the model's name is not a name.
        RecallFailed: the search failed before there was any evidence.
        ModelError: the model failed before there was any evidence, or it could not write the answer.
    """
    narrowed = RecallOptions(limit=limit, max_tokens=max_tokens, exclude=exclude, now=now)
    chosen = choose_model(model, load_settings(os.environ))
    return await answer_query(retriever, build_query(question, narrowed, utc_now()), chosen, settings, follow=follow)


async def answer_query(
    retriever: Retriever,
    query: Query,
    model: LanguageModel,
    settings: LoopSettings | None = None,
    *,
    reader: StoreReader = NO_BANK,
    follow: Listener = ignore_event,
) -> Answer:
    """Answer a query over a retriever, as :func:`answer_over` does, with a model that is already built.

    Raises:
        RecallFailed, ModelError: as :func:`answer_over`.
    """
    parts = Dependencies(
        embedder=build_embedder("none"),  # the loop embeds nothing
        retriever=retriever,
        model=model,
        names=DirectoryCache(),
        clock=utc_now,
    )
    responder = LoopResponder(parts, settings or LoopSettings())
    return await responder.answer(query, reader, follow)
