"""A stub model that measures costs: valid replies of realistic length from the words of the prompt, equal in every run.

The cost of a construction depends on the length of replies. It also depends on their words, because replies are
embedded and found again. So each reply is as long as the papers report, or as the replies of a recorded model. It
consists of words from its messages, so that its vector is near theirs.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Final, TypeVar, cast

from recollect.app.wire import render_reply_text, render_request_texts
from recollect.domain.usage import Usage
from recollect.errors import InvalidReply, NoAnswer
from recollect.methods.hindsight import extractor, observer
from recollect.methods.recmem.episodes import EPISODES, MERGE
from recollect.methods.recmem.refinement import REFINE
from recollect.methods.remem.facts import FACTS
from recollect.methods.remem.gists import GISTS
from recollect.models.language import Prompt, Reply, ReplyCheck
from recollect.text.tokens import count_all
from recollect_lab.cost import eager
from recollect_lab.cost.stub_eager import write_memories
from recollect_lab.cost.stub_hindsight import write_facts, write_observations
from recollect_lab.cost.stub_recmem import write_episodes, write_merge, write_semantic_facts
from recollect_lab.cost.stub_remem import write_gists, write_triples

T = TypeVar("T")

WRITERS: Final[Mapping[str, Callable[[Prompt], object]]] = {
    eager.OPERATION: write_memories,
    extractor.KIND: write_facts,
    observer.KIND: write_observations,
    MERGE: write_merge,
    EPISODES: write_episodes,
    REFINE: write_semantic_facts,
    GISTS: write_gists,
    FACTS: write_triples,
}
"""The functions that write the replies, by operation."""


class StubModel:
    """Answers the prompts of memory construction, and refuses all others."""

    @property
    def name(self) -> str:
        return "stub"

    async def generate(self, prompt: Prompt, answer_type: type[T], *, check: ReplyCheck[T] | None = None) -> Reply[T]:
        """Return a reply, with its tokens and the tokens of everything that a model would have read
        (:mod:`recollect.app.wire`).

        Raises:
            NoAnswer: no function writes replies to this operation.
            InvalidReply: the reply does not pass the check.
        """
        if prompt.operation not in WRITERS:
            raise NoAnswer(f"the stub has no reply to {prompt.operation}")
        value = cast(T, WRITERS[prompt.operation](prompt))
        written = render_reply_text(value, answer_type)
        if check is not None:
            try:
                check(value)
            except ValueError as exc:
                raise InvalidReply(str(exc), written) from exc
        *read, out = count_all([*render_request_texts(prompt, answer_type), written])
        return Reply(value=value, usage=Usage(calls=1, tokens_in=sum(read), tokens_out=out), model=self.name)

    async def stream(self, prompt: Prompt) -> AsyncIterator[str]:
        """Refuse, because no construction of memory uses streaming.

        Raises:
            NoAnswer: the method is called.
        """
        raise NoAnswer(f"the stub cannot stream a reply to {prompt.operation}")
        yield ""
