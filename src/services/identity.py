"""Who a memory belongs to, as an id that tells nobody who that is."""

from __future__ import annotations

import hashlib

_ANONYMOUS = "anon-"


def memory_user_id(
    owner_id: str,
    *,
    e164: str | None = None,
    user: str | None = None,
    session_id: str | None = None,
) -> str:
    """The id under which an owner's agents remember a person.

    The owner's own id of the person decides (`user`), then the whole phone number, called or calling.
    With neither, the session has an id of its own, under which no other session is found.

    An id is a pseudonym and not anonymous: who has it and a list of numbers can find out whose it is,
    so it is deleted and protected as the number would be. It is the same on every machine and in
    every year, since memory is found by it, and differs between owners.

    Raises:
        ValueError: nothing is given to tell one session from another.
    """
    if user:
        return f"u-{_digest(owner_id, 'user', user)}"
    if e164:
        return f"p-{_digest(owner_id, 'e164', e164)}"
    if session_id:
        return f"{_ANONYMOUS}{_digest(owner_id, 'session', session_id)}"
    raise ValueError("a user, a number or a session is needed")


def is_anonymous(user_id: str) -> bool:
    """Whether the id stands for one session of somebody unknown."""
    return not user_id or user_id.startswith(_ANONYMOUS)


def _digest(*parts: str) -> str:
    # Each part with its length, so that no two lists of parts are written alike.
    written = "".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.sha256(written.encode(errors="surrogatepass")).hexdigest()[:32]
