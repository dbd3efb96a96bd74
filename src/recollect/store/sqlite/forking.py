"""Fork this process safely while banks are open: close every connection first, and open it again after the fork.

A child process inherits what SQLite remembers of its files, but none of the locks. With an inherited connection, even
one that is never used, SQLite believes in the child that it holds these locks, and another process that closes the bank
removes the log under the child: what the child then writes is lost. So nothing may be open during a fork. Uses of
connections are counted. A fork waits until none is in use, and new uses wait until the fork is over.
"""

from __future__ import annotations

import ctypes
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Protocol
from weakref import WeakSet

from recollect.errors import OpenedBeforeFork

FORK_WAIT_S: Final = 5.0
"""The longest time for which a fork waits for connections that are in use.

If it is not enough, the child cannot open these banks, and says so.
"""

FileId = tuple[int, int]
"""A file, whatever its name: its device and its number there."""


class Forkable(Protocol):
    """Something with connections that must not be open during a fork."""

    def close_connections(self) -> None:
        """Close all connections. They are opened again at the next use."""
        ...

    @property
    def open_files(self) -> tuple[FileId | None, ...]: ...

    @property
    def open_connections(self) -> list[sqlite3.Connection]: ...


class ForkGate:
    """Lets a fork happen only while no connection is in use."""

    def __init__(self) -> None:
        self._owners: WeakSet[Forkable] = WeakSet()
        self._inherited: set[FileId] = set()
        self._changed = threading.Condition(threading.Lock())
        self._uses = 0
        self._forking = False

    def register(self) -> None:
        """Let :meth:`before_fork` run before each fork of this process, and the other two methods after it."""
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self.before_fork, after_in_parent=self.after_fork, after_in_child=self.after_fork_in_child
            )

    def add(self, owner: Forkable) -> None:
        """Close the connections of ``owner`` before each fork."""
        self._owners.add(owner)

    @contextmanager
    def use_connection(self) -> Iterator[None]:
        """Count a use of a connection. During a fork, wait until it is over."""
        with self._changed:
            while self._forking:
                self._changed.wait()
            self._uses += 1
        try:
            yield
        finally:
            with self._changed:
                self._uses -= 1
                self._changed.notify_all()

    def require_not_inherited(self, file: FileId | None) -> None:
        """Raise an error if a file was in use while this process was forked.

        Raises:
            OpenedBeforeFork: it was. SQLite would not lock it in this process.
        """
        if file in self._inherited:
            raise OpenedBeforeFork(
                "this process was forked while its parent was using the bank, so it cannot open the bank safely. Fork "
                "before the bank is used, or start a new program instead"
            )

    def before_fork(self) -> None:
        self._changed.acquire()
        while self._forking:  # another thread forks
            self._changed.wait()
        self._forking = True
        if self._changed.wait_for(lambda: self._uses == 0, FORK_WAIT_S):
            for owner in list(self._owners):
                owner.close_connections()

    def after_fork(self) -> None:
        self._forking = False
        self._changed.notify_all()
        self._changed.release()

    def after_fork_in_child(self) -> None:
        for owner in list(self._owners):
            self._inherited.update(file for file in owner.open_files if file is not None)
            for connection in owner.open_connections:
                _never_close(connection)
        self._owners = WeakSet()
        self._changed = threading.Condition(threading.Lock())
        self._uses = 0
        self._forking = False


def _never_close(connection: sqlite3.Connection) -> None:
    """Keep a connection of the parent process for ever. Closing it could remove the log that the parent writes."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


FORK_GATE: Final = ForkGate()
FORK_GATE.register()
