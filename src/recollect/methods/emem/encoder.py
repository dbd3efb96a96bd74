"""Make E-mem's encoder: turns, and segments whose summaries a model writes."""

from __future__ import annotations

from recollect.methods.dependencies import Dependencies
from recollect.methods.turn_encoder import make_turn_encoder
from recollect.retain.encode import EncodeSettings, TurnEncoder
from recollect.retain.segments import SegmentSettings


def make_encoder(dependencies: Dependencies) -> TurnEncoder:
    """Return the encoder of turns and segments."""
    return make_turn_encoder(dependencies, EncodeSettings(segments=SegmentSettings()))
