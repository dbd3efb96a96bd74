"""A bank's profile, which it keeps as a setting."""

from __future__ import annotations

import json

from recollect.domain.banks import Profile
from recollect.domain.codec import from_json, to_json
from recollect.errors import NotABank
from recollect.store.protocol import StoreReader

_KEY = "profile"


async def read_profile(reader: StoreReader) -> Profile:
    """The bank's profile; one with the bank's name and no leaning where none was set.

    Raises:
        NotABank: what is kept cannot be read.
    """
    kept = await reader.setting(_KEY)
    if kept is None:
        return Profile(name=reader.name)
    try:
        return from_json(Profile, json.loads(kept))
    except ValueError as exc:
        raise NotABank(f"the bank {reader.name!r} keeps a profile that cannot be read: {exc}") from exc


def make_profile_setting(profile: Profile) -> tuple[str, str]:
    """What :attr:`Changeset.settings` keeps a profile as: a key and a value."""
    return _KEY, json.dumps(to_json(profile), ensure_ascii=False)
