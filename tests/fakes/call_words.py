"""What was said in calls, over call records in memory."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from typing_extensions import override

from src.adapters.contact_documents import RETENTION_CHECK, Document
from src.adapters.mongo_call_words import GONE, spoken_call
from src.schemas.analysis import AnalysisStatus
from src.services.retention_ports import SpokenCall, SpokenCalls
from tests.fakes.contacts import InMemoryContacts


class InMemoryCallWords(SpokenCalls):
    """Shares the documents and the faults of `contacts`; a record's key is its contactUID."""

    def __init__(self, contacts: InMemoryContacts) -> None:
        self._contacts = contacts

    @override
    async def to_check(self, *, now: datetime, limit: int) -> Sequence[SpokenCall]:
        await self._contacts.faults.check()
        due = [d for d in self._contacts.documents if RETENTION_CHECK in d]
        due = [d for d in due if d[RETENTION_CHECK] < now]
        first = sorted(due, key=lambda one: one[RETENTION_CHECK])[:limit]
        return [spoken_call(one["contactUID"], one) for one in first]

    @override
    async def check_again(self, moments: Mapping[SpokenCall, datetime]) -> None:
        await self._contacts.faults.check()
        for call, at in moments.items():
            for document in self._held([call]):
                document[RETENTION_CHECK] = at

    @override
    async def empty(self, calls: Collection[SpokenCall]) -> int:
        await self._contacts.faults.check()
        pending = AnalysisStatus.PENDING
        gone = [one for one in self._held(calls) if one.get("analysisStatus") != pending]
        for document in gone:
            document["transcript"] = []
            for name in GONE:
                _unset(document, name)
        return len(gone)

    def _held(self, calls: Collection[SpokenCall]) -> list[Document]:
        keys = {call.key for call in calls}
        documents = self._contacts.documents
        return [d for d in documents if d["contactUID"] in keys and RETENTION_CHECK in d]


def _unset(document: Document, path: str) -> None:
    parent, _, name = path.rpartition(".")
    holder = document.get(parent) if parent else document
    if isinstance(holder, dict):
        holder.pop(name, None)
