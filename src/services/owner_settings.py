"""What an owner has set for all of their calls, read and replaced."""

from __future__ import annotations

import phonenumbers

from src.schemas.errors import ConflictError, FieldProblem, InvalidInputError
from src.schemas.owner import OwnerSettings
from src.services.owned import OwnedStore, Resource


async def settings_of(owned: OwnedStore, owner_id: str) -> OwnerSettings:
    """What the owner has set; the defaults until there is anything.

    Raises:
        ContactStoreError: the store failed.
    """
    return OwnerSettings.read(await owned.of(owner_id, Resource.OWNERS).get(owner_id))


class OwnersSettings:
    """The settings of each owner. Every method raises `ContactStoreError` when the store fails."""

    def __init__(self, *, owned: OwnedStore) -> None:
        self._owned = owned

    async def get(self, owner_id: str) -> OwnerSettings:
        """The settings; the defaults until there are any."""
        return await settings_of(self._owned, owner_id)

    async def replace(self, owner_id: str, settings: OwnerSettings) -> OwnerSettings:
        """The settings as they are from now on; what is left out goes back to its default.

        Raises:
            InvalidInputError: there is no such region.
            ConflictError: they were set for the first time by two requests at once, or removed.
        """
        region = settings.default_region
        if region is not None and region not in phonenumbers.SUPPORTED_REGIONS:
            raise InvalidInputError(FieldProblem("defaultRegion", "no region has this code"))
        owners = self._owned.of(owner_id, Resource.OWNERS)
        fields = settings.model_dump(by_alias=True)
        for _ in range(2):  # again where another request was the first
            if await owners.update(owner_id, fields):
                return settings
            if await owners.insert({"ownerId": owner_id, **fields}):
                return settings
        raise ConflictError("the settings were changed at the same moment: try again")
