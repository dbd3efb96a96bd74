"""One retrieval and one generation (REMem, section 4.4: REMem-S)."""

from __future__ import annotations

import time

from recollect.domain.answers import Step
from recollect.domain.queries import Query
from recollect.methods.dependencies import Dependencies
from recollect.methods.remem.answer import Ending, answered
from recollect.methods.remem.conclude import concluded, within
from recollect.methods.remem.observe import came_of
from recollect.methods.remem.prompts import single_prompt
from recollect.methods.remem.settings import ToolSettings
from recollect.methods.remem.tools import Toolkit
from recollect.ports import Listener, Response, ignore_event
from recollect.store.protocol import StoreReader


class SinglePassResponder:
    """Answers from the gists and facts nearest to the question. See :class:`recollect.ports.Responder`."""

    def __init__(self, parts: Dependencies, settings: ToolSettings | None = None) -> None:
        self._parts, self._settings = parts, settings or ToolSettings()

    async def respond(self, query: Query, reader: StoreReader, follow: Listener = ignore_event) -> Response:
        """Retrieve and answer; where nothing is found, no model is asked.

        Raises:
            ModelError: the embedder or the model failed.
        """
        began = time.perf_counter()
        toolkit = Toolkit(reader, self._parts.embedder, query, self._settings)
        observation = await toolkit.semantic_retrieve(query.text)
        step = Step(action=observation.tool, detail=came_of(observation), seconds=time.perf_counter() - began)
        follow(step)
        shown = within([observation], query.max_tokens)
        ending = Ending(query=query, reader=reader, began=began, shown=shown, found=len(toolkit.seen), trace=(step,))
        if not shown:
            return Response(answer=await answered(ending, None))
        concluding = time.perf_counter()
        reply = await concluded(single_prompt(query, shown), shown, self._parts.model, tiser=False)
        return Response(answer=await answered(ending, reply, time.perf_counter() - concluding))
