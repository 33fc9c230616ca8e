"""The numbers that a LiveKit server knows follow our records, whoever else is at work."""

import asyncio
from collections.abc import Sequence

import pytest
from livekit import api
from typing_extensions import override

from src.adapters.livekit_numbers import LiveKitNumbers
from src.schemas.errors import MediaServerError
from src.services.call_ports import NumberDrift
from tests.fakes.livekit_http import CONFLICT, FakeLiveKit
from tests.fakes.media_server import InMemoryNumbers

ONE, TWO, THREE = "+15105550100", "+15105550101", "+15105550102"


def numbers_on(livekit: FakeLiveKit) -> list[list[str]]:
    return [sorted(trunk.numbers) for trunk in livekit.trunks.values()]


async def test_numbers_get_one_trunk_and_one_rule_that_sends_agents() -> None:
    livekit, records = FakeLiveKit(), InMemoryNumbers(TWO, ONE)
    async with livekit.serving() as server:
        numbers = LiveKitNumbers(server, records)
        assert await numbers.drift() == NumberDrift(missing=(ONE, TWO), rule="missing")
        await numbers.reconcile()
        assert await numbers.drift() == NumberDrift()
    ((trunk_id, trunk),) = livekit.trunks.items()
    assert (trunk.name, list(trunk.numbers)) == ("phones", [ONE, TWO])
    (rule,) = livekit.rules.values()
    assert list(rule.trunk_ids) == [trunk_id]
    assert rule.rule.dispatch_rule_callee.randomize
    (job,) = rule.room_config.agents
    assert (job.agent_name, job.metadata) == ("familiar", '{"v": 1, "call_type": "inbound"}')


async def test_another_look_changes_nothing() -> None:
    livekit = FakeLiveKit()
    async with livekit.serving() as server:
        numbers = LiveKitNumbers(server, InMemoryNumbers(ONE))
        await numbers.reconcile()
        livekit.asked.clear()
        await numbers.reconcile()
    assert livekit.asked == ["SIP/ListSIPInboundTrunk", "SIP/ListSIPDispatchRule"]


async def test_a_change_keeps_ids_and_what_an_operator_set_on_the_trunk() -> None:
    livekit, records = FakeLiveKit(), InMemoryNumbers(ONE, TWO)
    async with livekit.serving() as server:
        numbers = LiveKitNumbers(server, records)
        await numbers.reconcile()
        ((trunk_id, trunk),) = livekit.trunks.items()
        trunk.allowed_addresses.append("192.0.2.1")
        rules = set(livekit.rules)
        records.numbers = {TWO, THREE}
        assert await numbers.drift() == NumberDrift(missing=(THREE,), unknown=(ONE,))
        await numbers.reconcile()
    assert list(livekit.trunks) == [trunk_id]
    assert numbers_on(livekit) == [[TWO, THREE]]
    assert list(livekit.trunks[trunk_id].allowed_addresses) == ["192.0.2.1"]
    assert set(livekit.rules) == rules


async def test_without_numbers_no_trunk_is_left_that_would_take_any_call() -> None:
    livekit, records = FakeLiveKit(), InMemoryNumbers(ONE)
    async with livekit.serving() as server:
        numbers = LiveKitNumbers(server, records)
        await numbers.reconcile()
        records.numbers.clear()
        assert await numbers.drift() == NumberDrift(unknown=(ONE,), rule="unneeded")
        await numbers.reconcile()
        assert await numbers.drift() == NumberDrift()
    assert (livekit.trunks, livekit.rules) == ({}, {})


async def test_what_is_not_ours_by_name_is_left_alone() -> None:
    livekit, records = FakeLiveKit(), InMemoryNumbers(ONE)
    livekit.trunks["ST_theirs"] = api.SIPInboundTrunkInfo(
        sip_trunk_id="ST_theirs", name="carrier", numbers=[THREE]
    )
    livekit.rules["SDR_theirs"] = api.SIPDispatchRuleInfo(
        sip_dispatch_rule_id="SDR_theirs", name="carrier", trunk_ids=["ST_theirs"]
    )
    async with livekit.serving() as server:
        numbers = LiveKitNumbers(server, records)
        await numbers.reconcile()
        records.numbers.clear()
        await numbers.reconcile()
        assert list(livekit.trunks) == ["ST_theirs"]
        assert list(livekit.rules) == ["SDR_theirs"]

        records.numbers.add(THREE)  # on a trunk of others: nobody's calls are taken away
        with pytest.raises(MediaServerError, match="invalid_argument") as refused:
            await numbers.reconcile()
    assert THREE not in str(refused.value)
    assert numbers_on(livekit) == [[THREE]]


async def test_doubles_and_a_rule_that_was_changed_are_mended() -> None:
    livekit = FakeLiveKit()
    async with livekit.serving() as server:
        numbers = LiveKitNumbers(server, InMemoryNumbers(ONE))
        await numbers.reconcile()
        ((trunk_id, _),) = livekit.trunks.items()
        ((rule_id, rule),) = livekit.rules.items()
        livekit.trunks["ST_9"] = api.SIPInboundTrunkInfo(
            sip_trunk_id="ST_9", name="phones", numbers=[TWO]
        )
        livekit.rules["SDR_9"] = api.SIPDispatchRuleInfo(
            sip_dispatch_rule_id="SDR_9", name="phones", trunk_ids=["ST_9"]
        )
        rule.room_config.agents[0].agent_name = "another"
        assert await numbers.drift() == NumberDrift(unknown=(TWO,), rule="differs")
        await numbers.reconcile()
        assert await numbers.drift() == NumberDrift()
    assert (list(livekit.trunks), list(livekit.rules)) == ([trunk_id], [rule_id])


async def test_a_rule_without_its_trunk_gets_the_new_one() -> None:
    livekit = FakeLiveKit()
    async with livekit.serving() as server:
        numbers = LiveKitNumbers(server, InMemoryNumbers(ONE))
        await numbers.reconcile()
        livekit.trunks.clear()
        assert await numbers.drift() == NumberDrift(missing=(ONE,), rule="differs")
        await numbers.reconcile()
        assert await numbers.drift() == NumberDrift()


async def test_processes_that_bind_at_once_end_with_what_the_records_say() -> None:
    livekit, records = FakeLiveKit(), InMemoryNumbers()
    wanted = [f"+151055501{last:02d}" for last in range(8)]

    async with livekit.serving() as server:

        async def bind(number: str) -> None:
            records.numbers.add(number)
            await LiveKitNumbers(server, records).reconcile()

        await asyncio.gather(*map(bind, wanted))
        assert numbers_on(livekit) == [wanted]
        assert await LiveKitNumbers(server, records).drift() == NumberDrift()


async def test_a_late_write_of_another_process_is_seen_by_that_process() -> None:
    """It read the records before ours was there, and writes after we looked."""
    livekit, records = FakeLiveKit(), InMemoryNumbers(ONE)

    class ReadBefore(InMemoryNumbers):
        reads = 0

        @override
        async def bound(self) -> Sequence[str]:
            self.reads += 1
            return [ONE] if self.reads == 1 else await records.bound()

    async with livekit.serving() as server:
        records.numbers.add(TWO)
        await LiveKitNumbers(server, records).reconcile()
        await LiveKitNumbers(server, ReadBefore()).reconcile()
    assert numbers_on(livekit) == [[ONE, TWO]]


async def test_a_server_that_never_rests_is_given_up() -> None:
    livekit, records = FakeLiveKit(), InMemoryNumbers()
    names = iter(f"+1510555{n:04d}" for n in range(100))

    def somebody_binds(name: str) -> None:
        if name == "SIP/ListSIPInboundTrunk":
            records.numbers.add(next(names))

    records.numbers.add(next(names))
    livekit.before = somebody_binds
    async with livekit.serving() as server:
        with pytest.raises(MediaServerError, match="rest"):
            await LiveKitNumbers(server, records).reconcile()


async def test_a_refusal_is_tried_again_and_then_told() -> None:
    livekit = FakeLiveKit()
    livekit.refuse = CONFLICT
    async with livekit.serving() as server:
        with pytest.raises(MediaServerError, match="invalid_argument"):
            await LiveKitNumbers(server, InMemoryNumbers(ONE)).reconcile()
    assert len(livekit.asked) > 1
