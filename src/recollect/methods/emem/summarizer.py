"""Summarize segments with a small model, in the background (E-mem, section 3.2, algorithm 1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from recollect.answering.evidence import join_lines
from recollect.domain.changes import Changeset
from recollect.domain.items import Item, ItemKind
from recollect.domain.jobs import Job
from recollect.domain.queries import Scope
from recollect.methods.dependencies import Dependencies
from recollect.methods.emem.prompts import SUMMARIZE, SummaryReply, build_summary_prompt
from recollect.methods.emem.segment_view import SegmentView, read_segment_views
from recollect.ports import Derive
from recollect.retain.extractive_summary import EXTRACTIVE, index_summaries, make_summary_id
from recollect.store.capabilities import SegmentReader, require_segments
from recollect.store.protocol import StoreReader
from recollect.text.tokens import count_tokens

MODEL_LABEL: Final = "model"
"""The label of a summary that a model wrote."""


class Summarizer:
    """Summarizes every sealed segment. See :class:`recollect.ports.Consolidator`."""

    def __init__(self, parts: Dependencies) -> None:
        self._parts = parts

    @property
    def kind(self) -> str:
        return SUMMARIZE

    def plan_jobs(self, changes: Changeset, now: datetime) -> tuple[Job, ...]:
        """Return a job for each new extract: a segment was sealed, or has lost some of its messages."""
        items = (entry.item for entry in changes.items)
        return tuple(
            _make_job(item.order, item.sources)
            for item in items
            if item.kind is ItemKind.SUMMARY and item.label == EXTRACTIVE
        )

    async def consolidate(self, job: Job, reader: StoreReader, now: datetime) -> Derive:
        """Summarize the segment of the job. The summary replaces the extract.

        A segment that has a summary already, or that is empty, needs no call.
        """
        number, segments = int(job.payload), require_segments(reader)
        (reading,) = await read_segment_views(segments, [number], Scope())
        summary = None
        if reading.text and await _load_extract(number, reader) is not None:
            summary = (await self._parts.model.generate(build_summary_prompt(reading), SummaryReply)).value

        async def derive(reader: StoreReader) -> Changeset:
            return (
                Changeset() if summary is None else await self._derive(reading, summary, job, require_segments(reader))
            )

        return derive

    async def _derive(self, reading: SegmentView, summary: SummaryReply, job: Job, reader: SegmentReader) -> Changeset:
        """Return the summary in place of the extract, or the same job again if a part of the segment was forgotten
        meanwhile.
        """
        extract = await _load_extract(reading.number, reader)
        if extract is None:
            return Changeset()
        (present,) = await read_segment_views(reader, [reading.number], Scope())
        if present.text != reading.text:
            return Changeset(jobs=(_make_job(reading.number, extract.sources),))
        text = render_summary(summary)
        item = replace(extract, text=text, label=MODEL_LABEL, tokens=count_tokens(text))
        return Changeset(items=await index_summaries([item], self._parts.embedder))


async def _load_extract(number: int, reader: StoreReader) -> Item | None:
    """Return the extract of a segment, or ``None`` if it has none or has a summary from a model."""
    found = await reader.items([make_summary_id(number)])
    return next((item for item in found if item.label == EXTRACTIVE), None)


def render_summary(summary: SummaryReply) -> str:
    """Return a summary as text: one line for each of its fields, and one for each event."""
    parts = (
        ("Speakers", ", ".join(_drop_blank(summary.speakers))),
        ("Period", join_lines(summary.period)),
        ("Key items", ", ".join(_drop_blank(summary.key_items))),
    )
    return "\n".join([*(f"{name}: {words}" for name, words in parts if words), *_drop_blank(summary.events)])


def _drop_blank(texts: Sequence[str]) -> list[str]:
    return [words for words in map(join_lines, texts) if words]


def _make_job(number: int, messages: Sequence[str]) -> Job:
    return Job(id=f"{SUMMARIZE}:{number}", kind=SUMMARIZE, payload=str(number), messages=tuple(messages))
