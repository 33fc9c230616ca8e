"""Text of uploaded files: plain text, Markdown, PDF (pypdf), Word (python-docx)."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator, Mapping

import docx
import pypdf
from docx.document import Document as WordDocument
from docx.table import Table
from docx.text.paragraph import Paragraph
from pypdf.errors import LimitReachedError
from typing_extensions import override

from src.schemas.errors import DocumentError
from src.schemas.knowledge import MAX_DOCUMENT_BYTES, DocumentKind, Page
from src.services.knowledge_ports import DocumentParser

MAX_PAGES = 2_000
MAX_TEXT_CHARS = 5_000_000
"""Some 3,000 pages: beyond it, a document is a library."""
MAX_UNZIPPED_BYTES = 200_000_000
"""Word files are archives; a small one may hold what no memory can."""
_BYTE_ORDER_MARKS = (b"\xff\xfe", b"\xfe\xff")


class FileParser(DocumentParser):
    """Reads every `DocumentKind`, within limits of size."""

    def __init__(self, *, max_bytes: int = MAX_DOCUMENT_BYTES) -> None:
        self._max_bytes = max_bytes

    @override
    def __call__(self, content: bytes, kind: DocumentKind) -> list[Page]:
        if len(content) > self._max_bytes:
            raise DocumentError("too_large")
        pages: list[Page] = []
        size = 0
        for page in _read(content, kind):
            size += len(page.text)
            if size > MAX_TEXT_CHARS:
                raise DocumentError("too_large")
            if (text := _storable(page.text)).strip():
                pages.append(Page(number=page.number, text=text))
        if not pages:
            raise DocumentError("empty")
        return pages


def _storable(text: str) -> str:
    """Without what UTF-8 or PostgreSQL's text cannot hold, and nobody can read."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode()


def _read(content: bytes, kind: DocumentKind) -> Iterator[Page]:
    try:
        yield from _READERS[kind](content)
    except DocumentError:
        raise
    except (LimitReachedError, MemoryError, RecursionError) as error:
        raise DocumentError("too_large") from error
    # A broken file makes the libraries raise whatever comes, KeyError and AttributeError included.
    except Exception as error:
        raise DocumentError("broken") from error


def _text(content: bytes) -> Iterator[Page]:
    if content.startswith(_BYTE_ORDER_MARKS):
        text = content.decode("utf-16")
    elif b"\x00" in content:
        raise DocumentError("broken")  # a program or a picture under the name of a text
    else:
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = content.decode("cp1252", errors="replace")  # as older Windows programs save
    yield Page(number=None, text=text)


def _pdf(content: bytes) -> Iterator[Page]:
    reader = pypdf.PdfReader(io.BytesIO(content))
    # Many are encrypted against changes only, and open with an empty password.
    if reader.is_encrypted and not reader.decrypt(""):
        raise DocumentError("encrypted")
    if len(reader.pages) > MAX_PAGES:
        raise DocumentError("too_large")
    for number, page in enumerate(reader.pages, start=1):
        yield Page(number=number, text=page.extract_text())


def _docx(content: bytes) -> Iterator[Page]:
    # What Word encrypts is no archive but an OLE file.
    if content.startswith(b"\xd0\xcf\x11\xe0"):
        raise DocumentError("encrypted")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if sum(member.file_size for member in archive.infolist()) > MAX_UNZIPPED_BYTES:
            raise DocumentError("too_large")
    yield Page(number=None, text="\n\n".join(_blocks(docx.Document(io.BytesIO(content)))))


def _blocks(document: WordDocument) -> Iterator[str]:
    """Paragraphs and rows of tables, in reading order."""
    for block in document.iter_inner_content():
        if isinstance(block, Paragraph):
            yield block.text
        else:
            yield from _rows(block)


def _rows(table: Table) -> Iterator[str]:
    for row in table.rows:
        # A merged cell is given once for each column it spans.
        cells = dict.fromkeys(cell.text.strip() for cell in row.cells)
        yield " | ".join(cells)


_READERS: Mapping[DocumentKind, Callable[[bytes], Iterator[Page]]] = {
    DocumentKind.TXT: _text,
    DocumentKind.MD: _text,
    DocumentKind.PDF: _pdf,
    DocumentKind.DOCX: _docx,
}
