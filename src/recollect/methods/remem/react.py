"""The agent that recollects with tools (REMem, section 3.2, Algorithm 2): think, call, observe, and conclude."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Final

from recollect.domain.answers import Step
from recollect.domain.queries import Query
from recollect.domain.usage import Usage
from recollect.errors import ModelError
from recollect.methods.dependencies import Dependencies
from recollect.methods.remem.answer import Ending, answered, nothing_known
from recollect.methods.remem.conclude import concluded, within
from recollect.methods.remem.observe import Observation, came_of
from recollect.methods.remem.plan import OUTPUT, Planned, arguments_of, steps_for
from recollect.methods.remem.prompts import STEP, Done, answer_prompt, step_prompt
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

    async def respond(self, query: Query, reader: StoreReader, follow: Listener = ignore_event) -> Response:
        """Search and answer; where the bank has no gists and no facts, no model is asked.

        Raises:
            ModelError: a model failed before anything was found, or could not write the answer.
        """
        began = time.perf_counter()
        ending = Ending(query=query, reader=reader, began=began)
        if await nothing_known(query, reader):
            return Response(answer=await answered(ending, None))
        walk = Walk(
            query=query,
            toolkit=Toolkit(reader, self._parts.embedder, query, self._settings.tools),
            model=self._parts.model,
            steps=steps_for(query.text, self._settings),
            follow=follow,
        )
        await walk.run()
        shown = within([one.observation for one in walk.done], query.max_tokens)
        ending = replace(
            ending,
            shown=shown,
            found=len(walk.toolkit.seen),
            trace=tuple(walk.trace),
            replies=tuple(walk.replies),
            lost=walk.lost,
            notes=tuple(walk.notes),
        )
        if not shown:
            return Response(answer=await answered(ending, None))
        concluding = time.perf_counter()
        prompt = answer_prompt(query, walk.done, shown, walk.draft, tiser=self._settings.tiser)
        reply = await concluded(prompt, shown, self._parts.model, tiser=self._settings.tiser)
        return Response(answer=await answered(ending, reply, time.perf_counter() - concluding))


@dataclass(slots=True)
class Walk:
    """One question's way over the tools, and what gathers on it."""

    query: Query
    toolkit: Toolkit
    model: LanguageModel
    steps: int
    follow: Listener
    done: list[Done] = field(default_factory=list)
    draft: str = ""
    trace: list[Step] = field(default_factory=list)
    replies: list[Reply[Planned]] = field(default_factory=list)
    lost: Usage = Usage()
    notes: list[str] = field(default_factory=list)

    async def run(self) -> None:
        """Take steps until the agent answers or there are no more.

        What fails when something was found already ends the search, and is noted.

        Raises:
            ModelError: it failed before anything was found.
        """
        for number in range(1, self.steps + 1):
            began = time.perf_counter()
            try:
                goes_on = await self._step(number, began)
            except ModelError as exc:
                if not self.toolkit.seen:
                    raise
                self._cut_short(number, exc, time.perf_counter() - began)
                return
            if not goes_on:
                return

    async def _step(self, number: int, began: float) -> bool:
        """Think, call, observe; gives whether the search goes on."""
        shown = within([one.observation for one in self.done], self.query.max_tokens)
        reply = await self.model.generate(step_prompt(self.query, self.done, shown, number, self.steps), Planned)
        self.replies.append(reply)
        self.notes.extend(reply.notes)
        planned = reply.value
        observation = await self._observed(planned, last=number == self.steps)
        done = Done(thought=planned.thought, observation=observation, seconds=time.perf_counter() - began)
        self.done.append(done)
        self._over(Step(action=planned.tool, detail=_detail(done), seconds=done.seconds))
        if planned.tool != OUTPUT or observation.correction:
            return True
        self.draft = planned.answer
        return False

    async def _observed(self, planned: Planned, *, last: bool) -> Observation:
        answers = planned.tool == OUTPUT
        if not answers and last:
            return self._corrected(planned, TOO_LATE)
        if answers and not last and all(one.observation.correction for one in self.done):
            return self._corrected(planned, TOO_EARLY)
        return await self.toolkit.call(planned.tool, arguments_of(planned))

    def _corrected(self, planned: Planned, correction: str) -> Observation:
        return Observation(tool=planned.tool, arguments=arguments_of(planned), correction=correction)

    def _cut_short(self, number: int, error: ModelError, seconds: float) -> None:
        told = f"{type(error).__name__}: {error}"
        self.notes.append(CUT_SHORT.format(number=number, error=told))
        self.lost += error.usage if isinstance(error.usage, Usage) else Usage()
        self._over(Step(action=STEP, detail=f"failed: {told}", seconds=seconds))

    def _over(self, step: Step) -> None:
        self.trace.append(step)
        self.follow(step)


def _detail(done: Done) -> str:
    thought = " ".join(done.thought.split())
    return "; ".join(filter(None, (thought, f"{done.call}: {came_of(done.observation)}")))
