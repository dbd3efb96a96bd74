"""The methods of a bank that a recipe offers: tools for agents, opinions, the agent's profile and calibration."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar, Unpack

from recollect.domain.banks import Profile
from recollect.domain.calibration import Calibration
from recollect.domain.changes import Changeset
from recollect.domain.checks import require_type
from recollect.domain.opinions import Opinion
from recollect.errors import InvalidInput
from recollect.memory.base import BankBase
from recollect.memory.deadline import Deadline
from recollect.memory.name_lookup import find_entity_id
from recollect.memory.query_options import RecallOptions, build_query
from recollect.ports import AgentTools
from recollect.store.profile_setting import make_profile_setting, read_profile
from recollect.store.protocol import StoreReader

T = TypeVar("T")


class BankOffers(BankBase):
    """The methods of a bank that its recipe offers. The profile belongs to every bank."""

    def tools(self, **narrowed: Unpack[RecallOptions]) -> AgentTools:
        """Return the recipe's tools over this bank, for your own agent. Make new tools for each question.

        ``tools.schemas`` are JSON schemas of functions. ``await tools.call(name, arguments)`` runs a call as a model
        has written it. Return the ``text`` of its result to the model. You can also give the methods themselves to an
        agent, such as ``tools.semantic_retrieve``. Our recipes offer REMem's five tools, which find gists and facts. A
        bank has gists and facts if a recipe such as ``remem`` makes them.

        Args:
            narrowed: limits what the tools can find (:class:`recollect.memory.query_options.RecallOptions`).
                ``limit`` is the maximum number of gists, and of facts, in the result of one call. ``max_tokens`` and
                ``effort`` have no effect.

        Raises:
            InvalidInput: a limit is not positive, or a time has no zone.
        """
        make_tools = self._offered(self._recipe.tools, "tools")
        return make_tools(build_query("", narrowed, self._clock()), self._store)

    async def opinions(self, *, entity: str | None = None) -> list[Opinion]:
        """Return the opinions of the bank, the newest first. Each opinion has the whole history of its changes.

        Args:
            entity: return only opinions on this entity. Give its id, its name or any surface form.

        Raises:
            InvalidInput: the recipe has no opinions, or the bank has no entity of this name.
        """
        beliefs = self._offered(self._recipe.beliefs, "opinions")
        return await beliefs.opinions(self._store, entity=await find_entity_id(self._store, entity))

    async def profile(self) -> Profile:
        """Return the profile of the bank's agent: name, background and disposition."""
        return await read_profile(self._store)

    async def set_profile(self, profile: Profile) -> None:
        """Set the profile of the bank's agent. It replaces the earlier profile."""

        require_type("profile", profile, Profile, "a Profile")

        async def derive(_: StoreReader) -> Changeset:
            return Changeset(settings=(make_profile_setting(profile),))

        await self._commit(derive, Deadline(None))

    async def add_background(self, snippet: str) -> Profile:
        """Merge new information about the agent into its background (Hindsight, equation 27). Return the changed
        profile.

        Raises:
            NoModel: the profile has a background already, and no language model is configured to merge the two.
            ModelError: the model failed. The background is unchanged.
        """
        beliefs = self._offered(self._recipe.beliefs, "background")
        profile = await self.profile()
        merged = replace(profile, background=await beliefs.merge_background(profile.background, snippet))
        await self.set_profile(merged)
        return merged

    async def calibrate(self, *, share: float = 0.05, theta_count: int = 5, apply: bool = True) -> Calibration:
        """Find the similarity at which messages recur, from the bank's own messages (RecMem, 3.6).

        At this similarity, a ``share`` of the messages has at least ``theta_count`` similar earlier messages. The bank
        uses the new value from now on. Without ``apply``, the value is only returned.

        Raises:
            InvalidInput: a number is out of its range, or the bank has too few messages.
        """
        calibrator = self._offered(self._recipe.calibrator, "calibration")
        found = await calibrator.calibrate(self._store, share=share, theta_count=theta_count)

        async def derive(_: StoreReader) -> Changeset:
            return Changeset(settings=(calibrator.setting(found, share=share, now=self._clock()),))

        if apply:
            await self._commit(derive, Deadline(None))
        return replace(found, stored=apply)

    def _offered(self, offer: T | None, name: str) -> T:
        """Return a part that the recipe may offer.

        Raises:
            InvalidInput: the recipe does not offer this part.
        """
        if offer is None:
            raise InvalidInput(
                f"the recipe {self._recipe.name!r} has no {name}; open the memory with a recipe that offers this"
            )
        return offer
