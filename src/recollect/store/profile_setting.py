"""Read and write a bank's profile, which is stored as a setting."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

from recollect.domain.banks import Profile
from recollect.domain.codec import from_json, to_json
from recollect.errors import NotABank
from recollect.store.protocol import StoreReader

PROFILE_KEY = "profile"


async def read_profile(reader: StoreReader) -> Profile:
    """Return the bank's profile. If none was set, return a neutral profile with the bank's name.

    Raises:
        NotABank: the stored profile cannot be read.
    """
    kept = await reader.setting(PROFILE_KEY)
    if kept is None:
        return Profile(name=reader.name)
    try:
        return from_json(Profile, json.loads(kept))
    except ValueError as exc:
        raise NotABank(f"the bank {reader.name!r} keeps a profile that cannot be read: {exc}") from exc


def make_profile_setting(profile: Profile) -> tuple[str, str]:
    """Return the key and the value with which :attr:`Changeset.settings` stores a profile."""
    return PROFILE_KEY, json.dumps(to_json(profile), ensure_ascii=False)


def cut_profile(setting: str, cut: Callable[[str], str]) -> str:
    """Return the setting of a profile whose background was cut. A setting that cannot be read stays as it is."""
    try:
        profile = from_json(Profile, json.loads(setting))
    except ValueError:
        return setting
    return make_profile_setting(replace(profile, background=cut(profile.background)))[1]


def read_profile_name(setting: str | None) -> str:
    """Return the agent's name from the setting of a profile, or "" if there is no setting or it cannot be read."""
    try:
        return "" if setting is None else from_json(Profile, json.loads(setting)).name
    except ValueError:
        return ""
