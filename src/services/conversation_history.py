"""What earlier calls with the same person give to this one.

Two independent features, both per agent and off by default:

- history context: summaries of earlier calls are appended to `AgentMeta.Context`;
- variable memory: values captured on earlier outbound calls fill the gaps in this call's values.

Both only read. Nothing of what they find is written back to the earlier records or to the agent.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar

import arrow

from src.logs import get_logger
from src.schemas.agent_meta_schema import AgentMeta, WindowType
from src.schemas.contact import ContactQuery, PastConversation, RememberedVariables
from src.schemas.receipt import FeatureReceipt, MemoryOutcome, RefusalReason
from src.services.history_block import append_block, format_block
from src.services.phone_numbers import CallerNumber, caller_number, last10, same_person
from src.services.ports import Clock, ContactHistory, TokenCounter

logger = get_logger(__name__)

MAX_EXAMINED = 100
"""Candidates looked at per lookup: more than any person has within a window, and a bound on the work."""

_SHIFTS: Mapping[WindowType, str] = {
    WindowType.DAYS: "days",
    WindowType.WEEKS: "weeks",
    WindowType.MONTHS: "months",
    WindowType.QUARTERS: "quarters",
    WindowType.YEARS: "years",
}
_Candidate = TypeVar("_Candidate", PastConversation, RememberedVariables)


@dataclass(frozen=True)
class MemorySources:
    """What the lookups need from outside."""

    contacts: ContactHistory
    clock: Clock
    count_tokens: TokenCounter
    max_block_tokens: int


@dataclass(frozen=True)
class Caller:
    """Whose memory is asked for, and by which call."""

    number: CallerNumber
    contact_uid: str | None = None
    """The record of the asking call; never a source."""


@dataclass
class _Sieve:
    """Keeps the candidates that are the same person, once per contactUID, and notes the others."""

    caller: CallerNumber
    refused: dict[RefusalReason, tuple[str, ...]] = field(default_factory=dict)
    """contactUIDs; no reason is without any."""
    _seen: set[str] = field(default_factory=set)
    _numbers: set[str] = field(default_factory=set)

    async def take(self, candidates: AsyncIterator[_Candidate]) -> list[_Candidate]:
        """The accepted candidates, newest first, of the first `MAX_EXAMINED`."""
        taken: list[_Candidate] = []
        examined = 0
        async for candidate in candidates:
            if self._accepts(candidate):
                taken.append(candidate)
            examined += 1
            if examined == MAX_EXAMINED:
                break
        if len(self._numbers) > 1:
            # The caller's own number has no country, and the records are of people in two countries:
            # unsure whose memory it is, so none is used.
            self.refuse(RefusalReason.AMBIGUOUS, *(one.contact_uid for one in taken))
            return []
        return taken

    def refuse(self, reason: RefusalReason, *contact_uids: str) -> None:
        """Note that records are not used."""
        if contact_uids:
            self.refused[reason] = (*self.refused.get(reason, ()), *contact_uids)

    def noted(self) -> dict[str, Any]:
        """The fields of a receipt that tell of what was refused."""
        counts = {reason: len(uids) for reason, uids in self.refused.items()}
        return {"refused": counts, "refused_uids": dict(self.refused)}

    def _accepts(self, candidate: PastConversation | RememberedVariables) -> bool:
        if not same_person(self.caller, candidate.phone, candidate.original_phone):
            self.refuse(RefusalReason.DIFFERENT_NUMBER, candidate.contact_uid)
            return False
        if candidate.contact_uid in self._seen:
            self.refuse(RefusalReason.DUPLICATE, candidate.contact_uid)
            return False
        self._seen.add(candidate.contact_uid)
        number = caller_number(candidate.phone, candidate.original_phone, region=None).e164
        if self.caller.e164 is None and number is not None:
            self._numbers.add(number)
        return True


def _phone_last10(phone: str | None) -> str | None:
    """The digits two records of one person share; None if the number cannot identify anybody."""
    return last10(phone)


def _agent_id_set(agent_id: str, linked: Iterable[str | None]) -> frozenset[str]:
    """The agent itself and the linked ones; blanks fall away."""
    return frozenset(name.strip() for name in (agent_id, *linked) if name and name.strip())


def window_start(meta: AgentMeta, now: datetime) -> datetime:
    """Start of the history window, by calendar arithmetic in UTC (month ends are clipped).

    A custom start older than one calendar year counts as one year ago: it was valid when it was
    saved, and ages. Windows longer than the calendar begin with it.
    """
    moment = arrow.get(now).to("utc")
    if meta.history_context_window_type is WindowType.CUSTOM:
        start = meta.history_context_window_start or now
        return max(start.astimezone(UTC), moment.shift(years=-1).datetime)
    unit = _SHIFTS[meta.history_context_window_type]
    try:
        shift: dict[str, Any] = {unit: -meta.history_context_window_value}
        return moment.shift(**shift).datetime
    except (ValueError, OverflowError):
        return datetime.min.replace(tzinfo=UTC)


async def resolve_history_block(
    meta: AgentMeta, caller: Caller, sources: MemorySources
) -> tuple[str, FeatureReceipt]:
    """The block for `AgentMeta.Context` (empty if there is nothing to tell), and how it came about.

    Raises:
        ContactStoreError: the lookup failed.
    """
    now, began = sources.clock.now(), sources.clock.monotonic()
    agents = _agent_id_set(meta.agent_id, meta.history_context_linked_agent_ids)
    since = window_start(meta, now)
    receipt = FeatureReceipt(
        outcome=MemoryOutcome.NOTHING_FOUND, agent_ids=tuple(sorted(agents)), window_start=since
    )
    query = _query(meta, caller, agents, until=now, since=since)
    sieve = _Sieve(caller.number)
    async with aclosing(sources.contacts.conversations(query)) as candidates:
        found = await sieve.take(candidates)
    taken, beyond = found[: meta.history_context_max], found[meta.history_context_max :]
    sieve.refuse(RefusalReason.BEYOND_MAXIMUM, *(one.contact_uid for one in beyond))
    block = format_block(
        taken[::-1],
        zone=meta.zone,
        now=now,
        max_tokens=sources.max_block_tokens,
        count=sources.count_tokens,
    )
    sieve.refuse(RefusalReason.BEYOND_TOKENS, *block.dropped[::-1])
    return block.text, receipt.model_copy(
        update={
            "outcome": MemoryOutcome.APPLIED if block.used else MemoryOutcome.NOTHING_FOUND,
            "contact_uids": block.used,
            **sieve.noted(),
            "took_ms": _ms_since(began, sources.clock),
        }
    )


async def resolve_remembered_variables(
    meta: AgentMeta, caller: Caller, sources: MemorySources
) -> tuple[dict[str, str], FeatureReceipt]:
    """The non-blank variables of the latest outbound call that has any, and how they were found.

    Raises:
        ContactStoreError: the lookup failed.
    """
    now, began = sources.clock.now(), sources.clock.monotonic()
    agents = _agent_id_set(meta.agent_id, [meta.variable_memory_linked_agent_id])
    sieve = _Sieve(caller.number)
    query = _query(meta, caller, agents, until=now, since=None)
    async with aclosing(sources.contacts.variables(query)) as candidates:
        found = await sieve.take(candidates)
    variables = {k: v for k, v in found[0].variables.items() if v.strip()} if found else {}
    return variables, FeatureReceipt(
        outcome=MemoryOutcome.APPLIED if variables else MemoryOutcome.NOTHING_FOUND,
        contact_uids=(found[0].contact_uid,) if found else (),
        agent_ids=tuple(sorted(agents)),
        **sieve.noted(),
        took_ms=_ms_since(began, sources.clock),
    )


async def maybe_apply_history_context(
    meta: AgentMeta, caller: Caller, sources: MemorySources
) -> tuple[AgentMeta, FeatureReceipt]:
    """The agent with earlier conversations appended to its Context, if the feature is on.

    Raises:
        ContactStoreError: the lookup failed.
    """
    if not meta.history_context_enabled:
        return meta, FeatureReceipt()
    if caller.number.last10 is None:
        logger.info("No usable phone number for history lookup")
        return meta, FeatureReceipt(outcome=MemoryOutcome.NO_PHONE)
    block, receipt = await resolve_history_block(meta, caller, sources)
    if not block:
        logger.info("No eligible conversation history found")
        return meta, receipt
    logger.info(
        "Injecting %d prior conversation summary(ies) into agent Context.",
        len(receipt.contact_uids),
    )
    return meta.model_copy(update={"Context": append_block(meta.Context, block)}), receipt


async def maybe_apply_variable_memory(
    meta: AgentMeta, caller: Caller, live: Mapping[str, str], sources: MemorySources
) -> tuple[dict[str, str], FeatureReceipt]:
    """The call's values with missing and blank ones filled from memory; live values always win.

    Raises:
        ContactStoreError: the lookup failed.
    """
    if not meta.variable_memory_enabled:
        return dict(live), FeatureReceipt()
    if caller.number.last10 is None:
        logger.info("No usable phone number for variable memory")
        return dict(live), FeatureReceipt(outcome=MemoryOutcome.NO_PHONE)
    remembered, receipt = await resolve_remembered_variables(meta, caller, sources)
    filled = {k: v for k, v in remembered.items() if not live.get(k, "").strip()}
    if not filled:
        logger.info("No remembered dynamic variables to apply")
        return dict(live), receipt.model_copy(update={"outcome": MemoryOutcome.NOTHING_FOUND})
    logger.info("Applied %d remembered dynamic variable(s) from prior calls.", len(filled))
    return {**live, **filled}, receipt.model_copy(update={"variables": tuple(sorted(filled))})


def _query(
    meta: AgentMeta,
    caller: Caller,
    agents: frozenset[str],
    *,
    until: datetime,
    since: datetime | None,
) -> ContactQuery:
    digits = caller.number.last10
    if digits is None:
        raise ValueError("a lookup needs a number that identifies a caller")
    return ContactQuery(
        owner_id=meta.owner_id,
        phone_last10=digits,
        agent_ids=agents,
        until=until,
        since=since,
        exclude_contact_uid=caller.contact_uid,
    )


def _ms_since(began: float, clock: Clock) -> float:
    return round((clock.monotonic() - began) * 1000, 2)
