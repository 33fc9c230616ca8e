"""The MongoDB client, its collections, and the translation of its errors.

This is the only module that constructs a client. It uses motor, which is at the end of its life
(critical fixes until May 2027); the way out is PyMongo's `AsyncMongoClient`, which has the same
options. To take it: construct it here instead, and in the other `mongo_*` modules await what it made
a coroutine (`aggregate`, `list_indexes`, `close`). Nothing outside `src/adapters/mongo*` changes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from bson.errors import BSONError
from motor.motor_asyncio import AsyncIOMotorClient, AsyncIOMotorCollection
from pymongo.errors import PyMongoError

from src.adapters.contact_documents import Document
from src.schemas.errors import ContactStoreError


@dataclass(frozen=True)
class MongoTimeouts:
    """How long the client waits, in milliseconds, before it gives up and says so.

    A call's own deadlines are shorter; these bound how long a hung server keeps a thread.
    """

    server_selection_ms: int = 2000
    connect_ms: int = 2000
    socket_ms: int = 5000


class Mongo:
    """The product's database. Constructing it does no I/O; the first operation connects."""

    def __init__(
        self,
        *,
        uri: str,
        database: str,
        timeouts: MongoTimeouts | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """`options` are PyMongo's own, as `retryWrites=False` for a server without retryable writes."""
        limits = timeouts or MongoTimeouts()
        self._client: AsyncIOMotorClient[Document] = AsyncIOMotorClient(
            uri,
            tz_aware=True,
            # A date outside Python's years must not make the documents around it unreadable.
            datetime_conversion="DATETIME_AUTO",
            unicode_decode_error_handler="replace",
            serverSelectionTimeoutMS=limits.server_selection_ms,
            connectTimeoutMS=limits.connect_ms,
            socketTimeoutMS=limits.socket_ms,
            **(options or {}),
        )
        self._database = self._client.get_database(database)

    @property
    def contacts(self) -> AsyncIOMotorCollection[Document]:
        """One document per call."""
        return self._database.get_collection("Contact")

    @property
    def agents(self) -> AsyncIOMotorCollection[Document]:
        """One document per agent."""
        return self._database.get_collection("Agent")

    @property
    def phone_numbers(self) -> AsyncIOMotorCollection[Document]:
        """One document per number that can be dialled."""
        return self._database.get_collection("PhoneNumber")

    def collection(self, name: str) -> AsyncIOMotorCollection[Document]:
        """A collection by its name."""
        return self._database.get_collection(name)

    async def ping(self) -> None:
        """Return once the server answers.

        Raises:
            ContactStoreError: it does not.
        """
        with store_errors():
            await self._database.command("ping")

    async def aclose(self) -> None:
        """Close every connection, without holding up the event loop."""
        await asyncio.to_thread(self.close)

    def close(self) -> None:
        """Close every connection; waits for the server."""
        self._client.close()


@contextmanager
def store_errors() -> Iterator[None]:
    """Turn what the driver raises into `ContactStoreError`.

    The message names the kind of failure only: the driver's own may quote the document.
    """
    try:
        yield
    except (PyMongoError, BSONError, OverflowError) as error:
        raise ContactStoreError(f"contact store: {type(error).__name__}") from error
