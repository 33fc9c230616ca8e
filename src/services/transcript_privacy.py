"""What an owner wants masked, besides what each person wants masked."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from src.logs import get_logger
from src.schemas.contact import Turn
from src.schemas.errors import ContactStoreError
from src.services.analysis_masking import masked_transcript
from src.services.memory_ports import Redactor
from src.services.memory_privacy import WITHHELD
from src.services.owned import OwnedStore
from src.services.owner_settings import settings_of

logger = get_logger(__name__)


class OwnerPrivacy:
    """Masks transcripts of owners who ask for it."""

    def __init__(
        self,
        *,
        owned: OwnedStore,
        redactor: Redactor,
        ask_s: float = 1.0,
        mask_s: float = 20.0,
    ) -> None:
        """`ask_s` bounds the wait for the owner's settings, `mask_s` the masking of a transcript."""
        self._owned = owned
        self._redactor = redactor
        self._ask_s = ask_s
        self._mask_s = mask_s

    async def anonymizes(self, owner_id: str) -> bool:
        """Whether the owner wants it masked; a call without an owner is masked.

        Raises:
            ContactStoreError: the store failed.
        """
        if not owner_id:
            return True
        return (await settings_of(self._owned, owner_id)).anonymize_phi

    async def kept(
        self, owner_id: str, transcript: Sequence[Turn], *, language: str
    ) -> tuple[Turn, ...]:
        """The transcript as the call's record may keep it.

        Whether the owner wants it masked is asked when the call is over; without an answer in time it
        is masked, and words that cannot be masked in time are withheld. Never raises.
        """
        if not transcript or not await self._asked(owner_id):
            return tuple(transcript)
        try:
            async with asyncio.timeout(self._mask_s):
                return tuple(
                    await asyncio.to_thread(masked_transcript, transcript, self._redactor, language)
                )
        except Exception as error:  # noqa: BLE001 - whatever a redactor raises, its text is not stored
            fields = {"error": type(error).__name__}
            logger.error("transcript withheld, it could not be masked", extra=fields)  # noqa: TRY400 - the error may quote the text
            return tuple(turn.model_copy(update={"text": WITHHELD}) for turn in transcript)

    async def _asked(self, owner_id: str) -> bool:
        try:
            async with asyncio.timeout(self._ask_s):
                return await self.anonymizes(owner_id)
        except (TimeoutError, ContactStoreError):
            logger.warning("owner's settings are not known, transcript is masked")
            return True
