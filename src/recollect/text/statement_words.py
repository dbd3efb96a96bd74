"""The words by which the predicate of a structured statement is told: few and plain, so that what is read is sure."""

from __future__ import annotations

from typing import Final

from recollect.text.name_words import listed

ARTICLES: Final = listed("a an the")
BE: Final = listed("is are was were be been became becomes remained remains")
PREPOSITIONS: Final = listed("of at in to for with from by on as into under over against near within")
IRREGULAR: Final = BE | listed(
    """did had has won led met left sold bought built wrote made held ran sang went came took gave got found taught kept
    lost sat stood spoke began fought flew drove drew grew knew caught sent spent beat bore broke brought chose cut ate
    fell felt hid hit hurt laid lent let lit paid put quit read rode rose said saw set shook shot shut slept stole stuck
    struck swam swore threw told understood wore"""
)
# A predicate with one of these is more than a relation: a clause of its own, somebody who is not named, another time.
NO_RELATION: Final = listed(
    """and or but nor that who whom whose which because when where while if than though so i you he she it we they me
    him us them my your his her its our their this these those there here last next ago year years month months week
    weeks day days today yesterday tomorrow tonight since until till between before after about around"""
)
