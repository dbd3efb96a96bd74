"""A language model that answers by rule, for the jobs of every recipe.

Its derived texts quote messages that they do not cite, as a careless model does. So forgetting has to find words by
themselves, and not only by their sources.
"""

from __future__ import annotations

import re

from benchmarks.attack.material import SPEAKERS
from recollect.errors import NoAnswer
from recollect.methods.emem.prompts import SummaryReply
from recollect.methods.hindsight.reinforcer import Assessments, OpinionAssessment
from recollect.methods.hindsight.replies import ExtractedFact, ExtractedFacts, ExtractedObservation, NamedEntity
from recollect.methods.hindsight.replies import Observations as ObservationsReply
from recollect.methods.recmem.episodes import EpisodesReply, ExtractedEpisode, MergeReply
from recollect.methods.recmem.refinement import ExtractedSemanticFact, FactsReply
from recollect.methods.remem.extraction_replies import (
    ExtractedGist,
    ExtractedGists,
    ExtractedTriple,
    ExtractedTriples,
)
from recollect.models.language import Prompt
from recollect.testing.models import FunctionModel

_NUMBERED = re.compile(r"^\[(\d+)\] (?:.*?, \d\d:\d\d(?:, [^:\n]*)?: )?(.*)$", re.MULTILINE)
_TOKEN = re.compile(r"zq\d{12}")


def make_model() -> FunctionModel:
    """Return the model. It gives the same answer to the same prompt in every process."""
    return FunctionModel(_answer, name="by-rule")


def _answer(prompt: Prompt, answer_type: type[object]) -> object:
    text = prompt.full_text
    maker = _MAKERS.get(answer_type)
    if maker is None:
        raise NoAnswer(f"no rule for {answer_type.__name__}")
    return maker(text)


def _numbered(text: str) -> list[tuple[int, str]]:
    """Return the numbered entries of the first block of a prompt that has any."""
    for block in text.split("</"):
        found = [(int(number), words) for number, words in _NUMBERED.findall(block)]
        if found:
            return found
    return []


def _careless(text: str) -> str:
    """Return a quotation of the first entry, which the caller does not cite."""
    tokens = _TOKEN.findall(text)
    return f"somebody spoke of {tokens[0]}" if tokens else "nobody said more"


def _facts(text: str) -> ExtractedFacts:
    facts = []
    for number, words in _numbered(text.partition("<messages>")[2].partition("</messages>")[0])[:20]:
        names = tuple(NamedEntity(name=name, kind="person") for name in SPEAKERS if name in words)
        kind = "opinion" if words.startswith("I think") else "world"
        facts.append(
            ExtractedFact(what=words, type=kind, entities=names, messages=(number,))  # type: ignore[arg-type]
        )
    return ExtractedFacts(facts=tuple(facts))


def _observations(text: str) -> ObservationsReply:
    told = _numbered(text)
    last = told[-1][0]
    parts = {
        f"{len(told)} facts are known.": tuple(number for number, _ in told),
        f"It began so: {told[0][1]}": (told[0][0],),
        f"It ended so, and {_careless(text)}": (last,),
    }
    return ObservationsReply(
        observations=tuple(ExtractedObservation(text=words, facts=facts) for words, facts in parts.items())
    )


def _assessments(text: str) -> Assessments:
    opinions = _NUMBERED.findall(text.partition("<opinions>")[2])
    return Assessments(
        assessments=tuple(
            OpinionAssessment(number=int(number), assessment="reinforce", reason=_careless(text))
            for number, _ in opinions
        )
    )


def _gists(text: str) -> ExtractedGists:
    told = _numbered(text.partition("<messages>")[2])
    gists = [ExtractedGist(text=words, messages=(number,)) for number, words in told]
    if len(told) > 1:
        gists[-1] = ExtractedGist(text=f"{told[-1][1]} Before, {_careless(text)}", messages=(told[-1][0],))
    return ExtractedGists(gists=tuple(gists))


def _triples(text: str) -> ExtractedTriples:
    told = _numbered(text.partition("<messages>")[2])
    return ExtractedTriples(
        facts=tuple(
            ExtractedTriple(subject=words.split()[0], predicate="told of", object=words, messages=(number,))
            for number, words in told
            if words[:1].isalnum()
        )
    )


def _merged(text: str) -> MergeReply:
    episode = text.partition("<episode>\n")[2].partition("\n</episode>")[0].strip()
    new = text.partition("<new_exchange>\n")[2].partition("\n</new_exchange>")[0].strip()
    joins = "again" in new
    return MergeReply(merge=joins, episode=f"{episode} Then: {new}" if joins else "")


def _episodes(text: str) -> EpisodesReply:
    told = _numbered(text)
    whole = "How it went: " + " ".join(words for _, words in told)
    return EpisodesReply(episodes=(ExtractedEpisode(text=whole, exchanges=tuple(number for number, _ in told)),))


def _semantic(text: str) -> FactsReply:
    told = _numbered(text.partition("</exchanges>")[0])[:5]
    texts = {number: f"It is known: {words}" for number, words in told}
    texts[told[-1][0]] += f" And {_careless(text)}"
    return FactsReply(
        facts=tuple(
            ExtractedSemanticFact(text=words, type="event", exchanges=(number,)) for number, words in texts.items()
        )
    )


def _summary(text: str) -> SummaryReply:
    tokens = _TOKEN.findall(text)
    return SummaryReply(
        speakers=("Ada",), period="spring", key_items=("shoes",), events=(f"They spoke of {', '.join(tokens)}.",)
    )


_MAKERS = {
    ExtractedFacts: _facts,
    ObservationsReply: _observations,
    Assessments: _assessments,
    ExtractedGists: _gists,
    ExtractedTriples: _triples,
    MergeReply: _merged,
    EpisodesReply: _episodes,
    FactsReply: _semantic,
    SummaryReply: _summary,
}
