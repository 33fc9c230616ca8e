"""Wires unified memory and the knowledge base together, for worker and jobs alike."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from openai import AsyncOpenAI
from redis.asyncio import Redis

from src.adapters.clock import SystemClock
from src.adapters.embeddings import OpenAIEmbedder
from src.adapters.file_journal import FileJournal
from src.adapters.memory_journal import FileMemoryJournal
from src.adapters.mongo import Mongo
from src.adapters.mongo_contact_history import MongoContactHistory
from src.adapters.mongo_erasure import MongoErasure
from src.adapters.postgres import Postgres
from src.adapters.postgres_knowledge import PostgresKnowledge
from src.adapters.postgres_memory import PostgresMemoryStore
from src.adapters.presidio import PresidioRedactor
from src.adapters.redis_client import connect_redis
from src.adapters.redis_memory import RedisMemoryStore
from src.adapters.tokens import O200kTokenCounter
from src.schemas.calls import CallPolicy
from src.services.breaker import BreakerPolicy
from src.services.conversation_history import MemorySources
from src.services.erasure import call_journal_surface, nothing_kept, records_surface
from src.services.memory_ports import Redactor
from src.services.memory_stores import MemoryPolicy, MemoryStores, WritePolicy
from src.services.ports import Clock
from src.services.unified_memory import UnifiedMemoryService
from src.settings import Settings

_SHARE = 0.8


@dataclass(frozen=True)
class Foundation:
    """The connections that everything of one process shares."""

    settings: Settings
    clock: Clock
    mongo: Mongo
    redis: Redis
    postgres: Postgres
    openai: AsyncOpenAI

    async def aclose(self) -> None:
        """Close every connection."""
        await self.openai.close()
        await self.postgres.aclose()
        await self.redis.aclose()
        await self.mongo.aclose()


def build_foundation(settings: Settings) -> Foundation:
    """The connections of one process. Does no I/O."""
    return Foundation(
        settings=settings,
        clock=SystemClock(),
        mongo=Mongo(uri=settings.mongodb_uri, database=settings.mongodb_database),
        redis=connect_redis(settings.redis_url),
        postgres=Postgres(url=settings.database_url),
        openai=AsyncOpenAI(
            # A server on one's own machine may need no key, but the client insists on one.
            api_key=settings.openai_api_key.get_secret_value() or "none",
            base_url=settings.openai_base_url,
        ),
    )


@lru_cache(maxsize=1)
def build_redactor(allowed: tuple[str, ...]) -> PresidioRedactor:
    """Masks what identifies people, but for the terms `allowed`; one per process. Does no I/O.

    Load it before a call needs it: what the process that jobs are forked from has loaded, they share.
    """
    return PresidioRedactor(allowed=allowed)


def build_stores(base: Foundation) -> MemoryStores:
    """Where conversations are kept. Does no I/O."""
    return MemoryStores(
        sessions=RedisMemoryStore(base.redis, clock=base.clock),
        archive=PostgresMemoryStore(postgres=base.postgres, clock=base.clock),
        journal=FileMemoryJournal(base.settings.data_dir / "journal" / "memory"),
    )


def build_memory(
    base: Foundation, stores: MemoryStores, redactor: Redactor
) -> UnifiedMemoryService:
    """The service, with every place that a deletion has to reach. Does no I/O."""
    budget_s = base.settings.memory_budget_ms / 1000
    return UnifiedMemoryService(
        stores=stores,
        redactor=redactor,
        clock=base.clock,
        policy=MemoryPolicy(
            writes=WritePolicy(budget_s=budget_s),
            # Sooner than the writer stops waiting, so that it hears of the journal's answer.
            sessions=BreakerPolicy(timeout_s=_SHARE * budget_s),
        ),
        surfaces=(
            records_surface(MongoErasure(base.mongo)),
            call_journal_surface(build_call_journal(base.settings)),
            # Jobs carry the ids of what they work on, never what it says.
            nothing_kept("job_payloads"),
            # Passages are cached nowhere but on the entries that quote them.
            nothing_kept("passage_cache"),
        ),
    )


def call_policy(settings: Settings) -> CallPolicy:
    """The limits of calls, and of what is shown of them ahead."""
    return CallPolicy(
        memory_deadline_s=settings.memory_deadline_ms / 1000,
        ringing_memory_deadline_s=settings.ringing_memory_deadline_ms / 1000,
        ring_timeout_s=settings.ring_timeout_s,
        default_region=settings.default_region,
    )


def build_sources(
    base: Foundation, policy: CallPolicy, count_tokens: O200kTokenCounter
) -> MemorySources:
    """What earlier calls are looked up with. Does no I/O."""
    return MemorySources(
        contacts=MongoContactHistory(base.mongo),
        clock=base.clock,
        count_tokens=count_tokens,
        max_block_tokens=policy.history_max_tokens,
    )


def build_call_journal(settings: Settings) -> FileJournal:
    """Finished calls until the contact store has them. Does no I/O."""
    return FileJournal(settings.data_dir / "journal" / "calls")


def build_knowledge(base: Foundation) -> tuple[PostgresKnowledge, OpenAIEmbedder]:
    """The index of documents, and what searches it by meaning. Does no I/O."""
    embedder = OpenAIEmbedder(client=base.openai, model=base.settings.embedding_model)
    return PostgresKnowledge(base.postgres), embedder
