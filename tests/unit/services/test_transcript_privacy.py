"""What an owner wants masked is masked before a call's record has it."""

import pytest

from src.schemas.calls import CallPolicy
from src.schemas.errors import ContactStoreError
from src.services.call_closing import CallCloser
from src.services.owned import Resource
from src.services.transcript_privacy import OwnerPrivacy
from tests.contract.documents import OWNER, call_end, new_contact, turn
from tests.fakes.clock import FakeClock
from tests.fakes.contacts import InMemoryContacts
from tests.fakes.journal import FakeJournal
from tests.fakes.owned import InMemoryOwnedStore
from tests.fakes.redactor import FakeRedactor

SAID = (turn("assistant", "Your number?"), turn("user", "It is 415 555 0123."))


class World:
    def __init__(self, *, ask_s: float = 1.0, mask_s: float = 20.0) -> None:
        self.owned, self.redactor = InMemoryOwnedStore(), FakeRedactor()
        self.privacy = OwnerPrivacy(
            owned=self.owned, redactor=self.redactor, ask_s=ask_s, mask_s=mask_s
        )

    async def owner(self, *, anonymize: object) -> None:
        owners = self.owned.of(OWNER, Resource.OWNERS)
        await owners.insert({"ownerId": OWNER, "anonymizePhi": anonymize})

    async def kept(self) -> list[str]:
        kept = await self.privacy.kept(OWNER, SAID, language="en")
        return [one.text for one in kept]


async def test_words_stay_where_the_owner_does_not_ask() -> None:
    world = World()
    assert await world.kept() == [one.text for one in SAID]
    await world.owner(anonymize=False)
    assert await world.kept() == [one.text for one in SAID]


@pytest.mark.parametrize("anonymize", [True, "unreadable"])
async def test_words_are_masked_where_the_owner_asks(anonymize: object) -> None:
    world = World()
    await world.owner(anonymize=anonymize)
    assert await world.kept() == ["Your number?", "It is [NUMBER]."]


async def test_words_are_masked_when_nobody_knows_what_the_owner_wants() -> None:
    world = World(ask_s=0.01)
    world.owned.faults.error = ContactStoreError("away")
    assert await world.kept() == ["Your number?", "It is [NUMBER]."]
    world.owned.faults.error = None
    world.owned.faults.up.clear()
    assert await world.kept() == ["Your number?", "It is [NUMBER]."]
    assert await world.privacy.anonymizes("")


async def test_words_that_cannot_be_masked_are_withheld() -> None:
    world = World()
    await world.owner(anonymize=True)
    world.redactor.error = ValueError("415 555 0123")
    assert await world.kept() == ["[WITHHELD]", "[WITHHELD]"]


async def test_neither_journal_nor_record_has_what_is_to_be_masked() -> None:
    world, clock = World(), FakeClock()
    await world.owner(anonymize=True)
    contacts, journal = InMemoryContacts(clock), FakeJournal()
    closer = CallCloser(
        records=contacts,
        journal=journal,
        clock=clock,
        policy=CallPolicy(record_budget_s=0),
        privacy=world.privacy,
    )
    contacts.faults.error = ContactStoreError("away")
    assert not await closer.close(new_contact(), call_end(transcript=SAID))
    ((_, end),) = await journal.pending()
    assert "0123" not in str(end)
    contacts.faults.error = None
    await closer.replay()
    assert "0123" not in str(contacts.document("call-1")["transcript"])
