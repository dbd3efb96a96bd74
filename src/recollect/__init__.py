"""Long-term memory for language-model agents. It keeps every word, finds the right ones, and needs no model."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

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


_LAZY: Final = {
    "Answer": "recollect.domain.answers",
    "Bank": "recollect.memory.bank",
    "Memory": "recollect.app",
}
"""The modules of the names that are imported on first use, so that importing recollect is fast."""


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module 'recollect' has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
