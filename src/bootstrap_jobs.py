"""Wires the jobs process and the seed command together, without the worker's heavy libraries."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from src.adapters.documents import FileParser
from src.adapters.mongo_call_records import MongoCallRecords
from src.adapters.mongo_catalogue import MongoCatalogue
from src.adapters.mongo_summary_queue import MongoSummaryQueue
from src.adapters.openai_summaries import OpenAISummariser
from src.adapters.postgres_documents import PostgresDocuments
from src.adapters.postgres_jobs import INGEST_DOCUMENT, enqueue
from src.adapters.presidio import PresidioRedactor
from src.adapters.task_queue import TaskQueue
from src.adapters.tokens import O200kTokenCounter
from src.bootstrap_memory import (
    Foundation,
    build_call_journal,
    build_foundation,
    build_knowledge,
    build_memory,
    build_redactor,
    build_stores,
)
from src.schemas.calls import CallPolicy
from src.services.call_closing import CallCloser
from src.services.chunking import Chunker
from src.services.cross_session import CrossSessionPolicy, SessionSummaries
from src.services.ingestion import Ingestion
from src.services.lexicons import load_lexicons
from src.services.ports import Catalogue
from src.services.retention import purge_expired
from src.services.summaries import SummaryWorker
from src.services.unified_memory import UnifiedMemoryService
from src.settings import Settings

_SESSION_IS_OVER = timedelta(minutes=1)
"""After its last message; a session that goes on is summarised again."""


@dataclass(frozen=True)
class Jobs:
    """The jobs process."""

    base: Foundation
    worker: SummaryWorker
    closer: CallCloser
    memory: UnifiedMemoryService
    queue: TaskQueue
    redactor: PresidioRedactor

    async def aclose(self) -> None:
        """Close every connection."""
        await self.memory.aclose()
        await self.base.aclose()


def build_jobs(settings: Settings) -> Jobs:
    """What `jobs.py` runs. Does no I/O."""
    base = build_foundation(settings)
    summariser = OpenAISummariser(client=base.openai, model=settings.llm_model)
    stores, redactor = build_stores(base), build_redactor(load_lexicons(settings.data_dir).terms)
    sessions = SessionSummaries(
        archive=stores.archive,
        summariser=summariser,
        redactor=redactor,
        clock=base.clock,
        policy=CrossSessionPolicy(idle=_SESSION_IS_OVER),
    )
    ingestion = build_ingestion(base)
    queue = TaskQueue(dsn=settings.database_url, clock=base.clock)
    queue.task(INGEST_DOCUMENT, ingestion.ingest, give_up=ingestion.give_up)
    queue.periodic("summarise_sessions", cron="* * * * *", work=sessions.run_once)
    queue.periodic(
        "purge_memory", cron="17 * * * *", work=partial(purge_expired, stores.archive, base.clock)
    )
    return Jobs(
        base=base,
        worker=SummaryWorker(
            queue=MongoSummaryQueue(mongo=base.mongo, clock=base.clock),
            summariser=summariser,
            clock=base.clock,
            name=f"{socket.gethostname()}-{os.getpid()}",
        ),
        closer=CallCloser(
            records=MongoCallRecords(mongo=base.mongo, clock=base.clock),
            journal=build_call_journal(settings),
            clock=base.clock,
            policy=CallPolicy(),
        ),
        memory=build_memory(base, stores, redactor),
        queue=queue,
        redactor=redactor,
    )


def build_ingestion(base: Foundation) -> Ingestion:
    """Takes documents in and indexes them. Does no I/O."""
    index, embedder = build_knowledge(base)
    count_tokens = O200kTokenCounter()
    return Ingestion(
        store=PostgresDocuments(
            postgres=base.postgres,
            index=index,
            enqueue=lambda connection, document: enqueue(connection, INGEST_DOCUMENT, document),
        ),
        parser=FileParser(),
        chunker=Chunker(count=count_tokens),
        embedder=embedder,
    )


def build_catalogue(base: Foundation) -> Catalogue:
    """The collections as `seed.py` fills them. Does no I/O."""
    return MongoCatalogue(mongo=base.mongo, clock=base.clock)
