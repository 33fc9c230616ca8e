"""The dialled numbers that a LiveKit server knows, and the rule that sends agents to their calls.

One inbound trunk and one dispatch rule, found by their name, are ours; no other is touched. All
numbers are on that one trunk, since two trunks with the same number make every call ambiguous.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass

from livekit import api
from livekit.api.sip_service import SipService
from typing_extensions import override

from src.adapters.livekit_dispatch import AGENT_NAME
from src.adapters.livekit_server import LiveKitServer
from src.schemas.errors import MediaServerError
from src.services.call_ports import BoundNumbers, NumberDrift, NumberProvisioning, RuleState

MANAGED_NAME = "phones"
_METADATA = json.dumps({"v": 1, "call_type": "inbound"})
_PASSES = 8
"""Each either finds nothing to change or makes a change; others at work may undo a few."""
_LIMIT_S = 15.0
"""For all of them together: somebody waits for the answer."""


@dataclass(frozen=True)
class _Found:
    """What the server has under our name, each list by id: every process keeps the same first."""

    trunks: Sequence[api.SIPInboundTrunkInfo]
    rules: Sequence[api.SIPDispatchRuleInfo]

    @property
    def numbers(self) -> frozenset[str]:
        return frozenset(number for trunk in self.trunks for number in trunk.numbers)


class LiveKitNumbers(NumberProvisioning):
    """Compares what is bound with what the server knows, until a look finds no difference.

    Processes may do so at once: each looks again after its own last change, at the records first and
    at the server then, so that the last one to change anything leaves what the records say.
    """

    def __init__(
        self,
        server: LiveKitServer,
        numbers: BoundNumbers,
        *,
        name: str = MANAGED_NAME,
        agent_name: str = AGENT_NAME,
    ) -> None:
        self._server = server
        self._numbers = numbers
        self._name = name
        self._agent_name = agent_name

    @override
    async def reconcile(self) -> None:
        try:
            async with asyncio.timeout(_LIMIT_S):
                await self._reconcile()
        except TimeoutError:
            raise MediaServerError("the numbers did not come to rest in time") from None

    @override
    async def drift(self) -> NumberDrift:
        bound = frozenset(await self._numbers.bound())
        found = await self._found()
        return NumberDrift(
            missing=tuple(sorted(bound - found.numbers)),
            unknown=tuple(sorted(found.numbers - bound)),
            rule=self._rule_state(found, needed=bool(bound)),
        )

    async def _reconcile(self) -> None:
        refused: MediaServerError | None = None
        for _ in range(_PASSES):
            try:
                if not await self._settle():
                    return
                refused = None
            except MediaServerError as error:  # as when another process was faster
                refused = error
        raise refused or MediaServerError("the numbers did not come to rest")

    async def _settle(self) -> bool:
        """Whether something had to be changed."""
        bound = sorted(set(await self._numbers.bound()))
        found = await self._found()
        async with self._server.asking() as livekit:
            if not bound:  # a trunk without numbers would take calls to any
                return await _delete(livekit.sip, found.trunks, found.rules)
            removed = await _delete(livekit.sip, found.trunks[1:], found.rules[1:])
            trunk_id, moved = await self._settle_trunk(livekit.sip, found, bound)
            return await self._settle_rule(livekit.sip, found, trunk_id) or moved or removed

    async def _settle_trunk(
        self, sip: SipService, found: _Found, bound: Sequence[str]
    ) -> tuple[str, bool]:
        """The trunk's id, and whether it had to be changed."""
        if not found.trunks:
            wanted = api.SIPInboundTrunkInfo(name=self._name, numbers=bound)
            request = api.CreateSIPInboundTrunkRequest(trunk=wanted)
            return (await sip.create_inbound_trunk(request)).sip_trunk_id, True
        trunk = found.trunks[0]
        if sorted(trunk.numbers) == list(bound):
            return trunk.sip_trunk_id, False
        # Its numbers only: addresses or passwords that an operator set on it stay.
        await sip.update_inbound_trunk_fields(trunk.sip_trunk_id, numbers=list(bound))
        return trunk.sip_trunk_id, True

    async def _settle_rule(self, sip: SipService, found: _Found, trunk_id: str) -> bool:
        """Whether it had to be changed."""
        wanted = self._rule(trunk_id)
        if not found.rules:
            await sip.create_dispatch_rule(api.CreateSIPDispatchRuleRequest(dispatch_rule=wanted))
            return True
        rule = found.rules[0]
        if _same_rule(rule, wanted):
            return False
        await sip.update_dispatch_rule(rule.sip_dispatch_rule_id, wanted)
        return True

    async def _found(self) -> _Found:
        async with self._server.asking() as livekit:
            trunks = await livekit.sip.list_inbound_trunk(api.ListSIPInboundTrunkRequest())
            rules = await livekit.sip.list_dispatch_rule(api.ListSIPDispatchRuleRequest())
        return _Found(
            sorted(
                (one for one in trunks.items if one.name == self._name),
                key=lambda one: one.sip_trunk_id,
            ),
            sorted(
                (one for one in rules.items if one.name == self._name),
                key=lambda one: one.sip_dispatch_rule_id,
            ),
        )

    def _rule_state(self, found: _Found, *, needed: bool) -> RuleState:
        if not needed:
            return "unneeded" if found.rules else "ok"
        if not found.rules:
            return "missing"
        trunk_id = found.trunks[0].sip_trunk_id if found.trunks else ""
        one = len(found.rules) == 1 and _same_rule(found.rules[0], self._rule(trunk_id))
        return "ok" if one else "differs"

    def _rule(self, trunk_id: str) -> api.SIPDispatchRuleInfo:
        return api.SIPDispatchRuleInfo(
            name=self._name,
            trunk_ids=[trunk_id],
            rule=api.SIPDispatchRule(
                # Named after the dialled number: a room's name is in every log line, and that of an
                # individual rule has the caller's number in it.
                dispatch_rule_callee=api.SIPDispatchRuleCallee(room_prefix="call", randomize=True)
            ),
            room_config=api.RoomConfiguration(
                agents=[api.RoomAgentDispatch(agent_name=self._agent_name, metadata=_METADATA)]
            ),
        )


async def _delete(
    sip: SipService,
    trunks: Sequence[api.SIPInboundTrunkInfo],
    rules: Sequence[api.SIPDispatchRuleInfo],
) -> bool:
    """Whether there was anything; rules go first, since they name trunks."""
    for rule in rules:
        await sip.delete_dispatch_rule(
            api.DeleteSIPDispatchRuleRequest(sip_dispatch_rule_id=rule.sip_dispatch_rule_id)
        )
    for trunk in trunks:
        await sip.delete_trunk(api.DeleteSIPTrunkRequest(sip_trunk_id=trunk.sip_trunk_id))
    return bool(rules or trunks)


def _same_rule(rule: api.SIPDispatchRuleInfo, wanted: api.SIPDispatchRuleInfo) -> bool:
    return all(
        getattr(rule, part) == getattr(wanted, part)
        for part in ("name", "trunk_ids", "rule", "room_config")
    )
