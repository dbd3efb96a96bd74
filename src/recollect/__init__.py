"""Long-term memory for language-model agents. It keeps every word, finds the right ones, and needs no model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.domain.banks import Disposition, Profile
from recollect.domain.facts import Fact
from recollect.domain.messages import Message, Role
from recollect.domain.time import Interval, Precision
from recollect.errors import RecollectError

if TYPE_CHECKING:
    from recollect.app import Memory
    from recollect.domain.answers import Answer
    from recollect.memory.bank import Bank

__version__ = "0.1.0"
__all__ = [
    "Answer",
    "Bank",
    "Disposition",
    "Fact",
    "Interval",
    "Memory",
    "Message",
    "Precision",
    "Profile",
    "RecollectError",
    "Role",
]


def __getattr__(name: str) -> object:
    # numpy and the store are imported on first use, so that importing recollect is fast.
    if name == "Memory":
        from recollect.app import Memory

        return Memory
    if name == "Bank":
        from recollect.memory.bank import Bank

        return Bank
    if name == "Answer":
        from recollect.domain.answers import Answer

        return Answer
    raise AttributeError(f"module 'recollect' has no attribute {name!r}")
