"""What an owner sets for all calls."""

import pytest
from typing_extensions import override

from src.schemas.errors import ConflictError, InvalidInputError
from src.schemas.owner import OwnerSettings
from src.services.owned import OwnedDocuments, OwnedStore, Resource
from src.services.owner_settings import OwnersSettings
from tests.fakes.owned import InMemoryOwnedStore


async def test_settings_are_the_defaults_until_they_are_replaced() -> None:
    owned = InMemoryOwnedStore()
    settings = OwnersSettings(owned=owned)
    assert await settings.get("acme") == OwnerSettings()
    chosen = OwnerSettings(default_region="IN", anonymize_phi=True)
    assert await settings.replace("acme", chosen) == chosen
    assert await settings.get("acme") == chosen
    assert await settings.get("globex") == OwnerSettings()
    await settings.replace("acme", OwnerSettings())
    assert await settings.get("acme") == OwnerSettings()
    assert len(owned.documents[Resource.OWNERS]) == 1


async def test_fields_of_other_programs_stay() -> None:
    owned = InMemoryOwnedStore()
    owned.documents[Resource.OWNERS].append({"ownerId": "acme", "plan": "gold"})
    await OwnersSettings(owned=owned).replace("acme", OwnerSettings(default_region="US"))
    assert owned.documents[Resource.OWNERS] == [
        {"ownerId": "acme", "plan": "gold", "defaultRegion": "US", "anonymizePhi": False}
    ]


async def test_an_unknown_region_is_refused() -> None:
    settings = OwnersSettings(owned=InMemoryOwnedStore())
    with pytest.raises(InvalidInputError) as refused:
        await settings.replace("acme", OwnerSettings(default_region="XX"))
    assert refused.value.problems[0].field == "defaultRegion"


class Refusing(OwnedDocuments):
    """As if another request were always faster."""

    @override
    async def update(self, key: str, fields: object, **_: object) -> bool:
        return False

    @override
    async def insert(self, document: object) -> bool:
        return False


class RefusingStore(OwnedStore):
    @override
    def of(self, owner_id: str, resource: Resource) -> OwnedDocuments:
        return Refusing()  # type: ignore[abstract]  # the rest is not asked for


async def test_settings_that_cannot_be_stored_are_a_conflict() -> None:
    with pytest.raises(ConflictError):
        await OwnersSettings(owned=RefusingStore()).replace("acme", OwnerSettings())
