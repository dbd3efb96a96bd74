"""Record the origin of a figure. A number without its origin is not a result."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from enum import Enum
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from recollect.errors import NaiveDatetime
from recollect_lab.datasets.dataset import Dataset

PACKAGES = ("numpy", "wordllama", "usearch", "dateparser")
_SECRET_ENDINGS = ("key", "token", "secret", "password")
_ROOT = Path(__file__).resolve().parents[4]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkout:
    """The commit from which the package ran. ``dirty`` is true if files differed from it (untracked files count)."""

    commit: str
    dirty: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """The facts that are needed to produce a figure again.

    ``checkout`` is ``None`` if the package runs from an installation. ``packages`` has ``None`` for a package that is
    not installed. ``settings`` is a frozen dataclass of the caller. ``at`` is the aware time at which the run was
    started.
    """

    dataset: str
    checksum: str
    recollect: str
    checkout: Checkout | None
    python: str
    platform: str
    cpus: int | None
    packages: Mapping[str, str | None]
    settings: object
    at: datetime

    def to_json(self) -> dict[str, object]:
        """Return one JSON object. Settings whose name ends in key, token, secret or password are masked."""
        return {
            "dataset": {"name": self.dataset, "sha256": self.checksum},
            "recollect": self.recollect,
            "commit": self.checkout.commit if self.checkout else None,
            "dirty": self.checkout.dirty if self.checkout else None,
            "python": self.python,
            "platform": self.platform,
            "cpus": self.cpus,
            "packages": dict(self.packages),
            "settings": _dump_value(self.settings),
            "at": self.at.isoformat(),
        }


def gather_provenance(dataset: Dataset, *, settings: object, at: datetime) -> Provenance:
    """Collect facts about the machine, the packages and the checkout. This runs ``git``, and uses no network.

    ``settings`` is a dataclass with the choices of the caller. ``at`` is the time that is published with the figures.

    Raises:
        NaiveDatetime: ``at`` has no time zone.
    """
    if at.tzinfo is None:
        raise NaiveDatetime("the time of an evaluation")
    return Provenance(
        dataset=dataset.name,
        checksum=dataset.checksum,
        recollect=_find_version("recollect") or "unknown",
        checkout=find_checkout(_ROOT),
        python=platform.python_version(),
        platform=platform.platform(),
        cpus=os.cpu_count(),
        packages={name: _find_version(name) for name in PACKAGES},
        settings=settings,
        at=at,
    )


def find_checkout(root: Path) -> Checkout | None:
    """Return the commit of the repository whose top folder is ``root``, or ``None``.

    A repository in a folder above is not used. Otherwise, an installation in another project would get the commit of
    that project.
    """
    top = _run_git(root, "rev-parse", "--show-toplevel")
    commit = _run_git(root, "rev-parse", "HEAD")
    changes = _run_git(root, "status", "--porcelain")
    if top is None or commit is None or changes is None or Path(top).resolve() != root.resolve():
        return None
    return Checkout(commit=commit, dirty=bool(changes))


def _run_git(folder: Path, *arguments: str) -> str | None:
    command = ["git", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _find_version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _dump_value(value: object) -> object:
    """Return a value in types that JSON has. A value of any other type becomes its ``str``."""
    if is_dataclass(value) and not isinstance(value, type):
        return _mask_secrets((field.name, getattr(value, field.name)) for field in fields(value))
    if isinstance(value, Mapping):
        return _mask_secrets((str(name), held) for name, held in value.items())
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_dump_value(one) for one in value]
    if isinstance(value, Enum):
        return _dump_value(value.value)
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def _mask_secrets(pairs: Iterable[tuple[str, object]]) -> dict[str, object]:
    """Replace secrets by "***" if they are set, because reports are published."""
    return {
        name: "***" if value and name.lower().endswith(_SECRET_ENDINGS) else _dump_value(value) for name, value in pairs
    }
