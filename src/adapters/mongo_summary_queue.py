"""The queue of summaries, kept on the contact documents themselves.

A document waits while `summaryStatus` is `pending`, and may be claimed from `summaryDueAt` on. A
claim moves `summaryDueAt` to the end of its lease: a worker that dies gives its call back by doing
nothing. Because the close of a call sets these fields together with the transcript, no transcript
is ever without its place in the queue.
"""

from __future__ import annotations

import uuid
from datetime import timedelta

from typing_extensions import override

from src.adapters.contact_documents import Document, contact_uid, transcript
from src.adapters.mongo import Mongo, store_errors
from src.schemas.calls import SummaryTask
from src.schemas.contact import SummaryStatus
from src.services.ports import Clock, SummaryQueue

_PENDING = SummaryStatus.PENDING.value
_TASK_FIELDS = ("contactUID", "transcript", "language", "summaryAttempts")


class MongoSummaryQueue(SummaryQueue):
    """Any number of workers may claim; each call has one at a time."""

    def __init__(self, *, mongo: Mongo, clock: Clock) -> None:
        self._contacts = mongo.contacts
        self._clock = clock

    @override
    async def claim(self, *, worker: str, lease_s: float) -> SummaryTask | None:
        with store_errors():
            while (document := await self._oldest()) is not None:
                task = _task(document, claim=f"{worker}-{uuid.uuid4().hex}")
                if await self._take(task, lease_s):
                    return task
        return None

    async def _oldest(self) -> Document | None:
        document: Document | None = await self._contacts.find_one(
            {"summaryStatus": _PENDING, "summaryDueAt": {"$lte": self._clock.now()}},
            dict.fromkeys(_TASK_FIELDS, 1),
            sort=[("summaryDueAt", 1)],
        )
        return document

    async def _take(self, task: SummaryTask, lease_s: float) -> bool:
        """Whether no other worker took it meanwhile: every claim counts an attempt.

        One `find_one_and_update` would do, but SecantusDB reads the whole collection for it.
        """
        due = self._clock.now() + timedelta(seconds=lease_s)
        result = await self._contacts.update_one(
            {
                "contactUID": task.contact_uid,
                "summaryStatus": _PENDING,
                "summaryAttempts": task.attempt - 1,
            },
            {
                "$set": {
                    "summaryClaim": task.claim,
                    "summaryDueAt": due,
                    "summaryAttempts": task.attempt,
                }
            },
        )
        return bool(result.modified_count)

    @override
    async def finish(self, task: SummaryTask, status: SummaryStatus, summary: str | None) -> None:
        outcome: Document = {"summaryStatus": status.value}
        if summary is not None:
            outcome["conversation_summary"] = summary
        await self._update(
            task, {"$set": outcome, "$unset": {"summaryClaim": "", "summaryDueAt": ""}}
        )

    @override
    async def postpone(self, task: SummaryTask, *, delay_s: float) -> None:
        due = self._clock.now() + timedelta(seconds=delay_s)
        await self._update(task, {"$set": {"summaryDueAt": due}, "$unset": {"summaryClaim": ""}})

    async def _update(self, task: SummaryTask, update: Document) -> None:
        with store_errors():
            await self._contacts.update_one(
                {"contactUID": task.contact_uid, "summaryClaim": task.claim}, update
            )


def _task(document: Document, *, claim: str) -> SummaryTask:
    language = document.get("language")
    return SummaryTask(
        contact_uid=contact_uid(document),
        transcript=transcript(document),
        language=language if isinstance(language, str) and language else "en",
        attempt=document["summaryAttempts"] + 1,
        claim=claim,
    )
