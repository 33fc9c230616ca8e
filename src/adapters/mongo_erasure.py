"""Empties a person's documents in the `Contact` collection of what is theirs.

A person's documents are those of their sessions (`sessionId`), those that name them (`userId`), and,
for callers, those of the owner that the history lookup would take for theirs: a document that memory
could speak from is one that a deletion reaches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from typing_extensions import override

from src.adapters.contact_documents import RETENTION_CHECK, Document, call_moment, moment
from src.adapters.mongo import Mongo, store_errors
from src.schemas.analysis import AnalysisStatus
from src.services.erasure import ErasureRequest, PersonRecords
from src.services.phone_numbers import caller_number, same_person

_COUNTED = {
    "conversation_summary": "summaries",
    "conversation_summary_en": "summaries",
    "dynamicVariables": "variables",
    "transcript": "transcripts",
    "analysis": "analyses",
    "memoryReceipt": "receipts",
    "handoffReceipts": "receipts",
    "phone": "numbers",
}
"""Fields to what a receipt calls them; a field that is empty already is not counted."""
_READ: Document = {
    **dict.fromkeys((*_COUNTED, "originalPhone", "callStartedAt", "callEndedAt", "createdAt"), 1),
    "transcript": {"$slice": 1},
}
_EMPTY: Document = {
    "phone": None,
    "originalPhone": None,
    "phoneLast10": None,
    "dynamicVariables": {},
    "transcript": [],
    "memoryReceipt": None,
    "handoffReceipts": [],
    # An analysis that is being made meanwhile finds that nothing waits for it, and is not stored.
    "analysisStatus": AnalysisStatus.NO_CONVERSATION.value,
}
# A room may be named after the number that called.
_GONE = (
    *("conversation_summary", "conversation_summary_en", "analysis", "userId", "room"),
    *("analysisAttempts", "analysisError", RETENTION_CHECK),
)
_BATCH = 500


class MongoErasure(PersonRecords):
    """What stays of a call is when it was, how it ended, and for which agent and campaign."""

    def __init__(self, mongo: Mongo) -> None:
        self._contacts = mongo.contacts

    @override
    async def erase(self, request: ErasureRequest) -> Mapping[str, int]:
        counts = Counter(dict.fromkeys(_COUNTED.values(), 0))
        ids: dict[Any, None] = {}
        with store_errors():
            for document in await self._documents(request):
                if document["_id"] not in ids and _is_covered(document, request):
                    ids[document["_id"]] = None
                    counts.update(_COUNTED[name] for name in _COUNTED if document.get(name))
            await self._empty(list(ids), request)
        return counts

    async def _documents(self, request: ErasureRequest) -> list[Document]:
        """Those that may be the person's; one may come twice."""
        sessions = list(request.session_ids)
        queries: list[Document] = []
        if sessions:
            queries += [{"sessionId": {"$in": sessions}}, {"contactUID": {"$in": sessions}}]
        if request.scope != "session":
            queries.append({"userId": request.user_id})
        found: list[Document] = []
        for query in queries:
            found += await self._contacts.find(query, _READ).to_list(None)
        if request.scope != "session":
            found += await self._calls_of_number(request)
        return found

    async def _calls_of_number(self, request: ErasureRequest) -> list[Document]:
        caller = caller_number(request.e164, None, region=None)
        if not request.owner_id or caller.last10 is None:
            return []
        query = {"ownerId": request.owner_id, "phoneLast10": caller.last10}
        calls: list[Document] = await self._contacts.find(query, _READ).to_list(None)
        return [
            call
            for call in calls
            if same_person(caller, call.get("phone"), call.get("originalPhone"))
        ]

    async def _empty(self, ids: list[Any], request: ErasureRequest) -> None:
        update = {"$set": {**_EMPTY, "erasedAt": request.at}, "$unset": dict.fromkeys(_GONE, "")}
        for start in range(0, len(ids), _BATCH):
            await self._contacts.update_many({"_id": {"$in": ids[start : start + _BATCH]}}, update)


def _is_covered(document: Document, request: ErasureRequest) -> bool:
    if request.since is None:
        return True
    last = moment(document.get("callEndedAt")) or call_moment(document)
    return last is None or last >= request.since
