"""Knowledge bases: what is found, by whom, and what stays when something goes wrong."""

import asyncio

import psycopg
import pytest

from src.schemas.errors import DocumentError, EmbeddingError, MemoryStoreError
from src.schemas.knowledge import (
    MAX_DOCUMENT_BYTES,
    Chunk,
    DocumentStatus,
    EmbeddedChunk,
    KnowledgeScope,
)
from src.services.ingestion import GIVEN_UP
from tests.contract.knowledge import Library
from tests.fakes.embedder import FakeEmbedder
from tests.fakes.files import docx_file, pdf_file

pytestmark = pytest.mark.integration

FAQ = """Our blankets are made of wool and cotton in Portugal.

A refund is paid within five days after we have your parcel.

The shop is closed on Sundays and on public holidays.
"""


@pytest.mark.parametrize(
    ("name", "content", "page"),
    [
        ("faq.txt", FAQ.encode(), None),
        ("FAQ.MD", f"# Questions\n\n{FAQ}".encode(), None),
        ("faq.pdf", pdf_file(*FAQ.split("\n\n")), 2),
        ("faq.docx", docx_file(*FAQ.split("\n\n")), None),
    ],
)
async def test_a_spoken_question_finds_the_passage_and_where_it_is(
    library: Library, name: str, content: bytes, page: int | None
) -> None:
    document = await library.learn(content, name=name)
    assert document.status is DocumentStatus.READY
    assert document.chunks >= 3
    found = await library.ask("um hello, when would I be getting my refund then?")
    best = found.passages[0]
    assert best.text == "A refund is paid within five days after we have your parcel."
    assert (best.document, best.page) == (name, page)
    assert best.source == {"document": name, "page": page, "score": best.score}
    assert found.degradations == ()


async def test_words_are_found_in_other_forms(library: Library) -> None:
    await library.learn(FAQ)
    assert (await library.texts("refunds?"))[0].startswith("A refund")


async def test_rare_words_count_more_than_common_ones(library: Library) -> None:
    await library.learn(
        "\n\n".join([*(f"The blanket number {n} is warm." for n in range(8)), "Ask about wool."])
    )
    scope = KnowledgeScope(owner_id="owner", knowledge_base_ids=("kb",))
    hits = await library.index.search_words("blanket or wool", scope=scope, limit=3)
    assert hits[0].text.endswith("Ask about wool.")


async def test_a_language_without_stop_words_or_stems_is_searched_too(library: Library) -> None:
    await library.learn("कंबल ऊन के बने हैं। वापसी पाँच दिन में होती है।", language="hi-IN")
    await library.learn("Täcken är av ull.", language="sv", name="sv.txt")
    await library.learn("毛布はウールです。", language="ja", name="ja.txt")
    assert any("वापसी" in text for text in await library.texts("वापसी कब होगी"))


@pytest.mark.parametrize("library", ["knowledge_in_memory", "knowledge_in_postgres"], indirect=True)
async def test_meaning_finds_what_words_do_not(library: Library) -> None:
    await library.learn(FAQ)
    assert (await library.texts("money"))[0].startswith("A refund")


async def test_without_vectors_nothing_is_embedded(
    knowledge_without_vectors: Library,
) -> None:
    library = knowledge_without_vectors
    assert not await library.index.has_vectors()
    await library.learn(FAQ)
    found = await library.ask("refund")
    assert len(found.passages) == 1
    assert found.degradations == ()
    assert library.embedder.embedded == []


async def test_vectors_of_another_model_are_not_compared(knowledge_in_postgres: Library) -> None:
    library = knowledge_in_postgres
    await library.learn(FAQ)
    scope = KnowledgeScope(owner_id="owner", knowledge_base_ids=("kb",))
    for other in (FakeEmbedder(model="other"), FakeEmbedder(dimensions=8)):
        (vector,) = await other.embed(["refund"])
        found = await library.index.search_vector(vector, model=other.model, scope=scope, limit=9)
        assert found == []


@pytest.mark.parametrize(
    "query", ["'; DROP TABLE x --", "a:* & !b | <->", "\\ '' \x00", "???", "%s"]
)
async def test_no_question_breaks_the_search(library: Library, query: str) -> None:
    await library.learn(FAQ)
    assert (await library.ask(query)).degradations == ()


async def test_odd_words_are_found(library: Library) -> None:
    await library.learn("Call O'Brien at desk a\\b, see example.com/?a=1&b=2 for more.")
    for query in ("O'Brien", "a\\b", "example.com/?a=1&b=2"):
        assert len(await library.texts(query)) == 1


async def test_only_the_owner_finds_a_passage(library: Library) -> None:
    await library.learn(FAQ, owner="owner")
    await library.learn("A refund is not ours to give.", owner="other")
    assert await library.everything(owner="owner") != []
    assert await library.everything(owner="other") == ["A refund is not ours to give."]
    assert await library.everything(owner="nobody") == []


async def test_only_the_named_knowledge_bases_are_searched(library: Library) -> None:
    await library.learn("A refund is paid in cash.", base="shop")
    await library.learn("A refund is paid in kind.", base="farm")
    await library.learn("A refund is never paid.", base="secret")
    assert await library.everything("shop") == ["A refund is paid in cash."]
    assert await library.everything("shop", "farm") == [
        "A refund is paid in cash.",
        "A refund is paid in kind.",
    ]
    assert await library.everything("shop' OR true --") == []


async def test_documents_are_listed_by_owner_and_knowledge_base(library: Library) -> None:
    for name, base, owner in [("b.txt", "kb", "o"), ("a.txt", "kb", "o"), ("c.txt", "kb", "p")]:
        await library.add(FAQ, name=name, base=base, owner=owner)
    scope = KnowledgeScope(owner_id="o", knowledge_base_ids=("kb",))
    assert [one.name for one in await library.store.documents(scope)] == ["a.txt", "b.txt"]


async def test_a_document_waits_until_it_is_indexed(library: Library) -> None:
    document = await library.add(FAQ)
    assert document.status is DocumentStatus.PENDING
    assert await library.everything() == []


async def test_a_replaced_document_is_found_until_the_new_one_is(library: Library) -> None:
    old = await library.learn("A refund takes five days.")
    new = await library.add("A refund takes two days.")
    assert (new.id, new.revision) == (old.id, 2)
    assert await library.everything() == ["A refund takes five days."]
    await library.ingestion.ingest(new.id)
    assert await library.everything() == ["A refund takes two days."]


async def test_a_deleted_document_is_not_found(library: Library) -> None:
    document = await library.learn(FAQ)
    assert await library.store.delete(owner_id="owner", document_id=document.id)
    assert await library.everything() == []
    assert await library.store.document(document.id) is None
    assert not await library.store.delete(owner_id="owner", document_id=document.id)
    await library.ingestion.ingest(document.id)  # its job may still be there


async def test_nobody_else_can_delete_a_document(library: Library) -> None:
    document = await library.learn(FAQ)
    assert not await library.store.delete(owner_id="other", document_id=document.id)
    assert await library.everything() != []


async def test_indexing_again_changes_nothing(library: Library) -> None:
    document = await library.learn(FAQ)
    before = await library.everything()
    await library.ingestion.ingest(document.id)
    assert await library.everything() == before
    assert await library.now(document) == document


async def test_indexing_that_was_interrupted_is_done_again_without_duplicates(
    knowledge_in_postgres: Library,
) -> None:
    library = knowledge_in_postgres
    document = await library.add(FAQ)
    library.embedder.failures = 1
    with pytest.raises(EmbeddingError):
        await library.ingestion.ingest(document.id)
    library.embedder.answers.clear()
    interrupted = asyncio.ensure_future(library.ingestion.ingest(document.id))
    await asyncio.sleep(0.05)
    interrupted.cancel()
    await asyncio.wait([interrupted])
    library.embedder.answers.set()
    assert await library.everything() == []
    await library.ingestion.ingest(document.id)
    assert len(await library.everything()) == (await library.now(document)).chunks == 3


async def test_two_jobs_for_one_document_publish_once(library: Library) -> None:
    document = await library.add(FAQ)
    await asyncio.gather(*(library.ingestion.ingest(document.id) for _ in range(4)))
    assert len(await library.everything()) == 3


async def test_what_was_replaced_meanwhile_is_not_published(library: Library) -> None:
    old = await library.add("A refund takes five days.")
    await library.add("A refund takes two days.")
    chunks = [EmbeddedChunk(chunk=Chunk("A refund takes five days.", None), vector=None)]
    assert not await library.store.publish(old, chunks, model="fake")
    assert not await library.store.fail(old, "broken")
    assert await library.store.content(old.id, old.revision) is None
    await library.ingestion.ingest(old.id)
    assert await library.everything() == ["A refund takes two days."]


async def test_a_file_that_is_no_good_is_marked_so(library: Library) -> None:
    document = await library.learn(b"no PDF at all", name="faq.pdf")
    assert (document.status, document.reason) == (DocumentStatus.FAILED, "broken")
    assert await library.store.content(document.id, document.revision) is None
    better = await library.learn(pdf_file("A refund takes five days."), name="faq.pdf")
    assert (better.status, better.reason) == (DocumentStatus.READY, "")


async def test_a_bad_replacement_does_not_leave_the_former_text(library: Library) -> None:
    await library.learn(pdf_file("A refund takes five days."), name="faq.pdf")
    document = await library.learn(b"no PDF at all", name="faq.pdf")
    assert (document.status, document.chunks) == (DocumentStatus.FAILED, 0)
    assert await library.everything() == []


async def test_what_was_tried_often_enough_is_given_up(library: Library) -> None:
    document = await library.add(FAQ)
    await library.ingestion.give_up(document.id)
    given_up = await library.now(document)
    assert (given_up.status, given_up.reason) == (DocumentStatus.FAILED, GIVEN_UP)
    ready = await library.learn(FAQ)
    await library.ingestion.give_up(ready.id)
    assert (await library.now(ready)).status is DocumentStatus.READY


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("tune.mp3", b"la", "unsupported"),
        ("README", b"la", "unsupported"),
        ("faq.txt", b"", "empty"),
        ("faq.txt", bytes(MAX_DOCUMENT_BYTES + 1), "too_large"),
    ],
)
async def test_what_cannot_be_indexed_is_not_taken_in(
    knowledge_in_memory: Library, name: str, content: bytes, reason: str
) -> None:
    with pytest.raises(DocumentError) as error:
        await knowledge_in_memory.add(content, name=name)
    assert error.value.reason == reason


async def test_a_file_of_the_largest_size_is_kept(knowledge_in_postgres: Library) -> None:
    document = await knowledge_in_postgres.add(b"x" * MAX_DOCUMENT_BYTES)
    content = await knowledge_in_postgres.store.content(document.id, document.revision)
    assert len(content or b"") == MAX_DOCUMENT_BYTES


async def test_a_document_and_its_job_are_stored_together(knowledge_in_postgres: Library) -> None:
    document = await knowledge_in_postgres.add(FAQ)
    jobs = await asyncio.to_thread(jobs_of, knowledge_in_postgres)
    assert jobs == [("ingest_document", {"subject_id": document.id})]


async def test_without_a_job_there_is_no_document(knowledge_in_postgres: Library) -> None:
    rename = "ALTER TABLE {} RENAME TO {}"
    await asyncio.to_thread(
        execute, knowledge_in_postgres, rename.format("procrastinate_jobs", "hidden")
    )
    try:
        with pytest.raises(MemoryStoreError):
            await knowledge_in_postgres.add(FAQ)
    finally:
        await asyncio.to_thread(
            execute, knowledge_in_postgres, rename.format("hidden", "procrastinate_jobs")
        )
    scope = KnowledgeScope(owner_id="owner", knowledge_base_ids=("kb",))
    assert await knowledge_in_postgres.store.documents(scope) == []


def jobs_of(library: Library) -> list[tuple[str, dict[str, str]]]:
    """What waits in the queue."""
    assert library.database is not None
    with psycopg.connect(library.database) as connection:
        found = connection.execute("SELECT task_name, args FROM procrastinate_jobs ORDER BY id")
        return found.fetchall()


def execute(library: Library, statement: str) -> None:
    """Change the database behind the library's back."""
    assert library.database is not None
    with psycopg.connect(library.database) as connection:
        connection.execute(statement)
