"""The report of a replay: the replies that it found and those that were missing."""

from __future__ import annotations

from dataclasses import dataclass

from recollect_lab.recordings.recorded_reply import RecordedReply, RequestKey


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleReply:
    """A request that was answered with the reply to another request on the same subject."""

    asked: RequestKey
    entry: RecordedReply


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayReport:
    """The replies of a replay. Each is listed once, however often it was asked for.

    ``exact`` were recorded for exactly this request, ``stale`` for an older wording of it. ``missing`` were asked for,
    but are not recorded. ``unused`` were not asked for. ``recorded`` are new replies from an upstream.
    """

    exact: tuple[RecordedReply, ...] = ()
    stale: tuple[StaleReply, ...] = ()
    missing: tuple[RequestKey, ...] = ()
    unused: tuple[RecordedReply, ...] = ()
    recorded: tuple[RecordedReply, ...] = ()

    @property
    def is_fresh(self) -> bool:
        """Return true if a reply was recorded for every exact request."""
        return not self.stale and not self.missing

    @property
    def summary(self) -> str:
        """Return a line with the numbers of exact, stale and missing replies."""
        return f"replies: {len(self.exact)} exact, {len(self.stale)} stale, {len(self.missing)} missing"

    @property
    def used_keys(self) -> frozenset[str]:
        """Return the keys of the recorded replies that were used."""
        given = [*self.exact, *self.recorded, *(stale.entry for stale in self.stale)]
        return frozenset(entry.asked.key for entry in given)
