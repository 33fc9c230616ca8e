"""What an owner (a tenant) has set for all of their calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictBool, ValidationError
from pydantic.alias_generators import to_camel

Region = Annotated[
    str, Field(pattern=r"^[A-Z]{2}$", description="ISO 3166 region", examples=["IN"])
]


class OwnerSettings(BaseModel):
    """Settings of an owner; also the body of requests and answers."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True
    )

    default_region: Region | None = None
    """The region in which national phone numbers are read."""
    anonymize_phi: StrictBool = False
    """Mask what identifies people before transcripts and analyses are stored."""

    @classmethod
    def read(cls, document: Mapping[str, Any] | None) -> OwnerSettings:
        """The settings in a stored document; what cannot be read keeps data private."""
        if document is None:
            return cls()
        known = {name: document.get(name) for name in ("defaultRegion", "anonymizePhi")}
        try:
            return cls.model_validate({k: v for k, v in known.items() if v is not None})
        except ValidationError:
            return cls(anonymize_phi=True)
