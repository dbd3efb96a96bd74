"""One bank: everything that can be done with it. The methods that write are here, the others in the base classes."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable
from dataclasses import replace

from recollect.domain.banks import BankInfo
from recollect.domain.changes import Changeset
from recollect.domain.checks import require_all, require_interval, require_key, require_texts
from recollect.domain.entities import Merge
from recollect.domain.facts import Fact, make_given_id
from recollect.domain.messages import Message, StoredMessage
from recollect.domain.receipts import FactsReceipt, ForgetReceipt, ForgottenReplies, RetainReceipt, Verification
from recollect.domain.time import Interval
from recollect.errors import InvalidInput
from recollect.memory.contents import BankContents
from recollect.memory.deadline import Deadline
from recollect.memory.merges import undo_merge
from recollect.memory.name_lookup import choose_session_name
from recollect.memory.offers import BankOffers
from recollect.memory.questions import BankQuestions
from recollect.memory.queue import BankJobs, make_backfill_jobs, make_remake_jobs
from recollect.memory.rebuild import embed_anew
from recollect.memory.services import BankParts
from recollect.memory.transfer import import_lines
from recollect.ports import add_jobs
from recollect.store.commit_retry import write_in_turn
from recollect.store.protocol import ForgetSelection, Store, StoreReader
from recollect.text.quotes import make_quotes

_ENCODED_AT_ONCE = 500


class Bank(BankContents, BankQuestions, BankOffers, BankJobs):
    """A bank of memories. Open it with :meth:`recollect.Memory.bank`.

    The tasks of one event loop can share it. Other processes can have the same bank open.
    """

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

    async def retain(
        self,
        messages: Message | Iterable[Message],
        *,
        session: str | None = None,
        wait: bool = False,
        timeout: float | None = None,
    ) -> RetainReceipt:
        """Store messages of one session verbatim, and make them searchable. On an error, no message is stored.

        A message is skipped if the bank has a message with the same id and the same words. Without ``session``, the
        session is named after the day of the first message. If the recipe derives more from the messages with a model,
        this is done in the background. With ``wait``, it is done before this method returns, and the receipt's notes
        describe what failed.

        ``timeout`` is the number of seconds after which the call ends, whatever it waits for. Other writes of the bank
        do not wait for its embedder. When the messages are stored, the call succeeds: with ``wait``, background work
        that is not done by then continues after the call, and a note says so.

        Raises:
            InvalidInput: the name of the session is empty, the timeout is not positive, or an argument has the wrong
                type.
            MessageConflict: the bank has a message with the same id and other words.
            ModelUnavailable: the embedder could not be reached, or it failed.
            DeadlineExceeded: the time is over. No message is stored.
            StoreUnavailable: the disk is full, or the bank cannot be written.
        """
        given = [messages] if isinstance(messages, Message) else require_all("messages", messages, Message)
        deadline, began, now = Deadline(timeout), time.perf_counter(), self._clock()
        name = choose_session_name(given, session, now)

        async def derive(reader: StoreReader) -> Changeset:
            changes = await self._recipe.encoder.encode(given, session=name, reader=reader, now=now)
            return add_jobs(changes, self._consolidators, now)

        changes = await self._commit(derive, deadline) if given else Changeset()
        return RetainReceipt(
            session=name,
            messages=tuple(message.id for message in changes.messages),
            skipped=len(given) - len(changes.messages),
            items=len(changes.items),
            links=len(changes.links),
            entities=len(changes.entities),
            merges=len(changes.merges),
            jobs=len(changes.jobs),
            notes=await self._start_jobs(changes, wait, deadline),
            seconds=time.perf_counter() - began,
        )

    async def add_facts(self, facts: Fact | Iterable[Fact], *, timeout: float | None = None) -> FactsReceipt:
        """Store facts as they are given, and make them searchable for recall and for the tools. On an error, no fact is
        stored.

        No language model is called. A fact is skipped if the bank has the same fact with the same id. A fact that has
        sources is forgotten together with any of them. A fact without sources does not depend on a message. ``timeout``
        is as for :meth:`retain`.

        Raises:
            InvalidInput: a source is not a message of the bank, the bank has another fact with the same id, or the
                timeout is not positive.
            ModelUnavailable: the embedder could not be reached, or it failed.
            DeadlineExceeded: the time is over. No fact is stored.
            StoreUnavailable: the disk is full, or the bank cannot be written.
        """
        given = [facts] if isinstance(facts, Fact) else require_all("facts", facts, Fact)
        given = [fact if fact.id else replace(fact, id=secrets.token_hex(8)) for fact in given]
        deadline, began, now = Deadline(timeout), time.perf_counter(), self._clock()
        ids: tuple[str, ...] = ()

        async def derive(reader: StoreReader) -> Changeset:
            nonlocal ids
            encoded = await self._facts.encode(given, reader=reader, now=now)
            ids = encoded.ids
            return encoded.changes

        changes = await self._commit(derive, deadline) if given else Changeset()
        return FactsReceipt(
            facts=ids,
            skipped=len(given) - len(changes.items),
            entities=len(changes.entities),
            merges=len(changes.merges),
            seconds=time.perf_counter() - began,
        )

    async def forget(
        self,
        *,
        messages: str | Iterable[str] = (),
        session: str | Iterable[str] = (),
        speaker: str | Iterable[str] = (),
        entity: str | Iterable[str] = (),
        during: Interval | None = None,
        facts: str | Iterable[str] = (),
        dry_run: bool = False,
    ) -> ForgetReceipt:
        """Remove every message that matches any of the criteria, and everything derived from it. Then check that it is
        gone.

        A text that a model wrote can quote a forgotten message without citing it. Such a text is removed too, and made
        again from what it cites. The receipt lists it. A quote is at least three words in a row that no remaining
        message contains, a name, or a number (:mod:`recollect.text.quotes`).

        If a forgotten message shares an item with other messages, the other messages stay. Turns, and the summary of a
        segment that loses some of its messages, are encoded again in the same transaction. For other items, such as
        facts, the remaining messages are read again in the background. Items that were derived from facts which stay,
        such as observations, are derived again from these facts.

        On an error, nothing is forgotten.

        Args:
            messages: ids of messages.
            session: names of sessions.
            speaker: names of speakers. Case does not count.
            entity: ids, names or surface forms of entities. This selects every message of an item that mentions the
                entity, and every message that contains one of its names. Names are compared as the bank compares them:
                case, accents and possessive endings do not count, and names that the bank has merged are one. Of an
                episode, only the messages that contain a name are selected, or all of its messages if none contains
                one. Messages in which the name only might be meant stay, and the receipt lists their ids.
            during: the time in which a message was said.
            facts: ids of facts that :meth:`add_facts` stored. Facts without a source are also selected by ``entity`` if
                they name the entity, and by ``during`` if they were mentioned in that time.
            dry_run: change nothing, and return what would be forgotten.

        Raises:
            InvalidInput: no criterion was given, or an argument has the wrong type.
            ModelUnavailable: some items must be encoded again, and the embedder could not be reached.
            StoreUnavailable: the bank cannot be written.
        """
        selection = ForgetSelection(
            messages=require_texts("messages", messages),
            sessions=require_texts("session", session),
            speakers=require_texts("speaker", speaker),
            entities=require_texts("entity", entity),
            during=None if during is None else require_interval("during", during),
            facts=tuple(map(make_given_id, require_texts("facts", facts))),
        )
        if selection == ForgetSelection():
            raise InvalidInput(
                "forget needs at least one of these arguments: messages, session, speaker, entity, during, facts"
            )
        if dry_run:
            return await self._store.preview_forget(selection)
        return await write_in_turn(self._store, lambda: self._forget(selection))

    async def undo_merge(self, merge: str) -> Merge:
        """Undo a merge by its id. The name gets a new entity, and is never merged into the old entity again.

        Raises:
            InvalidInput: there is no such merge, or it has been undone.
        """
        merge = require_key("merge", merge)
        return await write_in_turn(self._store, lambda: undo_merge(self._store, merge, self._clock()))

    async def import_(self, lines: Iterable[str]) -> BankInfo:
        """Import the lines of :meth:`export` into this bank, which must be empty. On an error, nothing is imported.

        The bank stays empty until everything is imported and checked. Unfinished jobs of the exported bank are
        continued here. To create a bank from an export, use :meth:`recollect.Memory.import_bank`.

        Raises:
            InvalidInput: the bank is not empty, perhaps only since the import began, or the lines are not an export.
            MalformedLine: a line is damaged.
        """
        await self._store.fill(lambda staged: import_lines(staged, lines, self._embedder))
        self.resume_work()
        return await self._store.info()

    async def rebuild(self) -> BankInfo:
        """Embed every item again with the configured embedder. Nothing else changes."""
        await embed_anew(self._store, self._embedder)
        return await self._store.info()

    async def encode_missing(self) -> int:
        """Encode the messages from which no item was derived, and return their number. Opening a bank does this.

        A program that was killed may have left such messages. They are encoded some hundred at a time.

        Raises:
            ModelUnavailable: the embedder could not be reached. What was encoded before stays.
        """
        count = 0
        missing: list[StoredMessage] = []

        async def derive(reader: StoreReader) -> Changeset:
            nonlocal missing
            missing = await self._store.messages_without_items(_ENCODED_AT_ONCE)
            if not missing:
                return Changeset()
            changes = await self._recipe.encoder.encode_stored(missing, reader=reader)
            caused = add_jobs(replace(changes, messages=tuple(missing)), self._consolidators, self._clock())
            return replace(changes, jobs=caused.jobs)

        while (await self._commit(derive, Deadline(None))).items:  # an encoder may make nothing of a message
            count += len(missing)
        return count

    async def accept_losses(self) -> None:
        """Accept what is known to be missing from the bank (``losses`` of a recall's receipt). It is not said again.

        What is left is the bank from now on. A backup may still contain what is missing.
        """
        await self._store.accept_losses()

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

        await self._commit(derive, Deadline(None))
        if count:
            self.resume_work()
        return count

    async def _forget(self, selection: ForgetSelection) -> ForgetReceipt:
        """Forget, encode again the rest of turns and segments, and queue the jobs that derive the rest of other items
        again.
        """
        plan = await self._store.plan_forget(selection)
        remade = Changeset()
        if plan.turns or plan.segments:
            remade = await self._recipe.encoder.encode_remaining(plan, reader=self._store)
        jobs = await make_remake_jobs(plan, remade, self._store, self._consolidators, self._clock())
        quotes = make_quotes(plan.texts, names=selection.entities)
        # Before, because a killed process takes the words with it. After, because a call may just have ended.
        before = await self._model.forget_replies(quotes)
        receipt = await self._store.forget(selection, replace(remade, expected_version=plan.version, jobs=jobs))
        receipt = _add_replies(receipt, before, await self._model.forget_replies(quotes))
        if jobs and self._work is not None:
            self._work.wake()
        return receipt


def _add_replies(receipt: ForgetReceipt, before: ForgottenReplies, after: ForgottenReplies) -> ForgetReceipt:
    """Return the receipt together with what was removed from the reply cache, and what could not be removed."""
    removed = before.removed + after.removed
    if not after.left:
        return replace(receipt, replies=removed)
    leftovers = (*receipt.leftovers, *after.left)
    return replace(receipt, replies=removed, leftovers=leftovers, verification=Verification.WORDS_LEFT)
