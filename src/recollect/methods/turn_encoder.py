"""Make the encoder of turns that several recipes share."""

from __future__ import annotations

from recollect.methods.dependencies import Dependencies
from recollect.retain.encode import EncodeSettings, TurnEncoder


def make_turn_encoder(dependencies: Dependencies, settings: EncodeSettings | None = None) -> TurnEncoder:
    """Return the encoder that calls no model. It makes turns with their times, names and links, and segments if
    requested.
    """
    return TurnEncoder(dependencies.embedder, names=dependencies.names, settings=settings)
