"""Ten thousand contacts of every form, and the lookups compared with a few lines of plain Python.

The oracle does not read documents: it knows what each was made to mean.
"""

import random
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from src.adapters.contact_documents import Document
from src.schemas.contact import ContactQuery
from tests.contract.conftest import ContactStore

pytestmark = pytest.mark.integration

DOCUMENTS = 10_000
QUERIES = 300
SEED = 20261201
START = datetime(2024, 1, 1, tzinfo=UTC)
AGENTS = {f"agent-{n}": f"owner-{n % 3}" for n in range(9)}
OWNERS = sorted(set(AGENTS.values()))
PHONES = [f"+1415555{n:04}" for n in range(100)] + [f"+91415555{n:04}" for n in range(20)]
BUSY = [100 / (n + 1) for n in range(100)] + [5.0] * 20
"""Weights of the phones: a few call often, most seldom."""


@dataclass(frozen=True)
class Meaning:
    """What a document says, whatever its form."""

    uid: str
    owner: str
    last10: str
    agent: str
    outbound: bool
    at: datetime | None
    summary: str | None
    variables: dict[str, str]


def moment(rng: random.Random) -> datetime:
    """Of a few hundred days, each with a handful of moments, so that there are ties."""
    parts = timedelta(
        days=rng.randrange(700), hours=rng.choice([0, 9]), milliseconds=rng.choice([0, 1])
    )
    return START + parts


def date_form(rng: random.Random, at: datetime) -> Any:
    text = at.isoformat()
    return rng.choice([at] * 38 + [text, text.replace("+00:00", "Z")])


def dates(rng: random.Random) -> tuple[Document, datetime | None]:
    """The two date fields, and what they mean together."""
    started, created = moment(rng), moment(rng)
    no_date = rng.choice([None, ..., "soon", 17])
    match rng.randrange(15):
        case 0:
            return {"callStartedAt": no_date, "createdAt": date_form(rng, created)}, created
        case 1:
            return {"callStartedAt": no_date, "createdAt": rng.choice([None, ..., "?"])}, None
        case 2:
            return {"callStartedAt": date_form(rng, started), "createdAt": no_date}, started
        case _:
            return {"callStartedAt": date_form(rng, started), "createdAt": created}, started


def summary(rng: random.Random, uid: str) -> tuple[Any, str | None]:
    text = f"Summary of {uid}."
    return rng.choice([(text, text)] * 6 + [(None, None), (..., None), (" \n", None), (5, None)])


def variables(rng: random.Random, uid: str) -> tuple[Any, dict[str, str]]:
    return rng.choice(
        [
            ({"name": uid}, {"name": uid}),
            ({"name": uid, "count": 3, "blank": ""}, {"name": uid, "count": "3"}),
            ({"a.b": "x", "nested": {"c": 1}, "none": None}, {"a.b": "x"}),
            ({}, {}),
            ({"name": "  "}, {}),
            (None, {}),
            (..., {}),
        ]
    )


def contact(rng: random.Random, n: int) -> tuple[Document, Meaning]:
    uid = f"uid-{rng.randrange(n + 1) if rng.random() < 0.02 else n:05}"
    agent, phone = rng.choice(sorted(AGENTS)), rng.choices(PHONES, BUSY)[0]
    when, at = dates(rng)
    stored_summary, text = summary(rng, uid)
    stored_variables, values = variables(rng, uid)
    direction = rng.choice(["outbound", "outbound", "inbound", "web", None, ...])
    document = {
        "contactUID": uid,
        "ownerId": rng.choice([AGENTS[agent]] * 38 + [..., None]),
        "AgentID": agent,
        "phone": phone,
        "originalPhone": rng.choice([phone, ..., None]),
        "phoneLast10": rng.choice([phone[-10:]] * 19 + [...]),
        "callDirection": direction,
        "conversation_summary": stored_summary,
        "dynamicVariables": stored_variables,
        **when,
    }
    return (
        {name: value for name, value in document.items() if value is not ...},
        Meaning(
            uid=uid,
            owner=AGENTS[agent],
            last10=phone[-10:],
            agent=agent,
            outbound=direction == "outbound",
            at=at,
            summary=text,
            variables=values,
        ),
    )


def query(rng: random.Random) -> ContactQuery:
    # Until a moment within a millisecond now and then: clocks are finer than stored dates.
    until = moment(rng) + timedelta(microseconds=rng.choice([0, 400]))
    since = until - timedelta(days=rng.randrange(1, 400), microseconds=rng.choice([0, 400]))
    return ContactQuery(
        owner_id=rng.choice(OWNERS),
        phone_last10=rng.choice(PHONES[:20] + PHONES)[-10:],
        agent_ids=frozenset(rng.sample(sorted(AGENTS), rng.randrange(1, 5))),
        until=until,
        since=rng.choice([since, since, None]),
        exclude_contact_uid=rng.choice([None, f"uid-{rng.randrange(DOCUMENTS):05}"]),
    )


def expected(
    contacts: list[Meaning], asked: ContactQuery, wanted: Callable[[Meaning], bool]
) -> list[Meaning]:
    """Of the contacts with the number that is asked for."""
    found = [
        one
        for one in contacts
        if one.owner == asked.owner_id
        and one.agent in asked.agent_ids
        and one.uid != asked.exclude_contact_uid
        and one.at is not None
        and (asked.since or START) <= one.at <= asked.until
        and wanted(one)
    ]
    return sorted(found, key=lambda one: (one.at, one.uid), reverse=True)


async def test_lookups_agree_with_the_oracle(store: ContactStore) -> None:
    rng = random.Random(SEED)  # noqa: S311 - no secret
    made = [contact(rng, n) for n in range(DOCUMENTS)]
    await store.load(*(document for document, _ in made), owners=AGENTS)
    by_phone: dict[str, list[Meaning]] = {}
    for _, meaning in made:
        by_phone.setdefault(meaning.last10, []).append(meaning)
    results = 0
    for _ in range(QUERIES):
        asked = query(rng)
        contacts = by_phone[asked.phone_last10]
        async with aclosing(store.history.conversations(asked)) as found:
            history = [(one.contact_uid, one.at, one.summary) async for one in found]
        told = expected(contacts, asked, lambda one: one.summary is not None)
        assert history == [(one.uid, one.at, one.summary) for one in told]
        async with aclosing(store.history.variables(asked)) as remembered:
            values = [(one.contact_uid, one.at, one.variables) async for one in remembered]
        known = expected(contacts, asked, lambda one: one.outbound and bool(one.variables))
        # Records of one contactUID at one moment have no order among themselves.
        assert sorted(values, key=repr) == sorted(
            [(one.uid, one.at, one.variables) for one in known], key=repr
        )
        assert [one[:2] for one in values] == [(one.uid, one.at) for one in known]
        results += len(history) + len(values)
    assert results > 2 * QUERIES
