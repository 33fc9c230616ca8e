"""Text of files, and what happens to files that are no good."""

import io
import zipfile

import pypdf
import pytest

from src.adapters.documents import FileParser
from src.schemas.errors import DocumentError
from src.schemas.knowledge import DocumentKind, Page
from tests.fakes.files import docx_file, pdf_file

PARSE = FileParser()


def reason(content: bytes, kind: DocumentKind) -> str:
    with pytest.raises(DocumentError) as error:
        PARSE(content, kind)
    return error.value.reason


def test_reads_plain_text() -> None:
    assert PARSE("Grüße, नमस्ते".encode(), DocumentKind.TXT) == [Page(None, "Grüße, नमस्ते")]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_reads_what_other_programs_save(encoding: str) -> None:
    (page,) = PARSE("Grüße".encode(encoding), DocumentKind.MD)
    assert page.text == "Grüße"


def test_reads_the_pages_of_a_pdf() -> None:
    content = pdf_file("Refunds take five days.", "", "Blankets are made of wool.")
    assert PARSE(content, DocumentKind.PDF) == [
        Page(1, "Refunds take five days."),
        Page(3, "Blankets are made of wool."),
    ]


def test_reads_paragraphs_and_tables_of_a_word_file_in_order() -> None:
    content = docx_file("Prices", [["Blanket", "40 €"], ["Cushion", "15 €"]], "All with tax.")
    (page,) = PARSE(content, DocumentKind.DOCX)
    assert page.number is None
    assert page.text == "Prices\n\nBlanket | 40 €\n\nCushion | 15 €\n\nAll with tax."


@pytest.mark.parametrize("kind", DocumentKind)
def test_an_empty_file_is_refused(kind: DocumentKind) -> None:
    assert reason(b"", kind) in {"empty", "broken"}


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b" \n\t ", DocumentKind.TXT),
        (pdf_file("", ""), DocumentKind.PDF),
        (docx_file(""), DocumentKind.DOCX),
    ],
)
def test_a_file_without_text_is_refused(content: bytes, kind: DocumentKind) -> None:
    assert reason(content, kind) == "empty"


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"\x7fELF\x00\x00", DocumentKind.TXT),
        (b"Not a PDF at all", DocumentKind.PDF),
        (pdf_file("Refunds")[:200], DocumentKind.PDF),
        (b"Not an archive", DocumentKind.DOCX),
        (docx_file("Refunds")[:-40], DocumentKind.DOCX),
    ],
)
def test_a_broken_file_is_refused(content: bytes, kind: DocumentKind) -> None:
    assert reason(content, kind) == "broken"


def test_an_archive_that_is_no_word_file_is_refused() -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("hello.txt", "hello")
    assert reason(content.getvalue(), DocumentKind.DOCX) == "broken"


def test_an_encrypted_pdf_is_refused() -> None:
    assert reason(encrypted(pdf_file("Refunds"), "secret"), DocumentKind.PDF) == "encrypted"


def test_a_pdf_that_is_protected_against_changes_only_is_read() -> None:
    (page,) = PARSE(encrypted(pdf_file("Refunds"), ""), DocumentKind.PDF)
    assert page.text == "Refunds"


def test_an_encrypted_word_file_is_refused() -> None:
    assert reason(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 600, DocumentKind.DOCX) == (
        "encrypted"
    )


def test_a_file_larger_than_allowed_is_refused() -> None:
    with pytest.raises(DocumentError, match="too_large"):
        FileParser(max_bytes=10)(b"eleven bytes", DocumentKind.TXT)


def test_more_text_than_a_document_is_refused() -> None:
    assert reason(b"word " * 1_000_001, DocumentKind.TXT) == "too_large"


def test_an_archive_that_unpacks_without_end_is_refused() -> None:
    content = io.BytesIO()
    with (
        zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("word/document.xml", "w") as member,
    ):
        for _ in range(210):
            member.write(b"\x00" * 1_000_000)
    assert len(content.getvalue()) < 1_000_000
    assert reason(content.getvalue(), DocumentKind.DOCX) == "too_large"


def test_what_a_database_cannot_hold_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pypdf.PageObject, "extract_text", lambda _: "Re\x00fu\ud800nds")
    (page,) = PARSE(pdf_file("any"), DocumentKind.PDF)
    assert page.text == "Refu?nds"


def encrypted(content: bytes, password: str) -> bytes:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(content))
    writer.encrypt(password, owner_password="owner", algorithm="RC4-128")  # noqa: S106
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()
