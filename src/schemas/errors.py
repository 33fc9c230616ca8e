"""The error tree.

FamiliarError
├── CallNotAnsweredError     the callee did not pick up: busy, no answer, rejected, invalid, trunk failure
├── ContactStoreError        the contact store could not be read or written
├── NobodyCameError          the other side never joined the room
├── AgentNotFoundError       no agent has this id, or no agent is bound to the dialled number
├── LanguageModelError       the language model gave no usable answer
├── MemoryStoreError         a store of the conversation failed, or did not answer in time
├── EmbeddingError           the embedding model gave no usable answer
├── DocumentError            a file cannot become part of a knowledge base
├── MediaServerError         the media server (LiveKit) refused, or did not answer in time
├── SeedFileError            a seed file holds something that cannot be stored
├── NotFoundError            the owner has no such thing; another owner's is answered alike
├── ConflictError            what is asked for contradicts what is there
├── StaleError               the thing was changed since it was read
└── InvalidInputError        fields of a request are not as they must be
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from src.schemas.contact import ContactStatus


class FamiliarError(Exception):
    """Base of every error the product raises on purpose."""

    code: ClassVar[str] = "failed"
    retryable: ClassVar[bool] = False


class CallNotAnsweredError(FamiliarError):
    """The callee did not pick up; `status` is what the contact record gets."""

    code = "call_not_answered"

    def __init__(self, status: ContactStatus, *, sip_status: int | None = None) -> None:
        super().__init__(f"call not answered: {status} (SIP {sip_status})")
        self.status = status
        self.sip_status = sip_status


class NobodyCameError(FamiliarError):
    """The other side never joined the room: it left before we were there."""

    code = "nobody_came"


class ContactStoreError(FamiliarError):
    """The contact store failed or did not answer in time."""

    code = "contact_store_failed"
    retryable = True


class AgentNotFoundError(FamiliarError):
    """No such agent, or no agent is bound to the dialled number."""

    code = "agent_not_found"


class LanguageModelError(FamiliarError):
    """The language model failed, or answered with nothing usable."""

    code = "language_model_failed"
    retryable = True


class MemoryStoreError(FamiliarError):
    """A store of the conversation failed, or did not answer in time."""

    code = "memory_store_failed"
    retryable = True


class EmbeddingError(FamiliarError):
    """The embedding model failed, did not answer in time, or answered with nothing usable."""

    code = "embedding_failed"
    retryable = True


DocumentProblem = Literal["unsupported", "broken", "encrypted", "empty", "too_large"]


class DocumentError(FamiliarError):
    """A file cannot become part of a knowledge base; trying again does not help."""

    code = "document_unusable"

    def __init__(self, reason: DocumentProblem) -> None:
        super().__init__(f"document is {reason}")
        self.reason: DocumentProblem = reason


class SeedFileError(FamiliarError):
    """A seed file is not as it must be; `problems` name each field."""

    code = "seed_file_invalid"

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class MediaServerError(FamiliarError):
    """The media server (LiveKit) refused what was asked for, or did not answer in time."""

    code = "media_server_failed"
    retryable = True


class NotFoundError(FamiliarError):
    """The owner has no such thing; that another owner has it changes nothing."""

    code = "not_found"


class ConflictError(FamiliarError):
    """What is asked for contradicts what is there."""

    code = "conflict"


class StaleError(FamiliarError):
    """The thing was changed since it was read."""

    code = "stale"


@dataclass(frozen=True)
class FieldProblem:
    """What is wrong with one field of a request."""

    field: str
    """Path with dots, in the names of the wire: `historyContext.window.value`."""
    message: str


class InvalidInputError(FamiliarError):
    """Fields of a request are not as they must be; `problems` name each."""

    code = "invalid_input"

    def __init__(self, *problems: FieldProblem) -> None:
        super().__init__("; ".join(f"{one.field}: {one.message}" for one in problems))
        self.problems = problems
