"""`Idempotency-Key`: a POST that is sent again gets the answer of the first, and creates nothing.

The answer is kept for a day, encrypted with the key that asked: who cannot ask cannot read it, and
secrets that are shown once are not lying about.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re

from cryptography.fernet import Fernet
from fastapi import Request
from starlette.responses import Response

from src.api.problems import ApiError
from src.services.api_ports import Answers

HEADER = "Idempotency-Key"
KEPT_S = 24 * 3600
RESERVED_S = 120
"""For the first request to be answered; after that it counts as lost."""
_KEPT_HEADERS = ("content-type", "location", "etag", "set-cookie")
_SHAPE = re.compile(r"[\x21-\x7e]{1,255}")
_PENDING = "pending"


class ReplayedError(Exception):
    """The request was answered before; not an error, but the way out of its handling."""

    def __init__(self, response: Response) -> None:
        super().__init__("answered before")
        self.response = response


class Attempt:
    """One request with an idempotency key."""

    def __init__(self, answers: Answers, *, name: str, body: str, fernet: Fernet) -> None:
        self._answers = answers
        self._name = name
        self._body = body
        self._fernet = fernet

    async def begin(self) -> None:
        """Take the name, or answer as before; see the module's `begin`."""
        pending = json.dumps({"state": _PENDING, "body": self._body})
        found = await self._answers.reserve(self._name, pending, RESERVED_S)
        if found is None:
            return
        before = json.loads(found)
        if before["body"] != self._body:
            raise ApiError(
                422, "the key was used for another request", code="idempotency_key_reused"
            )
        if before["state"] == _PENDING:
            raise ApiError(409, "the first request is being answered", code="idempotency_pending")
        raise ReplayedError(self._response(before["answer"]))

    async def end(self, response: Response) -> None:
        """Keep the answer, if it created something."""
        if response.status_code >= 300:  # nothing was created
            await self._answers.remove(self._name)
            return
        answer = {
            "status": response.status_code,
            "headers": {k: v for k, v in response.headers.items() if k in _KEPT_HEADERS},
            "body": base64.b64encode(bytes(response.body)).decode(),
        }
        sealed = self._fernet.encrypt(json.dumps(answer).encode()).decode()
        done = json.dumps({"state": "done", "body": self._body, "answer": sealed})
        await self._answers.put(self._name, done, KEPT_S)

    async def abandon(self) -> None:
        """Let the request be sent again: it failed."""
        await self._answers.remove(self._name)

    def _response(self, sealed: str) -> Response:
        answer = json.loads(self._fernet.decrypt(sealed.encode()))
        return Response(
            base64.b64decode(answer["body"]),
            answer["status"],
            headers={**answer["headers"], "Idempotency-Replayed": "true"},
        )


async def begin(request: Request, answers: Answers, *, key_id: str, token: str) -> None:
    """What an authenticated POST does first.

    Raises:
        ReplayedError: it was answered before.
        ApiError: the key is malformed, was used for something else, or is in use.
        ContactStoreError: the store failed.
    """
    header = request.headers.get(HEADER)
    if header is None or request.method != "POST":
        return
    if not _SHAPE.fullmatch(header):
        raise ApiError(400, f"{HEADER} is up to 255 visible characters", code="bad_request")
    named = f"{key_id}\n{request.url.path}?{request.url.query}\n{header}"
    attempt = Attempt(
        answers,
        name=f"idempotency:{hashlib.sha256(named.encode()).hexdigest()}",
        body=hashlib.sha256(await request.body()).hexdigest(),
        fernet=Fernet(
            base64.urlsafe_b64encode(hashlib.sha256(f"idempotency {token}".encode()).digest())
        ),
    )
    await attempt.begin()
    request.state.idempotency = attempt


def attempt_of(request: Request) -> Attempt | None:
    """The attempt that `begin` made of the request, if it came with a key."""
    found: Attempt | None = getattr(request.state, "idempotency", None)
    return found
