"""One bank: what an agent talks to."""

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

    It is safe for the tasks of one event loop, and for other processes that have the same bank open.

    Args:
        store: where it is kept.
        method: gives the bank's recipe, or another by its name, with its parts made for this bank.
        facts: what ``add_facts`` stores facts with.
        embedder: whose vectors it holds, or shall hold after :meth:`rebuild`.
        model: thinks for it, and keeps its ledger.
        work: what is done in the background; ``None`` where no model is configured.
        clock: gives the aware present.
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
        """Return what the recipe offers.

        Raises:
            InvalidInput: it does not offer this.
        """
        if offer is None:
            raise InvalidInput(f"the recipe {self._recipe.name!r} has no {name}; open the memory with one that has")
        return offer

    @property
    def _consolidators(self) -> tuple[Consolidator, ...]:
        """Who makes more of what is kept; nobody where no model is configured and nothing shall wait for one."""
        method = self._recipe
        return method.consolidators if method.has_background_work or self._work is not None else ()

    def parts(self) -> BankParts:
        """What it works with, for whoever builds on it, such as another framework's graph."""
        return BankParts(retriever=self._recipe.retriever, reader=self._store, model=self._model)

    def uses_store(self, store: Store) -> bool:
        """Whether this is the store it was opened with; a bank that was dropped and made anew has another."""
        return self._store is store

    def resume_work(self) -> None:
        """Go on with background work that an earlier process has left."""
        if self._work is not None and self._consolidators:
            self._work.wake()

    async def retain(
        self, messages: Message | Iterable[Message], *, session: str | None = None, wait: bool = False
    ) -> RetainReceipt:
        """Store messages of one session, verbatim, and make them findable. All of them, or on an error none.

        A message with an id that the bank has already, with the same words, is skipped. Where ``session`` is left
        out, it is named after the day of the first message. What a recipe makes of the messages with a model is made
        in the background; with ``wait``, before this returns, and the receipt's notes say what went wrong.

        Raises:
            InvalidInput: an empty session name.
            MessageConflict: an id is taken by a message with other words.
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
        """Store facts as they are given, and make them findable: by recall, and by the tools. All of them, or none.

        No language model is called. A fact with an id that the bank has already, saying the same, is skipped. A fact
        with sources is forgotten with any of them; one without stands on its own.

        Raises:
            InvalidInput: a source is no message of the bank, or an id is taken by a fact that says something else.
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
        """Find what the bank holds on a question.

        Args:
            text: the question, or any words.
            limit: at most so many items.
            max_tokens: at most so many tokens of evidence together; ``None`` for no bound.
            effort: how hard to look.
            kinds, sessions, speakers: only these; empty for all.
            during: only what was said in, or speaks of, that time.
            as_of: answer with what was recorded by then.
            exclude: ids of items or messages that must not come back.
            now: the present that "last week" in the question is read against; the clock's where left out.

        Raises:
            InvalidInput: a bound is not positive, an effort or kind is unknown, a time is naive.
            RecallFailed: nothing that should have looked could.
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
        """Answer a question from what the bank holds, with citations; abstain where it does not hold the answer.

        Args:
            question: in words.
            recipe: answer as another recipe does; the memory's own where left out.
            narrowed: how memory is searched (:class:`recollect.memory.query_options.RecallOptions`).

        Without a language model the answer is empty, and holds the evidence with a note that says so.

        Raises:
            InvalidInput: a bound is not positive, a time is naive, there is no such recipe.
            RecallFailed: nothing that should have looked could.
            ModelError: the model failed, or its tokens are used up.
        """
        return await self._answer(self._method(recipe), build_query(question, narrowed, self._clock()), ignore_event)

    async def ask_stream(
        self, question: str, *, recipe: str | None = None, **narrowed: Unpack[RecallOptions]
    ) -> AsyncIterator[AnswerEvent | Answer]:
        """Answer as :meth:`ask` does, and give what is done on the way as soon as it is over; the answer comes last.

        What is done is a :class:`recollect.domain.traces.LoopRound`, an iteration of a loop with what is known and
        missing since, or a :class:`recollect.domain.answers.Step`, anything else in words. Closing the iterator before
        its end stops the work (``contextlib.aclosing``); so does cancelling the task that reads it.

        Raises:
            InvalidInput, RecallFailed, ModelError: as :meth:`ask`, when the iterator is read.
        """
        method, query = self._method(recipe), build_query(question, narrowed, self._clock())
        async with aclosing(stream_answer(lambda follow: self._answer(method, query, follow))) as events:
            async for event in events:
                yield event

    async def reflect(self, question: str, *, recipe: str | None = None, **narrowed: Unpack[RecallOptions]) -> Answer:
        """Answer as the bank's profile would, and form opinions where the question calls for judgement (CARA).

        The arguments are those of :meth:`ask`. ``Answer.opinions`` holds the ids of opinions that were formed.

        Raises:
            NoModel: no language model is configured.
            InvalidInput, RecallFailed, ModelError: as :meth:`ask`.
        """
        query = build_query(question, narrowed, self._clock())
        if missing := self._model.missing(ModelRole.REFLECT, "reflect"):
            raise missing
        return await self._commit_response(await self._method(recipe).reflect.respond(query, self._store))

    def tools(self, **narrowed: Unpack[RecallOptions]) -> AgentTools:
        """Return the recipe's tools over this bank, for an agent of yours; make new ones for each question.

        ``tools.schemas`` are JSON schemas of functions, and ``await tools.call(name, arguments)`` makes a call as a
        model has written it: its ``text`` goes back to the model. Or hand over the methods themselves, such as
        ``tools.semantic_retrieve``. Our recipes offer REMem's five tools. They find gists and facts, which a bank has
        where a recipe such as ``remem`` makes them.

        Args:
            narrowed: what the tools may find (:class:`recollect.memory.query_options.RecallOptions`). ``limit`` bounds
            what a
                retrieval brings, gists and facts each; ``max_tokens`` and ``effort`` have no effect.

        Raises:
            InvalidInput: a bound is not positive, a time is naive.
        """
        make_tools = self._offered(self._recipe.tools, "tools")
        return make_tools(build_query("", narrowed, self._clock()), self._store)

    async def opinions(self, *, entity: str | None = None) -> list[Opinion]:
        """Return what the bank believes, the newest first, each with every step of how it came to that.

        ``entity``: only opinions on it, by id, name or any surface form.

        Raises:
            InvalidInput: the recipe has no opinions, or the bank knows nobody and nothing of that name.
        """
        beliefs = self._offered(self._recipe.beliefs, "opinions")
        return await beliefs.opinions(self._store, entity=await find_entity_id(self._store, entity))

    async def set_profile(self, profile: Profile) -> None:
        """Say who the bank's agent is, in place of what was said before."""

        async def derive(_: StoreReader) -> Changeset:
            return Changeset(settings=(make_profile_setting(profile),))

        await self._commit(derive)

    async def add_background(self, snippet: str) -> Profile:
        """Merge what is new about the agent into its background (Hindsight, equation 27); gives the profile.

        Raises:
            NoModel: there is a background already, and no language model is configured to merge the two.
            ModelError: the model failed; the background is as it was.
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
        """Remove every message that meets any of these, with everything derived from it, and check that it is gone.

        ``messages`` by id; ``session`` and ``speaker`` by name; ``entity`` by id, name or any surface form: every
        message of an item that mentions it, and every message that holds one of its names word for word (of an episode
        these alone, unless there is none); ``during`` by when it was said. What shared a turn with a forgotten message
        is kept, and encoded anew in the same transaction, as is the summary of a segment that loses some of its
        messages; what shared something else that was made of both, such as a fact, is read again in the background, and
        what goes though it was made of facts that stay too, such as an observation, is made again of these.

        ``facts`` are ids of facts that :meth:`add_facts` stored. One that has no source is also forgotten by
        ``entity``, where it names the entity, and by ``during``, where it was mentioned then.

        On an error nothing is forgotten.

        Raises:
            InvalidInput: nothing was selected.
            ModelUnavailable: something is to be encoded anew, and the embedder could not be reached.
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
            raise InvalidInput("forget needs to be told what: messages, session, speaker, entity, during or facts")
        async with self._writing:
            return await retry_until_current(self._store, lambda: self._forget(selection))

    async def undo_merge(self, merge: str) -> Merge:
        """Take a merge back by its id: the name gets an entity of its own, and is never merged there again.

        Raises:
            InvalidInput: there is no such merge, or it has been undone.
        """
        async with self._writing:
            return await undo_merge(self._store, merge, self._clock())

    async def import_(self, lines: Iterable[str]) -> BankInfo:
        """Take in what :meth:`export` gave, into an empty bank; what was still to be done there is done here.

        Raises:
            InvalidInput: the bank is not empty, or the lines are no export.
            MalformedLine: a line is damaged; what came before it is kept.
        """
        async with self._writing:
            await import_lines(self._store, lines, self._embedder)
        self.resume_work()
        return await self._store.info()

    async def rebuild(self) -> BankInfo:
        """Embed every item anew with the configured embedder; nothing else is touched."""
        async with self._writing:
            await embed_anew(self._store, self._embedder)
        return await self._store.info()

    async def backfill(self) -> int:
        """Have the recipe read, in the background, what nothing was made of: kept under another recipe, for example.

        It is put into segments at once, if there are any. Messages of jobs that wait or run are left to these. Gives
        how many messages are to be read.
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
        """Set how like messages must be to recur, by the bank's own (RecMem, 3.6); without ``apply``, only say it.

        A ``share`` of them shall have ``theta_count`` earlier ones as like them as that.

        Raises:
            InvalidInput: a number is out of its range, or the bank has too few messages to tell.
        """
        calibrator = self._offered(self._recipe.calibrator, "calibration")
        found = await calibrator.calibrate(self._store, share=share, theta_count=theta_count)

        async def derive(_: StoreReader) -> Changeset:
            return Changeset(settings=(calibrator.setting(found, share=share, now=self._clock()),))

        if apply:
            await self._commit(derive)
        return replace(found, stored=apply)

    async def _forget(self, selection: ForgetSelection) -> ForgetReceipt:
        """Forget, with what is left of torn turns, and the jobs that make anew what is left of other things."""
        torn = await self._store.plan_forget(selection)
        remade = Changeset()
        if torn.turns or torn.segments:
            remade = await self._recipe.encoder.encode_remaining(torn, reader=self._store)
        jobs = await make_remake_jobs(torn, remade, self._store, self._consolidators, self._clock())
        receipt = await self._store.forget(selection, replace(remade, expected_version=torn.version, jobs=jobs))
        if jobs and self._work is not None:
            self._work.wake()
        return receipt

    async def _answer(self, method: AssembledRecipe, query: Query, follow: Listener) -> Answer:
        """The method's answer; where there is no model, the evidence in its place.

        A model that is missing is known before anything is searched. One that is missing for a single role of a method,
        such as reading segments, shows when it is called.
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
        """The answer, when what it changes is stored."""
        if response.derive is not None:
            await self._commit(response.derive)
        return response.answer

    async def _commit(self, derive: Derive) -> Changeset:
        """Derive and commit, one write at a time; again when another process was faster.

        Raises:
            StaleWrite: others kept being faster.
        """
        async with self._writing:
            return await commit_derived(self._store, derive)
