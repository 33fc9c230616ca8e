"""A journal in memory."""

from collections.abc import Sequence

from typing_extensions import override

from src.schemas.contact import CallEnd, NewContact
from src.services.ports import CallJournal


class FakeJournal(CallJournal):
    """Keeps the calls in the order they were written."""

    def __init__(self) -> None:
        self.kept: dict[str, tuple[NewContact, CallEnd]] = {}

    @override
    async def write(self, contact: NewContact, end: CallEnd) -> None:
        self.kept[contact.contact_uid] = (contact, end)

    @override
    async def pending(self) -> Sequence[tuple[NewContact, CallEnd]]:
        return tuple(self.kept.values())

    @override
    async def remove(self, contact_uid: str) -> None:
        self.kept.pop(contact_uid, None)
