"""Find by rule what must not be lost, although it is said only once. RecMem (section 6) leaves such a rule open.

The rules are for English, and are rather too narrow than too wide. Raw words are stored even if the rules miss them.
Each match costs model calls. A sentence counts if it states something. A question, a supposition or a denial does not.
"""

from __future__ import annotations

import re
from typing import Final

_SENTENCE: Final = re.compile(r"[^.!?\n]+(?:\.(?=\S)[^.!?\n]*)*[.!?]*")

_IDLE: Final = re.compile(
    r"\?\s*$|^\W*(?:what if|imagine|suppose|let['’]s pretend|pretend)\b|\b(?:would have|could have|just kidding)\b",
    re.I,
)
_DENIED: Final = re.compile(
    r"\b(?:not|isn['’]?t|aren['’]?t|wasn['’]?t|no|without|never been|never had) (?:\w+ ){0,2}"
    r"(?:allerg|intoleran|diagnosed|pregnant|diabetic|deadlines?|due\b|vegan|vegetarian|need to remember)",
    re.I,
)

_WHO: Final = r"\b(?:i|my \w+(?: \w+)?|we|he|she|they|[A-Z]\w+)"
_IS: Final = r" ?(?:am|is|are|['’]m|['’]s|['’]re|was)"
_HAS: Final = r"\b(?:i|he|she|we|they|my \w+) (?:have|has|had|['’]ve got)"
_OPENING: Final = r"^\W*(?:(?:so|and|also|oh|ok|okay|hey|please|just|but|in future|from now on|one more thing)\W+)*"
_MONTH: Final = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b"
_SOON: Final = (
    r"(?:(?:on |by )?(?:mon|tues|wednes|thurs|fri|satur|sun)day|tomorrow|tonight|(?:this|next) (?:week|month|weekend)"
    rf"|(?:the )?\d{{1,2}}(?:st|nd|rd|th)?\b(?! (?:years?|people|percent))|(?:the )?end of|{_MONTH}|midnight|noon)"
)

_PATTERNS: Final[dict[str, tuple[str, ...]]] = {
    "allergy": (
        rf"{_WHO}(?: \w+)?{_IS} (?:\w+ly |so |very )?(?:allergic|intolerant (?:of|to)|lactose intolerant)\b",
        r"\bgot allergic\b|\ballergic reaction to\b|\bana[ph]+yla\w+|\bepi-?pens?\b",
        rf"{_HAS} (?:an? |this |that )?(?:\w+ ){{0,2}}allerg(?:y|ies)\b|\bmy (?:\w+ )?allerg(?:y|ies)\b",
        r"\bi (?:can['’]?t|cannot) (?:eat|have|drink) (?:any )?\w+[^.]{0,30}\b(?:allerg|intoleran|co?eliac)",
    ),
    "health": (
        rf"{_WHO} ?(?:{_IS}|has been|have been|['’]ve been|got|was|were) (?:\w+ )?diagnosed with\b",
        rf"{_HAS} (?:\w+ ){{0,2}}(?:diabetes|asthma|epilepsy|co?eliac|high blood pressure|a pacemaker|cancer|hiv)\b",
        rf"{_HAS} a (?:weak heart|bad heart|heart condition)\b|\bblood type is\b|\bmy (?:daily )?(?:meds|medication)\b",
        r"\bprescribed (?:me|him|her)\b|\binsulin\b",
        r"\b(?:i['’]m|i am|i['’]ve been|i have been) (?:\w+ )?(?:pregnant|diabetic|epileptic|asthmatic)\b",
    ),
    "safety": (
        r"\bin case of (?:fire|an? emergency|emergency)\b|\bemergency (?:contact|number|exit)\b",
        r"\bin an emergency,? (?:call|ring|use|contact|press|take)\b",
        r"\b(?:dangerous|poisonous|toxic|lethal|fatal) (?:to|for) "
        r"(?:me|him|her|us|them|the (?:kids|children|dogs?|cats?))\b",
        r"\b(?:never|do not|don['’]t) (?:ever )?(?:leave|give|let|mix|touch|open|use|take|feed)\b[^.]{0,60}"
        r"\b(?:dangerous|poison|toxic|unattended|unsupervised|seizure|chok(?:e|ing))\b",
    ),
    "deadline": (
        rf"\b(?:due|expires?|expiring|runs? out) (?:date )?(?:is |(?:by|on|at|in) )?(?:the )?{_SOON}",
        r"\bdeadlines?\b[^.]{0,40}\b(?:is|are|moved|moved to|by|on|extended)\b[^.]{0,20}"
        rf"(?:\d|day\b|tomorrow|tonight|week|month|{_MONTH})",
        rf"\bno later than\b|\b(?:must|has to|have to|needs? to) (?:be |get )?(?:\w+ ){{0,4}}by {_SOON}",
    ),
    "rule": (
        _OPENING + r"(?:never|always) (?:call|use|address|write|answer|reply|send|email|text|contact|ask|include|speak|"
        r"format|book|put|add|wake|share|mention|order|run|commit|push|deploy|delete)\b",
        r"^\W*(?:please )?from now on\b|\b(?:i['’]m|i am) (?:an? )?(?:strict )?(?:vegan|vegetarian|pescatarian)\b",
        r"\bi (?:only|never|don['’]?t|do not|can['’]?t|cannot) eat (?:\w+ )?"
        r"(?:meat|pork|beef|fish|dairy|eggs|gluten|nuts|peanuts|shellfish|seafood|sugar)\b",
    ),
    "identifier": (
        r"\bmy (?:\w+ )?(?:phone|cell|mobile|passport|account|policy|licen[sc]e|membership|order|booking|reservation|"
        r"confirmation|room|flight|social security|id) (?:number|no\.?|code)? ?(?:is|['’]s|:)\s*#?[\w-]*\d",
        r"\bmy (?:e-?mail|address|home address|birthday|date of birth) ?(?:is|['’]s)\b[^.]{0,10}[\w@]",
    ),
    "request": (
        _OPENING + r"(?:remember (?:that|this|to|i|my|we|he|she)\b|(?:don['’]?t|do not) (?:you )?forget\b"
        r"|keep in mind\b|bear in mind\b|make a note\b|note (?:that|down)\b|write (?:this|that) down\b)",
        r"\bfor (?:future|your) reference\b",
        r"\bplease (?:remember|note|don['’]?t forget|do not forget|keep in mind)\b",
    ),
}
_RULES: Final = tuple((reason, re.compile("|".join(some), re.I)) for reason, some in _PATTERNS.items())

# "Don't forget to breathe" is kind advice. A request must name something particular to remember.
_PARTICULAR: Final = re.compile(
    r"\d|(?<=[a-z,;:] )[A-Z][a-z]+|\b(?:i|me|my|mine|we|us|our)\b|\bI['’]|\b(?:tomorrow|tonight|next week|next month)\b"
)
_ASKED: Final = re.compile(r"\b(?:reference|please)\b|\b(?:note|write)\b.{0,6}\bdown\b", re.I)


def find_salience(text: str) -> str | None:
    """Return in one word why a text must be kept although it is said only once, or ``None`` if no rule matches.

    The reasons are allergy, health, safety, deadline, rule, identifier and request.
    """
    sentences = (sentence.strip() for sentence in _SENTENCE.findall(text))
    return next((reason for one in sentences if (reason := _match_rule(one)) is not None), None)


def _match_rule(sentence: str) -> str | None:
    if _IDLE.search(sentence) or _DENIED.search(sentence):
        return None
    for reason, pattern in _RULES:
        if pattern.search(sentence) and (reason != "request" or _is_particular(sentence)):
            return reason
    return None


def _is_particular(request: str) -> bool:
    return _PARTICULAR.search(request) is not None or _ASKED.search(request) is not None
