"""Update the background of an agent as it learns more about itself (Hindsight, section 5.6, equation 27)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar, Final

from recollect.errors import InvalidInput
from recollect.models.language import LanguageModel, ModelRole, Prompt
from recollect.text.fencing import DATA_RULE, fence_text

OPERATION: Final = "hindsight.background"
MOST_CHARACTERS: Final = 400

_FIRST_PERSON: Final = re.compile(r"\b(?:I|[Mm]e|[Mm]y|[Mm]ine|[Mm]yself)\b")
_SAYS_I: Final = re.compile(r"\bI\b")
_SECOND_PERSON: Final = re.compile(r"(?:^|[.!?]\s+)(?:you|your|yours)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedBackground:
    """The merged background, short and in the first person."""

    __pydantic_config__: ClassVar = {"title": "Merged"}  # its name in requests to a model, recorded ones too

    background: str

    def __post_init__(self) -> None:
        if not self.background.strip():
            raise ValueError("the background is empty")
        if len(self.background) >= MOST_CHARACTERS:
            raise ValueError(f"the background has {len(self.background)} characters; keep it under {MOST_CHARACTERS}")
        if not _FIRST_PERSON.search(self.background) or _SECOND_PERSON.search(self.background):
            raise ValueError("the background must be in the first person: 'I am', not 'You are'")


async def merge_background(current: str, snippet: str, model: LanguageModel) -> str:
    """Return the background with the addition of a snippet (equation 27). If the two conflict, the snippet is right.

    If there is no background yet, the snippet in the first person becomes the background. No model is called then,
    unless the snippet is too long.

    Raises:
        InvalidInput: the snippet is blank.
        ModelError: the model failed, so there is no merged background.
    """
    new = rewrite_in_first_person(snippet)
    if not new:
        raise InvalidInput("the background to add is blank")
    if not current.strip() and len(new) < MOST_CHARACTERS:
        return new
    reply = await model.generate(build_merge_prompt(current, new), MergedBackground)
    return reply.value.background.strip()


_SYSTEM: Final = f"""You keep the short text in which an agent says who it is.

Merge what is new about the agent into what it says so far:
- Where the two conflict, what is new holds, and the old statement goes. Where the new is merely more exact, keep the \
more exact one.
- Keep everything else of both; add nothing of your own.
- Write in the first person throughout ("I was born", "my team").
- Under {MOST_CHARACTERS} characters, so leave out the least telling details where there is too much.

{DATA_RULE}"""


def build_merge_prompt(current: str, new: str) -> Prompt:
    """Return the prompt that asks to merge a snippet into a background."""
    return Prompt(
        role=ModelRole.CONSOLIDATE,
        operation=OPERATION,
        subject="background",
        system=_SYSTEM,
        text=f"{fence_text('so_far', current)}\n\n{fence_text('new', new)}",
    )


# An adverb may stand between a subject and its verb.
_ADVERB: Final = r"(?P<adverb>(?:\s+(?:\w+ly|also|always|both|each|just|never|now|often|once|still))?)"
_VERB: Final = r"(?P<verb>aren['’]t|weren['’]t|are|were)\b"
_TO_BE: Final = {"are": "am", "were": "was", "aren't": "am not", "weren't": "wasn't"}
_IS: Final = re.compile(rf"\byou{_ADVERB}\s+{_VERB}", re.IGNORECASE)
_IS_ASKED: Final = re.compile(r"\b(?P<verb>are|were)\s+you\b", re.IGNORECASE)
# "You like tea and are an engineer": the second verb has the same subject.
_AND_IS: Final = re.compile(rf"(?P<before>\bI\b[^.!?;]{{0,200}}?,?\s(?:and|but|or)){_ADVERB}\s+{_VERB}")
_SHORT: Final = re.compile(r"\byou['’](?P<verb>re|ve|ll|d)\b", re.IGNORECASE)
_OWN: Final = re.compile(r"\b(?P<word>yourself|yours|your)\b", re.IGNORECASE)
_YOU: Final = re.compile(
    r"(?P<before>(?<![\w'’])[\w'’]+|[^\w\s])?(?P<gap>\s*)(?<![-\w])you(?![-\w])(?P<after>\s+[\w'’]+)?", re.IGNORECASE
)

_OWNED: Final = {"your": "my", "yours": "mine", "yourself": "myself"}
_OPENERS: Final = frozenset(
    "and but or because since when while if that as so although though where after before until what which who than "
    "then".split()
)
_FOLLOWERS: Final = frozenset(
    "a an the my your his her its our their this that these those and or but to for with of by from about at on in "
    "into as because when while if since so very too again back there here".split()
)
_TRANSITIVE: Final = frozenset(
    "to for with of by from about at on in into over near behind between like than call calls called name named help "
    "helps helped teach teaches taught trust trusts trusted know knows knew love loves loved make makes made let lets "
    "give gives gave tell tells told ask asks asked pay pays paid hire hired".split()
)


def rewrite_in_first_person(snippet: str) -> str:
    """Return a snippet about the agent in the first person: "You are a creative engineer" becomes "I am a creative
    engineer".

    Rules do this, so no model is needed. If the snippet already says "I", then "you" is somebody else and nothing
    changes.
    """
    text = " ".join(snippet.split())
    if _SAYS_I.search(text):
        return text
    text = _SHORT.sub(lambda found: f"I'{'m' if found['verb'].lower() == 're' else found['verb'].lower()}", text)
    text = _IS.sub(lambda found: f"I{found['adverb']} {_conjugate_first_person(found['verb'])}", text)
    text = _IS_ASKED.sub(lambda found: _match_case(found["verb"], f"{_conjugate_first_person(found['verb'])} I"), text)
    text = _OWN.sub(lambda found: _match_case(found["word"], _OWNED[found["word"].lower()]), text)
    text = _YOU.sub(_replace_you, text)
    return _AND_IS.sub(
        lambda found: f"{found['before']}{found['adverb']} {_conjugate_first_person(found['verb'])}", text
    )


def _conjugate_first_person(verb: str) -> str:
    return _TO_BE[verb.lower().replace("’", "'")]


def _match_case(model: str, word: str) -> str:
    """Return the word with a capital letter if the word that it replaces has one."""
    return word[0].upper() + word[1:] if model[0].isupper() else word


def _replace_you(found: re.Match[str]) -> str:
    """Return "I" for a "you" that is a subject, and "me" for a "you" that is an object."""
    before, after = found["before"] or "", (found["after"] or "").strip()
    me = before.lower() in _TRANSITIVE or (
        bool(before) and before[-1].isalnum() and before.lower() not in _OPENERS and _has_no_verb(after)
    )
    return f"{before}{found['gap']}{'me' if me else 'I'}{found['after'] or ''}"


def _has_no_verb(after: str) -> bool:
    """Return true if no verb follows: nothing, a name, or a word with which no verb phrase begins."""
    return not after or after[0].isupper() or after.lower() in _FOLLOWERS
