"""A plain Python model of a folder of banks: what was acknowledged, and what was forgotten."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from benchmarks.attack.material import Said


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """The effect of an operation on one bank. It takes place as a whole, or not at all.

    ``creates`` and ``drops`` are about the bank itself. ``adds`` are the messages that are there afterwards, and
    ``removes`` are the ids of those that are not.
    """

    bank: str
    adds: Mapping[str, Said] = field(default_factory=dict)
    removes: frozenset[str] = frozenset()
    creates: bool = False
    drops: bool = False

    def is_done(self, bank: Mapping[str, object] | None) -> bool | None:
        """Return true if a bank shows the effect, false if it shows nothing of it, and ``None`` if it shows a part.

        ``bank`` are the messages by id, or ``None`` if there is no such bank.
        """
        if self.drops:
            if bank is None:
                return True
            return False if self.removes <= bank.keys() else None
        there = bank or {}
        signs = {id_ in there for id_ in self.adds} | {id_ not in there for id_ in self.removes}
        if self.creates and not self.adds:
            signs.add(bank is not None)
        return None if len(signs) == 2 else signs != {False}


@dataclass(slots=True)
class BankModel:
    """One bank: its messages by id, and the tokens that must not be in its files any more."""

    said: dict[str, Said] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)

    def copy(self) -> Self:
        return type(self)(said=dict(self.said), gone=set(self.gone))

    @property
    def sessions(self) -> list[str]:
        return sorted({one.session for one in self.said.values()})


@dataclass(slots=True)
class FolderModel:
    """A folder: its banks, and the tokens of dropped banks by the name of the bank."""

    banks: dict[str, BankModel] = field(default_factory=dict)
    dropped: dict[str, set[str]] = field(default_factory=dict)

    def apply(self, effect: Effect) -> None:
        """Take over the effect of an operation that was acknowledged."""
        if effect.drops:
            bank = self.banks.pop(effect.bank, BankModel())
            tokens = {one.token for one in bank.said.values()} | bank.gone
            self.dropped[effect.bank] = self.dropped.get(effect.bank, set()) | tokens
            return
        bank = self.banks.setdefault(effect.bank, BankModel(gone=self.dropped.pop(effect.bank, set())))
        for id_ in effect.removes:
            said = bank.said.pop(id_, None)
            if said is not None:
                bank.gone.add(said.token)
        bank.said.update(effect.adds)
        bank.gone -= {one.token for one in effect.adds.values()}

    def gone_from(self, bank: str) -> set[str]:
        """Return the tokens that no file of a bank may contain.

        A file of no bank (``""``) may contain what some bank has.
        """
        if not bank:
            gone = set().union(*self.dropped.values(), *(one.gone for one in self.banks.values()))
            return gone.difference(one.token for there in self.banks.values() for one in there.said.values())
        there = self.banks.get(bank)
        return there.gone if there is not None else self.dropped.get(bank, set())
