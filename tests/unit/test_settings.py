"""Settings and their example stay together."""

import re
from pathlib import Path

import pytest

from src.settings import Settings, _resolve_data_dir

ROOT = Path(__file__).parents[2]


def own_names() -> set[str]:
    aliases = [str(field.validation_alias) for field in Settings.model_fields.values()]
    return {name for alias in aliases for name in re.findall(r"FAMILIAR_\w+", alias)}


def test_the_example_names_every_setting_of_the_product_and_no_other() -> None:
    named = re.findall(r"^#? ?(FAMILIAR_\w+)=", (ROOT / ".env.example").read_text(), re.MULTILINE)
    assert sorted(named) == sorted(own_names())


def test_what_is_left_empty_keeps_its_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAMILIAR_METRICS_PORT", "")
    monkeypatch.setenv("FAMILIAR_TURN_THRESHOLD", "")
    assert (Settings().metrics_port, Settings().turn_threshold) == (None, None)


def test_the_data_directory_is_what_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("VOICEASSIST_DATA_DIR", "FAMILIAR_DATA_DIR"):
        monkeypatch.delenv(name, raising=False)
    assert _resolve_data_dir() == Path("data")
    monkeypatch.setenv("VOICEASSIST_DATA_DIR", "/srv/voice")
    assert _resolve_data_dir() / "lexicons" / "terms.txt" == Path("/srv/voice/lexicons/terms.txt")


def test_the_example_shows_the_defaults() -> None:
    for name, value in re.findall(
        r"^# (FAMILIAR_\w+)=(\S+)$", (ROOT / ".env.example").read_text(), re.MULTILINE
    ):
        field = next(f for f in Settings.model_fields.values() if name in str(f.validation_alias))
        assert str(field.default).lower() == value.lower(), name
