"""The facade: banks that retain, recall, answer and forget. Only this room and the worker commit."""

from recollect.memory.bank import Bank
from recollect.memory.memory import BaseMemory

__all__ = ["Bank", "BaseMemory"]
