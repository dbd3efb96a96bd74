"""Run the agent that searches with tools (REMem, section 3.2, Algorithm 2): think, call, observe, and conclude."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Final

from recollect.domain.answers import Step, TraceStep
from recollect.domain.queries import Query
from recollect.domain.usage import Usage
from recollect.errors import ModelError
from recollect.methods.dependencies import Dependencies
from recollect.methods.remem.answer import RunResult, is_memory_empty, make_answer
from recollect.methods.remem.conclusion import conclude, select_shown
from recollect.methods.remem.observations import Observation, ToolUse, summarize_observation
from recollect.methods.remem.planning import OUTPUT_TOOL, PlannedCall, count_steps, list_arguments
from recollect.methods.remem.prompts import STEP, CompletedStep, build_answer_prompt, build_step_prompt
from recollect.methods.remem.settings import ReactSettings
from recollect.methods.remem.tools import Toolkit
from recollect.models.language import LanguageModel, Reply
from recollect.ports import Listener, Response, ignore_event
from recollect.store.protocol import StoreReader

CUT_SHORT: Final = "step {number} failed, and the answer rests on what was found until then: {error}"
TOO_LATE: Final = "this was the last step, and only output_answer was left"
TOO_EARLY: Final = "nothing was looked for so far; an answer rests on what a tool has found"


class RecollectionResponder:
    """Searches a bank's gists and facts step by step, and answers. See :class:`recollect.ports.Responder`."""

    def __init__(self, parts: Dependencies, settings: ReactSettings | None = None) -> None:
        self._parts, self._settings = parts, settings or ReactSettings()

    async def respond(self, query: Query, reader: StoreReader, listener: Listener = ignore_event) -> Response:
        """Search and answer. If the bank has no gists and no facts, no model is asked.

        Raises:
            ModelError: a model failed before anything was found, or could not write the answer.
        """
        began = time.perf_counter()
        ending = RunResult(query=query, reader=reader, began=began)
        if await is_memory_empty(query, reader):
            return Response(answer=await make_answer(ending, None, listener))
        walk = ToolLoop(
            query=query,
            toolkit=Toolkit(reader, self._parts.embedder, query, self._settings.tools),
            model=self._parts.model,
            steps=count_steps(query.text, self._settings),
            follow=listener,
        )
        await walk.run()
        shown = select_shown([one.observation for one in walk.steps_done], query.max_tokens)
        ending = replace(
            ending,
            shown=shown,
            found=len(walk.toolkit.seen),
            trace=tuple(walk.trace),
            replies=tuple(walk.replies),
            failed_usage=walk.failed_usage,
            notes=tuple(walk.notes),
        )
        if not shown:
            return Response(answer=await make_answer(ending, None, listener))
        concluding = time.perf_counter()
        prompt = build_answer_prompt(query, walk.steps_done, shown, walk.draft, tiser=self._settings.tiser)
        reply = await conclude(prompt, shown, self._parts.model, tiser=self._settings.tiser)
        return Response(answer=await make_answer(ending, reply, listener, time.perf_counter() - concluding))


@dataclass(slots=True)
class ToolLoop:
    """The search for one question: it takes steps, and collects their results for the answer."""

    query: Query
    toolkit: Toolkit
    model: LanguageModel
    steps: int
    follow: Listener
    steps_done: list[CompletedStep] = field(default_factory=list)
    draft: str = ""
    trace: list[TraceStep] = field(default_factory=list)
    replies: list[Reply[PlannedCall]] = field(default_factory=list)
    failed_usage: Usage = Usage()
    notes: list[str] = field(default_factory=list)

    async def run(self) -> None:
        """Take steps until the agent answers or no steps are left.

        If a call fails after something was found, the search ends with a note.

        Raises:
            ModelError: a call failed before anything was found.
        """
        for number in range(1, self.steps + 1):
            began = time.perf_counter()
            try:
                goes_on = await self._take_step(number, began)
            except ModelError as exc:
                if not self.toolkit.seen:
                    raise
                self._cut_short(number, exc, time.perf_counter() - began)
                return
            if not goes_on:
                return

    async def _take_step(self, number: int, began: float) -> bool:
        """Think, call, and observe. Return true if the search continues."""
        shown = select_shown([one.observation for one in self.steps_done], self.query.max_tokens)
        reply = await self.model.generate(
            build_step_prompt(self.query, self.steps_done, shown, number, self.steps), PlannedCall
        )
        self.replies.append(reply)
        self.notes.extend(reply.notes)
        planned = reply.value
        observation = await self._call_tool(planned, last=number == self.steps)
        done = CompletedStep(thought=planned.thought, observation=observation, seconds=time.perf_counter() - began)
        self.steps_done.append(done)
        self._finish_step(
            ToolUse(
                tool=planned.tool,
                arguments=observation.arguments,
                result=summarize_observation(observation),
                thought=planned.thought,
                usage=reply.usage,
                seconds=done.seconds,
            )
        )
        if planned.tool != OUTPUT_TOOL or observation.correction:
            return True
        self.draft = planned.answer
        return False

    async def _call_tool(self, planned: PlannedCall, *, last: bool) -> Observation:
        answers = planned.tool == OUTPUT_TOOL
        if not answers and last:
            return self._correct(planned, TOO_LATE)
        if answers and not last and all(one.observation.correction for one in self.steps_done):
            return self._correct(planned, TOO_EARLY)
        return await self.toolkit.call(planned.tool, list_arguments(planned))

    def _correct(self, planned: PlannedCall, correction: str) -> Observation:
        return Observation(tool=planned.tool, arguments=list_arguments(planned), correction=correction)

    def _cut_short(self, number: int, error: ModelError, seconds: float) -> None:
        told = f"{type(error).__name__}: {error}"
        self.notes.append(CUT_SHORT.format(number=number, error=told))
        cost = error.usage if isinstance(error.usage, Usage) else Usage()
        self.failed_usage += cost
        self._finish_step(Step(action=STEP, detail=f"failed: {told}", seconds=seconds, usage=cost))

    def _finish_step(self, step: TraceStep) -> None:
        self.trace.append(step)
        self.follow(step)
