"""The operator's commands on real stores."""

import uuid

import pytest

import familiar
from src.bootstrap_api import Api, build_api
from src.services.owned import Resource
from src.settings import Settings

pytestmark = pytest.mark.integration


@pytest.fixture
def settings(mongodb_uri: str, empty_url: str, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("MONGODB_URI", mongodb_uri)
    monkeypatch.setenv("MONGODB_DATABASE", f"test-{uuid.uuid4().hex}")
    monkeypatch.setenv("DATABASE_URL", empty_url)
    return Settings()


def run(*arguments: str) -> int:
    return familiar.main(list(arguments))


@pytest.mark.usefixtures("settings")
def test_migrating_twice_changes_nothing_the_second_time(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for _ in range(2):
        assert run("migrate") == 0
    assert capsys.readouterr().out == "older records brought up to date: 0\n" * 2


@pytest.mark.usefixtures("settings")
def test_a_key_is_created_listed_rotated_and_revoked(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("keys", "create", "--owner", "acme", "--name", "backend", "--scope", "read") == 0
    shown = capsys.readouterr()
    token = shown.out.strip()
    key_id = token.split("_")[2]
    assert token.startswith("fam_sk_")
    assert run("keys", "rotate", "--owner", "acme", key_id, "--overlap-hours", "0") == 0
    new_id = capsys.readouterr().out.strip().split("_")[2]
    assert run("keys", "revoke", "--owner", "acme", new_id) == 0
    assert run("keys", "list", "--owner", "acme") == 0
    listed = capsys.readouterr().out
    assert key_id in listed
    assert "agents:read" in listed
    assert "agents:write" not in listed
    assert "REVOKED" in listed
    assert token not in listed


@pytest.mark.usefixtures("settings")
def test_what_cannot_be_done_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("keys", "create", "--owner", "acme", "--scope", "everything") == 1
    assert "unknown scope" in capsys.readouterr().err
    assert run("keys", "revoke", "--owner", "acme", "0123456789abcdef") == 1
    assert run("keys", "create", "--owner", "acme", "--publishable", "nobody") == 1
    assert "allowedOrigins" in capsys.readouterr().err


@pytest.fixture
def api(settings: Settings) -> Api:
    return build_api(settings)  # not in the event loop: clients read the disk when they are made


async def test_the_api_is_ready_when_its_stores_answer(api: Api) -> None:
    try:
        await api.services.checks["mongodb"]()
        await api.services.checks["postgresql"]()
        assert await api.services.owned.of("acme", Resource.AGENTS).page() == []
    finally:
        await api.aclose()
