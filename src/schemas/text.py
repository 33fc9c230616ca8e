"""Text that every store takes."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator


def _storable(text: str) -> str:
    if "\x00" in text:
        raise ValueError("must not contain the character NUL")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("must be valid Unicode, without lone surrogates") from None
    return text


def _storable_key(text: str) -> str:
    if not text or text.startswith("$") or "." in text:
        raise ValueError("a name is not empty, has no dot, and does not begin with $")
    return _storable(text)


Text = Annotated[str, AfterValidator(_storable)]
"""Without NUL, which PostgreSQL refuses, and without lone surrogates, which are no Unicode."""
Key = Annotated[str, AfterValidator(_storable_key)]
"""A name in a document: besides, MongoDB reads `$` and dots in names as its own."""
