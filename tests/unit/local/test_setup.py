"""Setup does things once, and says what it cannot do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from local.setup import step as steps
from local.setup.go import needed_version
from local.setup.step import SetupError, Step, run
from local.setup.system import SystemPackage, install_missing


@pytest.fixture(autouse=True)
def stamps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(steps, "STAMPS", tmp_path / "stamps")
    return tmp_path / "stamps"


def test_a_step_is_taken_again_only_when_what_it_is_made_from_changes(tmp_path: Path) -> None:
    source, product = tmp_path / "source", tmp_path / "product"
    source.write_text("one")
    step = Step("copy", "a copy", [source], product, lambda: _copy(source, product))
    assert [step.take(), step.take()] == [True, False]

    source.write_text("two")
    assert step.take()
    assert product.read_text() == "two"

    product.unlink()
    assert step.take()


def _copy(source: Path, product: Path) -> None:
    product.write_text(source.read_text())


def test_a_step_that_fails_is_taken_again(tmp_path: Path) -> None:
    product = tmp_path / "product"
    broken = Step("make", "a thing", ["1"], product, lambda: run(["false"], log="make"))
    with pytest.raises(SetupError, match="`false` failed"):
        broken.take()
    whole = Step("make", "a thing", ["1"], product, product.touch)
    assert whole.take()


def test_a_failing_command_shows_the_end_of_what_it_said() -> None:
    script = "for i in $(seq 100); do echo line $i; done; exit 3"
    with pytest.raises(SetupError) as caught:
        run(["sh", "-c", script], log="noisy")
    message = str(caught.value)
    assert "line 100" in message
    assert "line 61\n" in message
    assert "line 60\n" not in message


def test_without_root_the_one_command_to_run_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    packages = [
        SystemPackage("here", lambda: True),
        SystemPackage("libopus-dev", lambda: False),
        SystemPackage("gcc", lambda: False),
    ]
    with pytest.raises(SetupError) as caught:
        install_missing(packages)
    command = "sudo apt-get install -y --no-install-recommends libopus-dev gcc\n"
    assert command in str(caught.value)


def test_nothing_is_asked_for_when_all_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    install_missing([SystemPackage("here", lambda: True)])


def test_the_go_version_comes_from_the_bridge() -> None:
    assert needed_version() >= (1, 26)
