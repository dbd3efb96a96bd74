"""Load the commands of other packages. Each is an entry point of the group ``recollect.commands``.

The entry point has the name of the command and refers to a ``typer.Typer``. A Typer with a single command becomes that
command. A Typer with several commands becomes a group of commands. The entry point is loaded when a user asks for its
command or for the list of all commands.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

import typer

from recollect.cli.runtime import Commands, report_failure

GROUP: Final = "recollect.commands"

REPLACEABLE: Final = frozenset({"demo", "eval", "recordings"})
"""Commands of ours that the laboratory may replace. Without it they do less, or only report that it is missing."""

ANY_ARGUMENTS: Final = {"allow_extra_args": True, "ignore_unknown_options": True}


class ExtensibleCommands(Commands):
    """Our commands and those of other packages. A package cannot take the name of one of our commands."""

    def list_commands(self, ctx: Any) -> list[str]:
        ours = super().list_commands(ctx)
        return [*ours, *sorted(_find_commands().keys() - set(ours))]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        ours = super().get_command(ctx, cmd_name)
        if ours is not None and cmd_name not in REPLACEABLE:
            return ours
        added = _find_commands().get(cmd_name)
        return ours if added is None else _load(added)


def _find_commands() -> dict[str, EntryPoint]:
    """Return the entry points by name. If several packages add the same command, the alphabetically first package
    wins.
    """
    found = sorted(entry_points(group=GROUP), key=_package_name, reverse=True)
    return {entry_point.name: entry_point for entry_point in found}


def _load(entry_point: EntryPoint) -> Any:
    """Load a command. If it cannot be loaded, return a command that reports the reason, so that the others still
    work.
    """
    try:
        loaded = entry_point.load()
        if not isinstance(loaded, typer.Typer):
            raise TypeError(f"{entry_point.value} is not a typer.Typer")
        return _load_command(loaded, entry_point.name)
    except Exception as exc:  # another package may raise any error when it is imported
        return _make_broken_command(f"{type(exc).__name__}: {exc}", entry_point)


def _load_command(added: typer.Typer, name: str) -> Any:
    """Return the only command of a Typer, or the group of its commands."""
    around = typer.Typer(rich_markup_mode=None, add_completion=False)
    around.add_typer(added, name=name)
    group: Any = typer.main.get_group(around).commands[name]
    if len(group.commands) > 1 or added.registered_callback is not None:
        return group
    (only,) = group.commands.values()
    only.name = name
    return only


def _make_broken_command(reason: str, entry_point: EntryPoint) -> Any:
    def fail() -> None:
        raise report_failure(
            f"the command {entry_point.name} of {_package_name(entry_point)} cannot be loaded: {reason}"
        )

    app = typer.Typer()
    app.command(short_help=f"Cannot be loaded ({_package_name(entry_point)}).", context_settings=ANY_ARGUMENTS)(fail)
    return _load_command(app, entry_point.name)


def _package_name(entry_point: EntryPoint) -> str:
    return "an unknown package" if entry_point.dist is None else entry_point.dist.name
