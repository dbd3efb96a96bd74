"""The facade: banks that remember, recall and forget. With the worker, the only room that commits."""

from recollect.memory.bank import Bank
from recollect.memory.memory import BaseMemory

__all__ = ["Bank", "BaseMemory"]
