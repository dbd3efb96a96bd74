"""What a replay found, and what it did not."""

from __future__ import annotations

from dataclasses import dataclass

from recollect_lab.recordings.recorded_reply import RecordedReply, RequestKey


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleReply:
    """A request that was answered with a reply recorded for another one on the same subject."""

    asked: RequestKey
    entry: RecordedReply


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayReport:
    """Which replies were given, each once, however often it was asked for.

    ``exact`` were recorded for the very request, ``stale`` for an older wording of it; ``missing`` were asked for and
    not there; ``unused`` were not asked for. ``recorded`` are new: an upstream gave them.
    """

    exact: tuple[RecordedReply, ...] = ()
    stale: tuple[StaleReply, ...] = ()
    missing: tuple[RequestKey, ...] = ()
    unused: tuple[RecordedReply, ...] = ()
    recorded: tuple[RecordedReply, ...] = ()

    @property
    def is_fresh(self) -> bool:
        """Whether every request had a reply of its own."""
        return not self.stale and not self.missing

    @property
    def summary(self) -> str:
        """How many replies were the very ones, how many stood in for others, how many there were none of."""
        return f"replies: {len(self.exact)} exact, {len(self.stale)} stale, {len(self.missing)} missing"

    @property
    def used_keys(self) -> frozenset[str]:
        """The keys of the kept replies that were given."""
        given = [*self.exact, *self.recorded, *(stale.entry for stale in self.stale)]
        return frozenset(entry.asked.key for entry in given)
