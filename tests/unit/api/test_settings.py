"""An owner's settings over HTTP."""

from typing import Any

import pytest

from src.api.routes.settings import router
from tests.unit.api.conftest import ApiWorld

SETTINGS = "/api/v2/settings"


async def test_settings_are_read_and_replaced_per_owner(world: ApiWorld) -> None:
    async with await world.client(router) as client:
        defaults = {"defaultRegion": None, "anonymizePhi": False}
        assert (await client.get(SETTINGS)).json() == defaults
        chosen = {"defaultRegion": "IN", "anonymizePhi": True}
        assert (await client.put(SETTINGS, json=chosen)).json() == chosen
        assert (await client.get(SETTINGS)).json() == chosen
        assert (await client.put(SETTINGS, json={})).json() == defaults
        await client.put(SETTINGS, json=chosen)
    async with await world.client(router, token=await world.token("globex")) as other:
        assert (await other.get(SETTINGS)).json() == defaults


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"defaultRegion": "XX"}, "defaultRegion"),
        ({"defaultRegion": "india"}, "defaultRegion"),
        ({"anonymizePhi": None}, "anonymizePhi"),
        ({"region": "IN"}, "region"),
    ],
)
async def test_what_cannot_be_is_refused(world: ApiWorld, body: dict[str, Any], field: str) -> None:
    async with await world.client(router) as client:
        response = await client.put(SETTINGS, json=body)
    assert response.status_code == 422
    assert [one["field"] for one in response.json()["errors"]] == [field]
