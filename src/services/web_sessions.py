"""Sessions in the browser: who may enter, and with what rights."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import uuid4

from src.logs import get_logger
from src.schemas.contact import CallDirection
from src.schemas.errors import FieldProblem, InvalidInputError, MediaServerError, NotFoundError
from src.schemas.job_metadata import JobMetadata
from src.schemas.memory import SESSION_TTL_S
from src.schemas.web_sessions import (
    JoinRequest,
    SessionMode,
    WebInvitation,
    WebSessionRequest,
    WebSessionView,
)
from src.services.call_ports import Dispatcher, RoomPass, RoomTokens
from src.services.contact_fields import moment, text, variables
from src.services.owned import Document, OwnedStore, Resource
from src.services.ports import Clock
from src.services.request_checks import agent_problems, variable_problems

logger = get_logger(__name__)

TOKEN_TTL_S = 600
"""A token opens the door once; after a refresh the page asks for another."""
_NO_HASH = "0" * 64


class WebSessions:
    """A session outlives refreshes of its page: each join is a new room, one conversation goes on."""

    def __init__(
        self, *, owned: OwnedStore, tokens: RoomTokens, dispatcher: Dispatcher, clock: Clock
    ) -> None:
        self._owned = owned
        self._tokens = tokens
        self._dispatcher = dispatcher
        self._clock = clock

    async def create(
        self, owner_id: str, request: WebSessionRequest, *, trusted: bool
    ) -> WebSessionView:
        """A new session, open for a day.

        Args:
            owner_id: Whose agent it is.
            request: What is asked for.
            trusted: The owner's own backend asks, and not a page that anybody can open. Only it may say
                who the visitor is, and what the agent is told of them.

        Raises:
            InvalidInputError: the agent is not the owner's, or a field is not for the asker to set.
            ContactStoreError: the store failed.
        """
        await self._check(owner_id, request, trusted=trusted)
        now = self._clock.now()
        session_id, secret = secrets.token_hex(16), secrets.token_urlsafe(32)
        expires_at = now + timedelta(seconds=SESSION_TTL_S)
        await self._owned.of(owner_id, Resource.SESSIONS).insert(
            {
                "sessionId": session_id,
                "secretHash": _hash(secret),
                "agentId": request.agent_id,
                "mode": request.mode,
                "userId": request.user_id,
                "dynamicVariables": dict(request.dynamic_variables),
                "createdAt": now,
                "expiresAt": expires_at,
            }
        )
        return WebSessionView(
            session_id=session_id,
            secret=secret,
            agent_id=request.agent_id,
            mode=request.mode,
            expires_at=expires_at,
        )

    async def join(
        self,
        owner_id: str,
        session_id: str,
        request: JoinRequest,
        *,
        trusted: bool,
        agent_id: str | None = None,
    ) -> WebInvitation:
        """A room of its own, and the right to enter it within ten minutes.

        Args:
            owner_id: Whose session it is.
            session_id: The session.
            request: What is asked for.
            trusted: As for `create`; may leave the secret out.
            agent_id: The one agent that the asker may meet; None for any.

        Raises:
            NotFoundError: no such session, a wrong secret, another agent's, or it is over: which, is
                not told.
            MediaServerError: the job could not be started.
            ContactStoreError: the store failed.
        """
        session = await self._open(
            owner_id, session_id, request.secret, trusted=trusted, agent_id=agent_id
        )
        agents = self._owned.of(owner_id, Resource.AGENTS)
        if not await agents.existing([str(session["agentId"])]):
            raise NotFoundError("no such session")
        job = _job(session, request.mode)
        room = f"web-{uuid4().hex}"
        room_pass = RoomPass(
            room=room,
            identity=f"visitor-{uuid4().hex[:12]}",
            microphone=job.mode == "voice",
            job=None if job.dynamic_values else job,
        )
        if job.dynamic_values:  # not for the visitor to read, as whatever is in the token is
            await self._dispatcher.dispatch(room, job)
        expires_at = self._clock.now() + timedelta(seconds=TOKEN_TTL_S)
        await self._owned.of(owner_id, Resource.SESSIONS).update(session_id, {"room": room})
        return WebInvitation(
            session_id=session_id,
            contact_uid=str(job.contact_uid),
            server_url=self._tokens.server_url,
            token=self._tokens.sign(room_pass, ttl_s=TOKEN_TTL_S),
            token_expires_at=expires_at,
            room=room,
            identity=room_pass.identity,
            mode=job.mode,
        )

    async def authorise(
        self,
        owner_id: str,
        session_id: str,
        secret: str | None,
        *,
        trusted: bool,
        agent_id: str | None = None,
    ) -> str | None:
        """Whether the session's data may be read and changed; the owner's id of its visitor, if known.

        Raises:
            NotFoundError: as for `join`.
            ContactStoreError: the store failed.
        """
        session = await self._open(owner_id, session_id, secret, trusted=trusted, agent_id=agent_id)
        return text(session.get("userId"))

    async def end(
        self,
        owner_id: str,
        session_id: str,
        secret: str | None,
        *,
        trusted: bool,
        agent_id: str | None = None,
    ) -> None:
        """Let nobody join any more, and close the room that was joined last.

        Raises:
            NotFoundError: as for `join`; a session that was ended before is not found.
            ContactStoreError: the store failed.
        """
        session = await self._open(owner_id, session_id, secret, trusted=trusted, agent_id=agent_id)
        sessions = self._owned.of(owner_id, Resource.SESSIONS)
        await sessions.update(session_id, {"endedAt": self._clock.now()})
        if (room := text(session.get("room"))) is None:
            return
        try:
            await self._dispatcher.cancel(room)
        except MediaServerError:  # it closes by itself once its visitor has left
            logger.warning("the room of an ended session was not closed")

    async def _check(self, owner_id: str, request: WebSessionRequest, *, trusted: bool) -> None:
        problems = variable_problems(request.dynamic_variables)
        given = {"userId": request.user_id, "dynamicVariables": request.dynamic_variables}
        problems += [
            FieldProblem(name, "needs a secret key")
            for name, value in given.items()
            if value and not trusted
        ]
        problems += await agent_problems(self._owned, owner_id, request.agent_id)
        if problems:
            raise InvalidInputError(*problems)

    async def _open(
        self,
        owner_id: str,
        session_id: str,
        secret: str | None,
        *,
        trusted: bool,
        agent_id: str | None,
    ) -> Document:
        session = await self._owned.of(owner_id, Resource.SESSIONS).get(session_id)
        # Compared in any case, and in constant time: an answer's delay tells nothing either.
        kept = text((session or {}).get("secretHash")) or _NO_HASH
        fits = hmac.compare_digest(kept, _hash(secret or ""))
        if session is None or not (fits or (trusted and secret is None)):
            raise NotFoundError("no such session")
        if agent_id is not None and session.get("agentId") != agent_id:
            raise NotFoundError("no such session")
        expires_at = moment(session.get("expiresAt"))
        if session.get("endedAt") or expires_at is None or expires_at <= self._clock.now():
            raise NotFoundError("no such session")
        return session


def _hash(secret: str) -> str:
    # 256 random bits need no salt and no slow hash.
    return hashlib.sha256(secret.encode(errors="surrogatepass")).hexdigest()


def _job(session: Mapping[str, Any], mode: SessionMode | None) -> JobMetadata:
    return JobMetadata(
        call_type=CallDirection.WEB,
        agent_id=str(session["agentId"]),
        contact_uid=f"web-{uuid4().hex}",
        session_id=str(session["sessionId"]),
        user_id=text(session.get("userId")),
        mode=mode or session["mode"],
        dynamic_values=variables(session),
    )
