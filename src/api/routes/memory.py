"""What is remembered of sessions and of people; their settings, a copy of everything, its deletion."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Depends, Path, Query, Request

from src.api.problems import problem_responses
from src.api.routing import resource_router
from src.api.session_access import SessionId, session_tenant
from src.api.tenant import Requires, Tenant, services_of
from src.schemas.api_keys import Scope
from src.schemas.memory_api import (
    DeletionReceiptView,
    ExportView,
    LanguageRequest,
    MemorySettingsView,
    ModeRequest,
    SessionEventsView,
    SessionMemoryView,
)
from src.schemas.text import Text

router = resource_router("memory")

Reader = Annotated[Tenant, Depends(Requires(Scope.MEMORY_READ))]
Writer = Annotated[Tenant, Depends(Requires(Scope.MEMORY_WRITE))]
SessionReader = Annotated[Tenant, Depends(session_tenant(Scope.MEMORY_READ))]
SessionWriter = Annotated[Tenant, Depends(session_tenant(Scope.MEMORY_WRITE))]
PersonId = Annotated[
    Text,
    Path(
        alias="userId",
        min_length=1,
        max_length=200,
        description="Your own id of the person, or their phone number with its country: `+15551234567`.",
    ),
]
"""In paths as `{userId:path}`: an owner's own ids may have slashes."""
_MISSING = problem_responses(404)


@router.get("/sessions/{sessionId}/memory", operation_id="getSessionMemory", responses=_MISSING)
async def session_memory(
    request: Request, session_id: SessionId, tenant: SessionReader
) -> SessionMemoryView:
    """The last fifty messages of a session, and the mode and language it goes on in."""
    access = services_of(request).memory
    return SessionMemoryView.of(await access.session(tenant.owner_id, session_id))


@router.get(
    "/sessions/{sessionId}/memory/events", operation_id="getSessionEvents", responses=_MISSING
)
async def session_events(
    request: Request, session_id: SessionId, tenant: SessionReader
) -> SessionEventsView:
    """Switches of mode and language, and what else happened in a session."""
    found = await services_of(request).memory.events(tenant.owner_id, session_id)
    return SessionEventsView(events=[dict(one) for one in found])


@router.put("/sessions/{sessionId}/memory/mode", operation_id="putSessionMode", responses=_MISSING)
async def put_mode(
    request: Request, session_id: SessionId, wanted: ModeRequest, tenant: SessionWriter
) -> SessionMemoryView:
    """Let a session go on in a mode from its next visit; a page that is in a room asks the agent."""
    access = services_of(request).memory
    return SessionMemoryView.of(await access.switch_mode(tenant.owner_id, session_id, wanted.mode))


@router.put(
    "/sessions/{sessionId}/memory/language",
    operation_id="putSessionLanguage",
    responses=_MISSING,
)
async def put_language(
    request: Request, session_id: SessionId, wanted: LanguageRequest, tenant: SessionWriter
) -> SessionMemoryView:
    """Let a session go on in a language from its next visit; the person prefers it from now on."""
    access = services_of(request).memory
    return SessionMemoryView.of(
        await access.choose_language(tenant.owner_id, session_id, wanted.language)
    )


@router.delete(
    "/sessions/{sessionId}/memory", operation_id="deleteSessionMemory", responses=_MISSING
)
async def delete_session(
    request: Request, session_id: SessionId, tenant: SessionWriter
) -> DeletionReceiptView:
    """Delete a session, everywhere something of it is kept; the answer says what was reached."""
    access = services_of(request).memory
    return DeletionReceiptView.of(await access.delete_session(tenant.owner_id, session_id))


@router.get("/users/{userId:path}/memory", operation_id="exportUserMemory")
async def export(request: Request, user_id: PersonId, tenant: Reader) -> ExportView:
    """Everything kept of a person: conversations, settings, preferences, and records of calls."""
    memory, calls = await services_of(request).memory.export(tenant.owner_id, user_id)
    return ExportView(memory=memory, calls=calls)


@router.delete("/users/{userId:path}/memory", operation_id="deleteUserMemory")
async def delete_user(
    request: Request,
    user_id: PersonId,
    tenant: Writer,
    scope: Annotated[Literal["all", "day"], Query(description="`day`: since midnight UTC.")],
) -> DeletionReceiptView:
    """Delete what is kept of a person, everywhere; the answer says what was reached."""
    access = services_of(request).memory
    return DeletionReceiptView.of(await access.delete(tenant.owner_id, user_id, scope))


@router.get("/users/{userId:path}/memory/settings", operation_id="getUserMemorySettings")
async def settings(request: Request, user_id: PersonId, tenant: Reader) -> MemorySettingsView:
    """What a person chose of memory and privacy, else the defaults."""
    found = await services_of(request).memory.settings(tenant.owner_id, user_id)
    return MemorySettingsView.of(found)


@router.put("/users/{userId:path}/memory/settings", operation_id="putUserMemorySettings")
async def put_settings(
    request: Request, user_id: PersonId, wanted: MemorySettingsView, tenant: Writer
) -> MemorySettingsView:
    """Store what a person chose; sessions heed it from their start."""
    await services_of(request).memory.put_settings(tenant.owner_id, user_id, wanted.settings)
    return wanted
