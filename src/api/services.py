"""What the routes are served with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from src.services.agent_documents import AgentDocuments
from src.services.api_keys import ApiKeys
from src.services.api_ports import Answers, RateLimiter, RatePolicy
from src.services.call_records_view import CallRecordsView
from src.services.memory_access import MemoryAccess
from src.services.outbound_calls import OutboundCalls
from src.services.owned import OwnedStore
from src.services.owner_settings import OwnersSettings
from src.services.phone_number_bindings import PhoneNumberBindings
from src.services.ports import Clock
from src.services.preview import CallPreview
from src.services.web_sessions import WebSessions
from src.services.webhooks import Webhooks


@dataclass(frozen=True, kw_only=True)
class ApiServices:
    """Everything the API needs; built once per process."""

    keys: ApiKeys
    owned: OwnedStore
    clock: Clock
    limiter: RateLimiter
    answers: Answers
    webhooks: Webhooks
    agents: AgentDocuments
    preview: CallPreview
    settings: OwnersSettings
    calls: OutboundCalls
    records: CallRecordsView
    numbers: PhoneNumberBindings
    sessions: WebSessions
    memory: MemoryAccess
    rates: RatePolicy = field(default_factory=RatePolicy)
    checks: Mapping[str, Callable[[], Awaitable[object]]] = field(default_factory=dict)
    """What has to answer for the API to be ready, by name."""
