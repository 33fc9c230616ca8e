"""Webhooks: where an owner wants to be told of events, and what became of each telling."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from src.schemas.events import EventType


def _each_once(events: tuple[EventType, ...]) -> tuple[EventType, ...]:
    return tuple(dict.fromkeys(events))


Url = Annotated[
    str,
    Field(
        min_length=1,
        max_length=2048,
        description=(
            "Where events are sent by POST: https, a name or address on the public internet, port 443 "
            "or 1024 and above. Redirects are not followed."
        ),
        examples=["https://example.com/hooks/familiar"],
    ),
]
Events = Annotated[
    tuple[EventType, ...],
    Field(
        min_length=1, description="The types of events that are sent.", examples=[["call.ended"]]
    ),
    AfterValidator(_each_once),
]
Description = Annotated[str, Field(max_length=200, description="For people.", examples=["Our CRM"])]


class _Wire(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True
    )


class NewWebhook(_Wire):
    """What it takes to be told of events."""

    url: Url
    events: Events
    description: Description = ""


class Webhook(_Wire):
    """A place that is told of events."""

    webhook_id: str
    url: str
    events: tuple[EventType, ...]
    description: str = ""
    created_at: AwareDatetime
    disabled_at: AwareDatetime | None = Field(
        default=None,
        description="Since when nothing is sent, because the receiver answered 410 (Gone).",
    )


class WebhookWithSecret(Webhook):
    """A webhook and its secret, as they are shown once."""

    secret: str = Field(
        description="Signs each message (Standard Webhooks). It cannot be read again.",
        examples=["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
    )


class WebhookEndpoint(Webhook):
    """A webhook as it is stored."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    secret: str
    previous_secret: str | None = None
    """Signs as well, until `previous_secret_until`."""
    previous_secret_until: AwareDatetime | None = None

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> WebhookEndpoint:
        """What a stored document says."""
        return cls.model_validate(document)

    def document(self) -> dict[str, Any]:
        """What is stored; the owner is added by the store."""
        return {
            **self.model_dump(by_alias=True),
            "events": [one.value for one in self.events],
        }

    def shown(self) -> Webhook:
        """What may be read of it at any time."""
        return Webhook.model_validate(self.model_dump(include=set(Webhook.model_fields)))

    def shown_once(self) -> WebhookWithSecret:
        """What is answered when the secret is new."""
        fields = set(WebhookWithSecret.model_fields)
        return WebhookWithSecret.model_validate(self.model_dump(include=fields))


class DeliveryStatus(StrEnum):
    """Where a delivery stands."""

    PENDING = "pending"
    """It is sent at `next_attempt_at`."""
    DELIVERED = "delivered"
    DEAD = "dead"
    """Given up. It can be replayed."""


class DeliveryError(StrEnum):
    """Why an attempt failed."""

    STATUS = "status"
    """The receiver answered with a status that is not 2xx; redirects are among them."""
    TIMEOUT = "timeout"
    CONNECTION = "connection"
    """No connection came about, or it broke; names that are not found are among it."""
    TLS = "tls"
    TARGET_REFUSED = "target_refused"
    """The name leads to an address that is not on the public internet."""
    GONE = "gone"
    """The receiver answered 410 and is not sent anything any more."""
    DISABLED = "disabled"
    """The webhook was disabled, or removed, before it was this delivery's turn."""


class WebhookDelivery(_Wire):
    """One event on its way to one webhook."""

    delivery_id: str
    event_id: str = Field(description="The `webhook-id` of the message, however often it is sent.")
    type: EventType
    status: DeliveryStatus = DeliveryStatus.PENDING
    attempts: int = Field(default=0, description="How often it was tried; a replay counts anew.")
    next_attempt_at: AwareDatetime | None = None
    last_status: int | None = Field(default=None, description="HTTP status of the last answer.")
    last_error: DeliveryError | None = None
    created_at: AwareDatetime
    finished_at: AwareDatetime | None = None


class Delivery(WebhookDelivery):
    """A delivery as it is stored."""

    owner_id: str
    webhook_id: str
    body: str
    """What is signed and sent, to the byte."""

    def shown(self) -> WebhookDelivery:
        """What is answered in lists."""
        fields = set(WebhookDelivery.model_fields)
        return WebhookDelivery.model_validate(self.model_dump(include=fields))


class WebhookMessage(BaseModel):
    """What is sent."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str
    secrets: tuple[str, ...]
    """Each makes a signature; the receiver needs one that fits."""
    message_id: str
    at: AwareDatetime
    """The moment of sending, UTC: receivers refuse what is old."""
    body: str


class SendResult(BaseModel):
    """What came of sending; no error means that the receiver has it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    status: int | None = None
    error: DeliveryError | None = None


class Replayed(_Wire):
    """The answer to a replay."""

    replayed: int = Field(description="The dead letters that are sent again.", examples=[3])
