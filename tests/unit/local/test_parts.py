"""The process list."""

from __future__ import annotations

from pathlib import Path

import pytest

from local.parts import LEXICONS, PARTS, PROVISION, copy_lexicons, select
from local.ports import Stack
from local.supervise import render


def test_all_parts_are_started_by_default() -> None:
    assert select(None) == [*(part.name for part in PARTS), PROVISION]


def test_groups_stand_for_their_parts() -> None:
    assert select("livekit,stores") == ["redis", "mongodb", "postgres", "livekit"]


def test_an_unknown_part_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="no such part: mongdb"):
        select("redis,mongdb")


def test_every_need_is_known() -> None:
    known = {*(part.name for part in PARTS), PROVISION}
    assert {need for part in PARTS for need in part.needs} <= known


def test_no_part_starts_by_itself_and_each_has_its_log() -> None:
    stack = Stack.named("spare")
    text = render(stack, PARTS)
    assert text.count("autostart=false") == len(PARTS)
    for part in PARTS:
        assert f"stdout_logfile={stack.log_dir}/{part.name}.log" in text


def test_keys_are_not_written_into_the_configuration() -> None:
    assert "API_KEY" not in render(Stack.named("spare"), PARTS)


def test_the_product_finds_the_lexicons_of_the_checkout(tmp_path: Path) -> None:
    stack = Stack.named("spare", root=tmp_path)
    copies = stack.data_dir / "lexicons"
    for _ in range(2):  # every start does it
        copy_lexicons(stack)
        assert {f.name: f.read_text() for f in copies.iterdir()} == {
            f.name: f.read_text() for f in LEXICONS.glob("*.txt")
        }
        (copies / "medical_terms.txt").write_text("of an older checkout\n")
