"""Answer with one retrieval and one generation (REMem, section 4.4: REMem-S)."""

from __future__ import annotations

import time

from recollect.domain.queries import Query
from recollect.methods.dependencies import Dependencies
from recollect.methods.remem.answer import RunResult, make_answer
from recollect.methods.remem.conclusion import conclude, select_shown
from recollect.methods.remem.observations import ToolUse, summarize_observation
from recollect.methods.remem.prompts import build_single_prompt
from recollect.methods.remem.settings import ToolSettings
from recollect.methods.remem.tools import Toolkit
from recollect.ports import Listener, Response, ignore_event
from recollect.store.protocol import StoreReader


class SinglePassResponder:
    """Answers from the gists and facts nearest to the question. See :class:`recollect.ports.Responder`."""

    def __init__(self, parts: Dependencies, settings: ToolSettings | None = None) -> None:
        self._parts, self._settings = parts, settings or ToolSettings()

    async def respond(self, query: Query, reader: StoreReader, listener: Listener = ignore_event) -> Response:
        """Retrieve and answer. If nothing is found, no model is asked.

        Raises:
            ModelError: the embedder or the model failed.
        """
        began = time.perf_counter()
        toolkit = Toolkit(reader, self._parts.embedder, query, self._settings)
        observation = await toolkit.semantic_retrieve(query.text)
        step = ToolUse(
            tool=observation.tool,
            arguments=observation.arguments,
            result=summarize_observation(observation),
            seconds=time.perf_counter() - began,
        )
        listener(step)
        shown = select_shown([observation], query.max_tokens)
        ending = RunResult(query=query, reader=reader, began=began, shown=shown, found=len(toolkit.seen), trace=(step,))
        if not shown:
            return Response(answer=await make_answer(ending, None, listener))
        concluding = time.perf_counter()
        reply = await conclude(build_single_prompt(query, shown), shown, self._parts.model, tiser=False)
        return Response(answer=await make_answer(ending, reply, listener, time.perf_counter() - concluding))
