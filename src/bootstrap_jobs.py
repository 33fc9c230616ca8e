"""Wires the jobs process and the seed command together, without the worker's heavy libraries."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from src.adapters.documents import FileParser
from src.adapters.livekit_numbers import LiveKitNumbers
from src.adapters.livekit_server import LiveKitServer
from src.adapters.mongo_bound_numbers import MongoBoundNumbers
from src.adapters.mongo_call_words import MongoCallWords
from src.adapters.mongo_catalogue import MongoCatalogue
from src.adapters.openai_summaries import OpenAISummariser
from src.adapters.postgres_documents import PostgresDocuments
from src.adapters.postgres_jobs import INGEST_DOCUMENT, enqueue
from src.adapters.postgres_retentions import PostgresRetentions
from src.adapters.presidio import PresidioRedactor
from src.adapters.task_queue import QueuePolicy, TaskQueue
from src.adapters.tokens import O200kTokenCounter
from src.bootstrap_follow_up import (
    build_livekit,
    build_privacy,
    build_records,
    run_follow_up_jobs,
)
from src.bootstrap_memory import (
    Foundation,
    build_call_journal,
    build_foundation,
    build_knowledge,
    build_memory,
    build_redactor,
    build_stores,
)
from src.bootstrap_webhooks import build_webhooks, run_webhook_jobs
from src.schemas.calls import CallPolicy
from src.services.call_closing import CallCloser
from src.services.call_retention import CallRetention
from src.services.chunking import Chunker
from src.services.cross_session import CrossSessionPolicy, SessionSummaries
from src.services.ingestion import Ingestion
from src.services.lexicons import load_lexicons
from src.services.ports import Catalogue
from src.services.retention import purge_expired
from src.services.unified_memory import UnifiedMemoryService
from src.settings import Settings

_SESSION_IS_OVER = timedelta(minutes=1)
"""After its last message; a session that goes on is summarised again."""
_JOBS_AT_ONCE = 4
"""Per process; most of a job is waiting for a model or a receiver."""


@dataclass(frozen=True)
class Jobs:
    """The jobs process."""

    base: Foundation
    livekit: LiveKitServer
    closer: CallCloser
    memory: UnifiedMemoryService
    queue: TaskQueue
    redactor: PresidioRedactor

    async def aclose(self) -> None:
        """Close every connection."""
        await self.memory.aclose()
        await self.livekit.aclose()
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
    policy = QueuePolicy(concurrency=_JOBS_AT_ONCE)
    queue = TaskQueue(dsn=settings.database_url, clock=base.clock, policy=policy)
    queue.task(INGEST_DOCUMENT, ingestion.ingest, give_up=ingestion.give_up)
    queue.periodic("summarise_sessions", cron="* * * * *", work=sessions.run_once)
    queue.periodic(
        "purge_memory", cron="17 * * * *", work=partial(purge_expired, stores.archive, base.clock)
    )
    calls = CallRetention(
        calls=MongoCallWords(base.mongo),
        retentions=PostgresRetentions(base.postgres),
        clock=base.clock,
    )
    queue.periodic("purge_calls", cron="37 * * * *", work=calls.run_once)
    livekit, webhooks = build_livekit(settings), build_webhooks(base)
    run_webhook_jobs(queue, webhooks.dispatcher)
    # What the media server was not told because it was away, or has lost.
    numbers = LiveKitNumbers(livekit, MongoBoundNumbers(base.mongo))
    queue.periodic("reconcile_numbers", cron="*/5 * * * *", work=numbers.reconcile)
    run_follow_up_jobs(queue, base, livekit=livekit, redactor=redactor, sink=webhooks.dispatcher)
    return Jobs(
        base=base,
        livekit=livekit,
        closer=CallCloser(
            records=build_records(base),
            journal=build_call_journal(settings),
            clock=base.clock,
            policy=CallPolicy(),
            privacy=build_privacy(base, redactor),
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
