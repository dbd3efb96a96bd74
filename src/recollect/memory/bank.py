"""One bank: retain, recall, ask, reflect and forget."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import datetime
from typing import TypeVar, Unpack

from recollect.domain.answers import Answer
from recollect.domain.banks import BankInfo, Profile
from recollect.domain.calibration import Calibration
from recollect.domain.changes import Changeset
from recollect.domain.entities import Merge
from recollect.domain.facts import Fact, make_given_id
from recollect.domain.items import ItemKind
from recollect.domain.messages import Message
from recollect.domain.opinions import Opinion
from recollect.domain.queries import Effort, Query
from recollect.domain.recalls import Recall
from recollect.domain.receipts import FactsReceipt, ForgetReceipt, RetainReceipt
from recollect.domain.time import Interval
from recollect.errors import InvalidInput, NoModel
from recollect.memory.answer_stream import stream_answer
from recollect.memory.evidence_answer import answer_with_evidence
from recollect.memory.merges import undo_merge
from recollect.memory.name_lookup import choose_session_name, find_entity_id
from recollect.memory.query_options import RecallOptions, build_query, normalize_names
from recollect.memory.queue import BankJobs, make_backfill_jobs, make_remake_jobs
from recollect.memory.rebuild import embed_anew
from recollect.memory.services import BankModel, BankParts, JobRunner
from recollect.memory.transfer import import_lines
from recollect.models.embedder import Embedder
from recollect.models.language import ModelRole
from recollect.ports import AgentTools, AnswerEvent, Consolidator, Listener, Response, add_jobs, ignore_event
from recollect.recipes import AssembledRecipe
from recollect.retain.facts import FactEncoder
from recollect.store.commit_retry import Derive, commit_derived, retry_until_current
from recollect.store.profile_setting import make_profile_setting
from recollect.store.protocol import ForgetSelection, Store, StoreReader

T = TypeVar("T")

Clock = Callable[[], datetime]


class Bank(BankJobs):
    """A bank of memories. Open it with :meth:`recollect.Memory.bank`.

    The tasks of one event loop can share it. Other processes can have the same bank open.

    Args:
        store: the store of this bank.
        method: returns the bank's recipe for ``None``, or another recipe by its name, with its parts made for this
            bank.
        facts: the encoder that ``add_facts`` uses.
        embedder: the embedder of the bank's vectors. :meth:`rebuild` changes the vectors to those of this embedder.
        model: the language model of this bank, which also writes the bank's ledger.
        work: runs the background jobs. It is ``None`` if no model is configured.
        clock: returns the present as an aware datetime.
    """

    def __init__(
        self,
        store: Store,
        *,
        method: Callable[[str | None], AssembledRecipe],
        facts: FactEncoder,
        embedder: Embedder,
        model: BankModel,
        work: JobRunner | None,
        clock: Clock,
    ) -> None:
        super().__init__(store, work)
        self._method = method
        self._embedder, self._model, self._clock = embedder, model, clock
        self._facts = facts
        self._writing = asyncio.Lock()

    @property
    def _recipe(self) -> AssembledRecipe:
        return self._method(None)

    def _offered(self, offer: T | None, name: str) -> T:
        """Return a part that the recipe may offer.

        Raises:
            InvalidInput: the recipe does not offer this part.
        """
        if offer is None:
            raise InvalidInput(
                f"the recipe {self._recipe.name!r} has no {name}; open the memory with a recipe that offers this"
            )
        return offer

    @property
    def _consolidators(self) -> tuple[Consolidator, ...]:
        """Return the consolidators for new content.

        There are none if no model is configured and the recipe does not queue jobs for a later model.
        """
        method = self._recipe
        return method.consolidators if method.has_background_work or self._work is not None else ()

    def parts(self) -> BankParts:
        """Return the retriever, the reader and the model of this bank, to build on them, for example with another
        framework.
        """
        return BankParts(retriever=self._recipe.retriever, reader=self._store, model=self._model)

    def uses_store(self, store: Store) -> bool:
        """Return true if the bank was opened with this store. A bank that was dropped and created again has another
        store.
        """
        return self._store is store

    def resume_work(self) -> None:
        """Continue the background work that an earlier process did not finish."""
        if self._work is not None and self._consolidators:
            self._work.wake()

    async def retain(
        self, messages: Message | Iterable[Message], *, session: str | None = None, wait: bool = False
    ) -> RetainReceipt:
        """Store messages of one session verbatim, and make them searchable. On an error, no message is stored.

        A message is skipped if the bank has a message with the same id and the same words. Without ``session``, the
        session is named after the day of the first message. If the recipe derives more from the messages with a model,
        this is done in the background. With ``wait``, it is done before this method returns, and the receipt's notes
        describe what failed.

        Raises:
            InvalidInput: the name of the session is empty.
            MessageConflict: the bank has a message with the same id and other words.
            StoreUnavailable: the disk is full, or the bank cannot be written.
        """
        given = [messages] if isinstance(messages, Message) else list(messages)
        began, now = time.perf_counter(), self._clock()
        name = choose_session_name(given, session, now)

        async def derive(reader: StoreReader) -> Changeset:
            changes = await self._recipe.encoder.encode(given, session=name, reader=reader, now=now)
            return add_jobs(changes, self._consolidators, now)

        changes = await self._commit(derive) if given else Changeset()
        return RetainReceipt(
            session=name,
            messages=tuple(message.id for message in changes.messages),
            skipped=len(given) - len(changes.messages),
            items=len(changes.items),
            links=len(changes.links),
            entities=len(changes.entities),
            merges=len(changes.merges),
            jobs=len(changes.jobs),
            notes=await self._start_jobs(changes, wait),
            seconds=time.perf_counter() - began,
        )

    async def add_facts(self, facts: Fact | Iterable[Fact]) -> FactsReceipt:
        """Store facts as they are given, and make them searchable for recall and for the tools. On an error, no fact is
        stored.

        No language model is called. A fact is skipped if the bank has the same fact with the same id. A fact that has
        sources is forgotten together with any of them. A fact without sources does not depend on a message.

        Raises:
            InvalidInput: a source is not a message of the bank, or the bank has another fact with the same id.
            ModelUnavailable: the embedder could not be reached.
            StoreUnavailable: the disk is full, or the bank cannot be written.
        """
        given = [facts] if isinstance(facts, Fact) else list(facts)
        given = [fact if fact.id else replace(fact, id=secrets.token_hex(8)) for fact in given]
        began, now = time.perf_counter(), self._clock()
        ids: tuple[str, ...] = ()

        async def derive(reader: StoreReader) -> Changeset:
            nonlocal ids
            encoded = await self._facts.encode(given, reader=reader, now=now)
            ids = encoded.ids
            return encoded.changes

        changes = await self._commit(derive) if given else Changeset()
        return FactsReceipt(
            facts=ids,
            skipped=len(given) - len(changes.items),
            entities=len(changes.entities),
            merges=len(changes.merges),
            seconds=time.perf_counter() - began,
        )

    async def recall(
        self,
        text: str,
        *,
        limit: int = 20,
        max_tokens: int | None = 4096,
        effort: Effort | str = Effort.MID,
        kinds: Sequence[ItemKind | str] = (),
        sessions: str | Iterable[str] = (),
        speakers: str | Iterable[str] = (),
        during: Interval | None = None,
        as_of: datetime | None = None,
        exclude: str | Iterable[str] = (),
        now: datetime | None = None,
    ) -> Recall:
        """Find evidence in the bank for a question.

        Args:
            text: the question, or any words.
            limit: the maximum number of items.
            max_tokens: the maximum number of tokens of all evidence together. ``None`` means no limit.
            effort: how thorough the search is: ``low``, ``mid`` or ``high``.
            kinds, sessions, speakers: only items of these. Empty means all.
            during: only items that were said in this time, or that speak of it.
            as_of: only what was recorded by this moment.
            exclude: ids of items or messages that must not be returned.
            now: the present for expressions such as "last week" in the question. By default it is the time of the
                clock.

        Raises:
            InvalidInput: a limit is not positive, an effort or a kind is unknown, or a time has no zone.
            RecallFailed: every arm of the search failed.
        """
        narrowed = RecallOptions(
            limit=limit,
            max_tokens=max_tokens,
            effort=effort,
            kinds=kinds,
            sessions=sessions,
            speakers=speakers,
            during=during,
            as_of=as_of,
            exclude=exclude,
            now=now,
        )
        return await self._recipe.retriever.retrieve(build_query(text, narrowed, self._clock()), self._store)

    async def ask(self, question: str, *, recipe: str | None = None, **narrowed: Unpack[RecallOptions]) -> Answer:
        """Answer a question from the bank, with citations. The answer abstains if the bank does not contain the
        information.

        Args:
            question: the question in words.
            recipe: the name of the recipe that answers. By default it is the recipe of the memory.
            narrowed: the options of the search (:class:`recollect.memory.asking.RecallOptions`).

        Without a language model, the text of the answer is empty. The answer then has the evidence, and a note that
        says why.

        Raises:
            InvalidInput: a limit is not positive, a time has no zone, or there is no such recipe.
            RecallFailed: every arm of the search failed.
            ModelError: the model failed, or its limit on tokens is used up.
        """
        return await self._answer(self._method(recipe), build_query(question, narrowed, self._clock()), ignore_event)

    async def ask_stream(
        self, question: str, *, recipe: str | None = None, **narrowed: Unpack[RecallOptions]
    ) -> AsyncIterator[AnswerEvent | Answer]:
        """Answer as :meth:`ask` does. Yield each step when it is finished, and the answer at the end.

        A step is a :class:`recollect.domain.traces.LoopRound` or a :class:`recollect.domain.answers.Step`. The first is
        an iteration of a loop, with the evidence and the gaps after it. The second is any other step, described in
        words. To stop the work, close the iterator before its end (``contextlib.aclosing``), or cancel the task that
        reads it.

        Raises:
            InvalidInput, RecallFailed, ModelError: as for :meth:`ask`. They are raised when the iterator is read.
        """
        method, query = self._method(recipe), build_query(question, narrowed, self._clock())
        async with aclosing(stream_answer(lambda follow: self._answer(method, query, follow))) as events:
            async for event in events:
                yield event

    async def reflect(self, question: str, *, recipe: str | None = None, **narrowed: Unpack[RecallOptions]) -> Answer:
        """Answer as the agent of the bank's profile would. Form opinions if the question calls for judgement (CARA).

        The arguments are those of :meth:`ask`. ``Answer.opinions`` contains the ids of the opinions that were formed.

        Raises:
            NoModel: no language model is configured.
            InvalidInput, RecallFailed, ModelError: as for :meth:`ask`.
        """
        query = build_query(question, narrowed, self._clock())
        if missing := self._model.missing(ModelRole.REFLECT, "reflect"):
            raise missing
        return await self._commit_response(await self._method(recipe).reflect.respond(query, self._store))

    def tools(self, **narrowed: Unpack[RecallOptions]) -> AgentTools:
        """Return the recipe's tools over this bank, for your own agent. Make new tools for each question.

        ``tools.schemas`` are JSON schemas of functions. ``await tools.call(name, arguments)`` runs a call as a model
        has written it. Return the ``text`` of its result to the model. You can also give the methods themselves to an
        agent, such as ``tools.semantic_retrieve``. Our recipes offer REMem's five tools, which find gists and facts. A
        bank has gists and facts if a recipe such as ``remem`` makes them.

        Args:
            narrowed: limits what the tools can find (:class:`recollect.memory.asking.RecallOptions`). ``limit`` is the
                maximum number of gists, and of facts, in the result of one call. ``max_tokens`` and ``effort`` have no
                effect.

        Raises:
            InvalidInput: a limit is not positive, or a time has no zone.
        """
        make_tools = self._offered(self._recipe.tools, "tools")
        return make_tools(build_query("", narrowed, self._clock()), self._store)

    async def opinions(self, *, entity: str | None = None) -> list[Opinion]:
        """Return the opinions of the bank, the newest first. Each opinion has the whole history of its changes.

        Args:
            entity: return only opinions on this entity. Give its id, its name or any surface form.

        Raises:
            InvalidInput: the recipe has no opinions, or the bank has no entity of this name.
        """
        beliefs = self._offered(self._recipe.beliefs, "opinions")
        return await beliefs.opinions(self._store, entity=await find_entity_id(self._store, entity))

    async def set_profile(self, profile: Profile) -> None:
        """Set the profile of the bank's agent. It replaces the earlier profile."""

        async def derive(_: StoreReader) -> Changeset:
            return Changeset(settings=(make_profile_setting(profile),))

        await self._commit(derive)

    async def add_background(self, snippet: str) -> Profile:
        """Merge new information about the agent into its background (Hindsight, equation 27). Return the changed
        profile.

        Raises:
            NoModel: the profile has a background already, and no language model is configured to merge the two.
            ModelError: the model failed. The background is unchanged.
        """
        beliefs = self._offered(self._recipe.beliefs, "background")
        profile = await self.profile()
        merged = replace(profile, background=await beliefs.merge_background(profile.background, snippet))
        await self.set_profile(merged)
        return merged

    async def forget(
        self,
        *,
        messages: str | Iterable[str] = (),
        session: str | Iterable[str] = (),
        speaker: str | Iterable[str] = (),
        entity: str | Iterable[str] = (),
        during: Interval | None = None,
        facts: str | Iterable[str] = (),
    ) -> ForgetReceipt:
        """Remove every message that matches any of the criteria, and everything derived from it. Then check that it is
        gone.

        If a forgotten message shares an item with other messages, the other messages stay. Turns, and the summary of a
        segment that loses some of its messages, are encoded again in the same transaction. For other items, such as
        facts, the remaining messages are read again in the background. Items that were derived from facts which stay,
        such as observations, are derived again from these facts.

        On an error, nothing is forgotten.

        Args:
            messages: ids of messages.
            session: names of sessions.
            speaker: names of speakers.
            entity: ids, names or surface forms of entities. This selects every message of an item that mentions the
                entity, and every message that contains one of its names word for word. Of an episode, only the messages
                that contain a name are selected, or all of its messages if none contains one.
            during: the time in which a message was said.
            facts: ids of facts that :meth:`add_facts` stored. Facts without a source are also selected by ``entity`` if
                they name the entity, and by ``during`` if they were mentioned in that time.

        Raises:
            InvalidInput: no criterion was given.
            ModelUnavailable: some items must be encoded again, and the embedder could not be reached.
            StoreUnavailable: the bank cannot be written.
        """
        selection = ForgetSelection(
            messages=normalize_names(messages),
            sessions=normalize_names(session),
            speakers=normalize_names(speaker),
            entities=normalize_names(entity),
            during=during,
            facts=tuple(map(make_given_id, normalize_names(facts))),
        )
        if selection == ForgetSelection():
            raise InvalidInput(
                "forget needs at least one of these arguments: messages, session, speaker, entity, during, facts"
            )
        async with self._writing:
            return await retry_until_current(self._store, lambda: self._forget(selection))

    async def undo_merge(self, merge: str) -> Merge:
        """Undo a merge by its id. The name gets a new entity, and is never merged into the old entity again.

        Raises:
            InvalidInput: there is no such merge, or it has been undone.
        """
        async with self._writing:
            return await undo_merge(self._store, merge, self._clock())

    async def import_(self, lines: Iterable[str]) -> BankInfo:
        """Import the lines of :meth:`export` into an empty bank. Unfinished jobs of the exported bank are continued
        here.

        Raises:
            InvalidInput: the bank is not empty, or the lines are not an export.
            MalformedLine: a line is damaged. The lines before it are kept.
        """
        async with self._writing:
            await import_lines(self._store, lines, self._embedder)
        self.resume_work()
        return await self._store.info()

    async def rebuild(self) -> BankInfo:
        """Embed every item again with the configured embedder. Nothing else changes."""
        async with self._writing:
            await embed_anew(self._store, self._embedder)
        return await self._store.info()

    async def backfill(self) -> int:
        """Let the recipe process, in the background, messages from which it has derived nothing. Return their number.

        Such messages were, for example, stored under another recipe. They are divided into segments at once, if the
        recipe has segments. Messages of waiting or running jobs are left to these jobs.
        """
        count = 0

        async def derive(reader: StoreReader) -> Changeset:
            nonlocal count
            caught_up = await self._recipe.encoder.catch_up(reader=reader)
            changes, count = await make_backfill_jobs(caught_up, reader, self._consolidators, self._clock())
            return changes

        await self._commit(derive)
        if count:
            self.resume_work()
        return count

    async def calibrate(self, *, share: float = 0.05, theta_count: int = 5, apply: bool = True) -> Calibration:
        """Find the similarity at which messages recur, from the bank's own messages (RecMem, 3.6).

        At this similarity, a ``share`` of the messages has at least ``theta_count`` similar earlier messages. The bank
        uses the new value from now on. Without ``apply``, the value is only returned.

        Raises:
            InvalidInput: a number is out of its range, or the bank has too few messages.
        """
        calibrator = self._offered(self._recipe.calibrator, "calibration")
        found = await calibrator.calibrate(self._store, share=share, theta_count=theta_count)

        async def derive(_: StoreReader) -> Changeset:
            return Changeset(settings=(calibrator.setting(found, share=share, now=self._clock()),))

        if apply:
            await self._commit(derive)
        return replace(found, stored=apply)

    async def _forget(self, selection: ForgetSelection) -> ForgetReceipt:
        """Forget, encode again the rest of turns and segments, and queue the jobs that derive the rest of other items
        again.
        """
        plan = await self._store.plan_forget(selection)
        remade = Changeset()
        if plan.turns or plan.segments:
            remade = await self._recipe.encoder.encode_remaining(plan, reader=self._store)
        jobs = await make_remake_jobs(plan, remade, self._store, self._consolidators, self._clock())
        receipt = await self._store.forget(selection, replace(remade, expected_version=plan.version, jobs=jobs))
        if jobs and self._work is not None:
            self._work.wake()
        return receipt

    async def _answer(self, method: AssembledRecipe, query: Query, follow: Listener) -> Answer:
        """Return the method's answer, or the evidence alone if there is no model.

        A missing model is known before the search. A model that is missing only for one role of a method, such as
        reading segments, is found out when it is called.
        """
        missing = self._model.missing(ModelRole.ANSWER, "ask")
        if missing and method.answers_with_model:
            return await answer_with_evidence(query, method.retriever, self._store, note=str(missing))
        try:
            response = await method.answer.respond(query, self._store, follow)
        except NoModel as exc:
            return await answer_with_evidence(query, method.retriever, self._store, note=str(exc))
        return await self._commit_response(response)

    async def _commit_response(self, response: Response) -> Answer:
        """Store the changes of a response, and return its answer."""
        if response.derive is not None:
            await self._commit(response.derive)
        return response.answer

    async def _commit(self, derive: Derive) -> Changeset:
        """Derive and commit changes, one write at a time. Try again if another process has written first.

        Raises:
            StaleWrite: other processes have written first at every try.
        """
        async with self._writing:
            return await commit_derived(self._store, derive)
