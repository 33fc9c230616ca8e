"""Settings that hold for all of an owner's calls."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from src.api.problems import problem_responses
from src.api.routing import resource_router
from src.api.tenant import Requires, Tenant, services_of
from src.schemas.api_keys import Scope
from src.schemas.owner import OwnerSettings
from src.services.owner_settings import OwnersSettings

router = resource_router("settings")

Reader = Annotated[Tenant, Depends(Requires(Scope.SETTINGS_READ))]
Writer = Annotated[Tenant, Depends(Requires(Scope.SETTINGS_WRITE))]


def _settings(request: Request) -> OwnersSettings:
    return services_of(request).settings


Service = Annotated[OwnersSettings, Depends(_settings)]


@router.get("/settings", operation_id="getSettings")
async def get(tenant: Reader, settings: Service) -> OwnerSettings:
    """Your settings; the defaults until you set any."""
    return await settings.get(tenant.owner_id)


@router.put("/settings", operation_id="replaceSettings", responses=problem_responses(409))
async def replace(wanted: OwnerSettings, tenant: Writer, settings: Service) -> OwnerSettings:
    """Replace your settings; what is left out goes back to its default. They hold from the next call on."""
    return await settings.replace(tenant.owner_id, wanted)
