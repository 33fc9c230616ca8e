"""Wires the jobs process and the seed command together, without the worker's heavy libraries."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass

from openai import AsyncOpenAI

from src.adapters.clock import SystemClock
from src.adapters.file_journal import FileJournal
from src.adapters.mongo import Mongo
from src.adapters.mongo_call_records import MongoCallRecords
from src.adapters.mongo_catalogue import MongoCatalogue
from src.adapters.mongo_summary_queue import MongoSummaryQueue
from src.adapters.openai_summaries import OpenAISummariser
from src.schemas.calls import CallPolicy
from src.services.call_closing import CallCloser
from src.services.ports import CallRecords, Catalogue, Clock
from src.services.summaries import SummaryWorker
from src.settings import Settings


@dataclass(frozen=True)
class Jobs:
    """The jobs process."""

    worker: SummaryWorker
    closer: CallCloser
    mongo: Mongo
    openai: AsyncOpenAI

    async def aclose(self) -> None:
        """Close every connection."""
        await self.openai.close()
        await self.mongo.aclose()


def build_jobs(settings: Settings) -> Jobs:
    """What `jobs.py` runs. Does no I/O."""
    clock, mongo = SystemClock(), build_mongo(settings)
    openai = AsyncOpenAI(
        api_key=settings.openai_api_key.get_secret_value(), base_url=settings.openai_base_url
    )
    worker = SummaryWorker(
        queue=MongoSummaryQueue(mongo=mongo, clock=clock),
        summariser=OpenAISummariser(client=openai, model=settings.llm_model),
        clock=clock,
        name=f"{socket.gethostname()}-{os.getpid()}",
    )
    records = MongoCallRecords(mongo=mongo, clock=clock)
    closer = build_closer(settings, records, clock, CallPolicy())
    return Jobs(worker=worker, closer=closer, mongo=mongo, openai=openai)


def build_catalogue(settings: Settings) -> tuple[Catalogue, Mongo]:
    """What `seed.py` writes to, and the client to close after it. Does no I/O."""
    mongo = build_mongo(settings)
    return MongoCatalogue(mongo=mongo, clock=SystemClock()), mongo


def build_closer(
    settings: Settings, records: CallRecords, clock: Clock, policy: CallPolicy
) -> CallCloser:
    """Stores finished calls; worker and jobs share its journal. Does no I/O."""
    journal = FileJournal(settings.data_dir / "journal" / "calls")
    return CallCloser(records=records, journal=journal, clock=clock, policy=policy)


def build_mongo(settings: Settings) -> Mongo:
    """The database. Does no I/O."""
    return Mongo(uri=settings.mongodb_uri, database=settings.mongodb_database)
