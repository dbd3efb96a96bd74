"""Describe a disposition in words (Hindsight, section 5.3.1, equation 23)."""

from __future__ import annotations

from enum import Enum
from typing import Final

from recollect.domain.banks import Disposition

OBJECTIVE_BELOW: Final = 0.25
STRONG_FROM: Final = 0.75
"""The limits between the three regimes. The paper names the strengths 0, 0.5 and 1 (section 5.4.2); we cut in the
middle.
"""


class BiasRegime(Enum):
    """The strength with which a disposition may shape conclusions."""

    OBJECTIVE = "objective"
    BALANCED = "balanced"
    STRONG = "strong"


SKEPTICISM: Final = (
    "You trust what you are told and like to follow an idea to see where it leads.",
    "You tend to take people at their word unless something plainly speaks against it.",
    "You neither trust nor doubt by habit; a claim counts for as much as what stands behind it.",
    "You are cautious with claims, ask what supports them, and say where support is thin.",
    "You are deeply skeptical: you weigh the quality of every piece of evidence and accept nothing unsupported.",
)
LITERALISM: Final = (
    "You read between the lines, look for what somebody is really after, and think in the large.",
    "You interpret words loosely and allow for what was meant but left out.",
    "You keep to what was said, and allow for what it plainly implies.",
    "You hold to the wording and draw few conclusions beyond it.",
    "You take words exactly as they stand: precise terms and explicit commitments count, hints do not.",
)
EMPATHY: Final = (
    "You are detached: the matter alone counts, and you put it bluntly.",
    "You keep feelings mostly out of it and speak directly.",
    "You notice how people feel and mention it where it bears on the matter.",
    "You care how people are affected and choose considerate words.",
    "You are deeply empathetic: feelings and relations weigh heavily with you, and your words are warm and supportive.",
)

_FRAMES: Final = {
    BiasRegime.OBJECTIVE: (
        "Be objective: conclude only what the evidence bears out, and keep your wording neutral. Your character, "
        "below, may colour the tone a little; it must not change what you conclude."
    ),
    BiasRegime.BALANCED: (
        "Balance the two: start from what the evidence says, and let your character, below, decide what you give "
        "more weight where the evidence leaves room."
    ),
    BiasRegime.STRONG: (
        "Be strongly opinionated: judge as your character, below, would, commit to a view, and put it in language "
        "that shows it. What happened stays what happened; only your judgement of it is yours to shape."
    ),
}


def choose_regime(bias_strength: float) -> BiasRegime:
    """Return the regime of a bias strength in [0, 1]."""
    if bias_strength < OBJECTIVE_BELOW:
        return BiasRegime.OBJECTIVE
    return BiasRegime.STRONG if bias_strength >= STRONG_FROM else BiasRegime.BALANCED


def verbalize_disposition(disposition: Disposition) -> str:
    """Return the disposition as a passage of a system text that speaks to the agent (equation 23)."""
    traits = (
        SKEPTICISM[disposition.skepticism - 1],
        LITERALISM[disposition.literalism - 1],
        EMPATHY[disposition.empathy - 1],
    )
    return f"{_FRAMES[choose_regime(disposition.bias_strength)]}\nYour character: {' '.join(traits)}"
