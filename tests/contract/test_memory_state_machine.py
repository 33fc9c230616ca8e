"""Anything that can happen to memory, in any order, against a model of plain lists.

No acknowledged entry is lost, none is there twice, all are in order; the live window holds fifty at
most, and lives for a day at most; a deleted scope leaves nothing anywhere.
"""

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test
from typing_extensions import override

from src.schemas.errors import MemoryStoreError
from src.schemas.memory import Mode
from tests.contract.memory_world import OWNERS, InMemoryWorld, Play, RealWorld, Still, World

pytestmark = pytest.mark.integration

AWAY = MemoryStoreError("away")
SESSIONS = st.sampled_from(sorted(OWNERS))
USERS = st.sampled_from(sorted(set(OWNERS.values())))
MODES: st.SearchStrategy[Mode] = st.sampled_from(["voice", "text"])


class MemoryMachine(RuleBasedStateMachine):
    """Rules over one world; subclasses say which."""

    world: ClassVar[type[World]]

    def __init__(self) -> None:
        super().__init__()
        self._runner = asyncio.Runner()
        self._play = self._run(self._begin())

    async def _begin(self) -> Play:
        clock = Still()
        world = self.world(clock)
        await world.open()
        return Play(world, clock)

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self._runner.run(work)

    @override
    def teardown(self) -> None:
        try:
            self._run(self._play.look())
        finally:
            self._run(self._end())
            self._runner.close()

    async def _end(self) -> None:
        await self._play.memory.aclose()
        await self._play.world.close()

    @rule(session=SESSIONS, mode=MODES)
    def say(self, session: str, mode: Mode) -> None:
        self._run(self._play.say(session, self._play.message(mode)))

    @rule(session=SESSIONS, mode=MODES, number=st.sampled_from([3, 60]))
    def say_much(self, session: str, mode: Mode, number: int) -> None:
        self._run(self._play.say(session, *(self._play.message(mode) for _ in range(number))))

    @rule(session=SESSIONS, back=st.integers(1, 20))
    def deliver_again(self, session: str, back: int) -> None:
        self._run(self._deliver_again(session, back))

    async def _deliver_again(self, session: str, back: int) -> None:
        play = self._play
        told = [one for one in play.model[session].entries if one.certain]
        if told:
            await play.again(session, told[-min(back, len(told))])

    @rule(session=SESSIONS, from_mode=MODES, to_mode=MODES)
    def switch_mode(self, session: str, from_mode: Mode, to_mode: Mode) -> None:
        self._run(self._switch_mode(session, from_mode, to_mode))

    async def _switch_mode(self, session: str, from_mode: Mode, to_mode: Mode) -> None:
        play = self._play
        await play.happen(session, "mode_switch", from_mode=from_mode, to_mode=to_mode)
        assert (await play.memory.get_context(session)).mode == to_mode

    @rule(session=SESSIONS, to_language=st.sampled_from(["hi", "ar", "en"]))
    def switch_language(self, session: str, to_language: str) -> None:
        self._run(self._switch_language(session, to_language))

    async def _switch_language(self, session: str, to_language: str) -> None:
        play = self._play
        await play.happen(session, "language_switch", to_language=to_language)
        assert (await play.memory.get_context(session)).language == to_language

    @rule(
        session=SESSIONS,
        mode=MODES,
        after=st.integers(0, 12),
        done_first=st.booleans(),
        lost=st.booleans(),
    )
    def die(self, session: str, mode: Mode, after: int, done_first: bool, lost: bool) -> None:
        self._run(self._die(session, mode, after, done_first, lost))

    async def _die(
        self, session: str, mode: Mode, after: int, done_first: bool, lost: bool
    ) -> None:
        play = self._play
        entry = play.message(mode)
        if lost:
            await play.world.lose_sessions()
        await play.die_while_saying(session, entry, after=after, done_first=done_first)

    @rule()
    def lose_sessions(self) -> None:
        self._run(self._play.world.lose_sessions())

    @rule(days=st.sampled_from([0.5, 2]))
    def pass_time(self, days: float) -> None:
        self._play.clock.advance(days * 86_400)

    @rule(away=st.booleans())
    def session_store(self, away: bool) -> None:
        self._play.session_faults.error = AWAY if away else None

    @rule(away=st.booleans())
    def archive(self, away: bool) -> None:
        self._play.archive_faults.error = AWAY if away else None

    @rule()
    def restart(self) -> None:
        self._run(self._play.restart())

    @rule()
    def summarise(self) -> None:
        self._run(self._play.summarise())

    @rule(user=USERS)
    def export(self, user: str) -> None:
        self._run(self._play.export(user))

    @rule(session=SESSIONS)
    def delete_session(self, session: str) -> None:
        self._run(self._play.delete("session", OWNERS[session], session))

    @rule(user=USERS, scope=st.sampled_from(["day", "all"]))
    def delete(self, user: str, scope: str) -> None:
        self._run(self._play.delete(scope, user))

    @rule()
    def look(self) -> None:
        self._run(self._play.look())


class InMemoryMachine(MemoryMachine):
    """Over the stores of this process."""

    world = InMemoryWorld


class RealMachine(MemoryMachine):
    """Over Valkey, PostgreSQL and files."""

    world = RealWorld


def play(machine: type[MemoryMachine], *, examples: int, steps: int) -> None:
    """Tell so many stories of so many steps at most."""
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


async def test_a_process_that_knows_less_than_the_store_takes_nothing_from_it() -> None:
    clock = Still()
    world = InMemoryWorld(clock)
    await world.open()
    told = Play(world, clock)
    await told.say("s1", told.message("voice"))
    await told.restart()
    told.archive_faults.error = AWAY
    await told.say("s1", told.message("voice"))
    await told.memory.get_context("s1")  # there are no events yet, and nobody to say that it is all
    assert len(await world.stores.sessions.load_session("s1")) == 2
    await told.look()
    await told.memory.aclose()


@pytest.mark.timeout(600)
def test_memory_in_this_process() -> None:
    play(InMemoryMachine, examples=60, steps=30)


@pytest.mark.timeout(600)
def test_memory_in_valkey_and_postgresql(
    redis_url: str, migrated_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RealWorld, "redis_url", redis_url)
    monkeypatch.setattr(RealWorld, "postgres_url", migrated_url)
    monkeypatch.setattr(RealWorld, "folder", tmp_path)
    play(RealMachine, examples=6, steps=20)
