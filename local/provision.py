"""Tells the LiveKit server of a stack which numbers are ours and where calls leave."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from livekit import api
from livekit.api.sip_service import SipService

from local.ports import HOST, LIVEKIT_API_KEY, LIVEKIT_API_SECRET, Stack

AGENT_NAME = "familiar"
_INBOUND = "phones"
_METADATA = json.dumps({"v": 1, "call_type": "inbound"})


def numbers_of(seed_file: Path) -> list[str]:
    """The numbers that the seed file binds to agents.

    Raises:
        OSError: the file cannot be read.
        ValueError: it names none.
    """
    bindings = json.loads(seed_file.read_text()).get("phoneNumbers", [])
    numbers = [binding["number"] for binding in bindings]
    if not numbers:
        raise ValueError(f"{seed_file} binds no phone number to an agent")
    return numbers


async def provision(stack: Stack, numbers: Sequence[str]) -> dict[str, str]:
    """Make calls to `numbers` reach the agents, and calls of the agents reach the test phones.

    Repeatable: what is there already stays, with its id; what differs is replaced.

    Returns:
        The id of the outbound trunk to each of `stack.phone_ports`.

    Raises:
        aiohttp.ClientError: the server cannot be reached.
        livekit.api.ServerError: it refuses.
    """
    async with api.LiveKitAPI(stack.livekit_url, LIVEKIT_API_KEY, LIVEKIT_API_SECRET) as livekit:
        inbound = await _inbound_trunk(livekit.sip, numbers)
        await _dispatch_rule(livekit.sip, inbound)
        addresses = {name: f"{HOST}:{port}" for name, port in stack.phone_ports.items()}
        return await _outbound_trunks(livekit.sip, addresses, numbers[0])


async def _inbound_trunk(sip: SipService, numbers: Sequence[str]) -> str:
    wanted = api.SIPInboundTrunkInfo(name=_INBOUND, numbers=numbers)
    listed = await sip.list_inbound_trunk(api.ListSIPInboundTrunkRequest())
    kept = ""
    for trunk in listed.items:
        if not kept and trunk.name == _INBOUND and list(trunk.numbers) == list(numbers):
            kept = trunk.sip_trunk_id
        else:  # two trunks with the same number would make every call ambiguous
            await sip.delete_trunk(api.DeleteSIPTrunkRequest(sip_trunk_id=trunk.sip_trunk_id))
    if kept:
        return kept
    created = await sip.create_inbound_trunk(api.CreateSIPInboundTrunkRequest(trunk=wanted))
    return created.sip_trunk_id


async def _dispatch_rule(sip: SipService, trunk_id: str) -> None:
    wanted = api.SIPDispatchRuleInfo(
        name=_INBOUND,
        trunk_ids=[trunk_id],
        rule=api.SIPDispatchRule(
            # Named after the dialled number: a room's name is in every log line, and that of an
            # individual rule has the caller's number in it.
            dispatch_rule_callee=api.SIPDispatchRuleCallee(room_prefix="call", randomize=True)
        ),
        room_config=api.RoomConfiguration(
            agents=[api.RoomAgentDispatch(agent_name=AGENT_NAME, metadata=_METADATA)]
        ),
    )
    listed = await sip.list_dispatch_rule(api.ListSIPDispatchRuleRequest())
    found = False
    for rule in listed.items:
        if not found and _same_rule(rule, wanted):
            found = True
        else:
            await sip.delete_dispatch_rule(
                api.DeleteSIPDispatchRuleRequest(sip_dispatch_rule_id=rule.sip_dispatch_rule_id)
            )
    if not found:
        await sip.create_dispatch_rule(api.CreateSIPDispatchRuleRequest(dispatch_rule=wanted))


def _same_rule(rule: api.SIPDispatchRuleInfo, wanted: api.SIPDispatchRuleInfo) -> bool:
    return all(
        getattr(rule, part) == getattr(wanted, part)
        for part in ("name", "trunk_ids", "rule", "room_config")
    )


async def _outbound_trunks(
    sip: SipService, addresses: Mapping[str, str], number: str
) -> dict[str, str]:
    listed = await sip.list_outbound_trunk(api.ListSIPOutboundTrunkRequest())
    ids: dict[str, str] = {}
    for trunk in listed.items:
        wanted = addresses.get(trunk.name) == trunk.address and list(trunk.numbers) == [number]
        if wanted and trunk.name not in ids:
            ids[trunk.name] = trunk.sip_trunk_id
        else:
            await sip.delete_trunk(api.DeleteSIPTrunkRequest(sip_trunk_id=trunk.sip_trunk_id))
    for name in _missing(addresses, ids):
        created = await sip.create_outbound_trunk(
            api.CreateSIPOutboundTrunkRequest(
                trunk=api.SIPOutboundTrunkInfo(name=name, address=addresses[name], numbers=[number])
            )
        )
        ids[name] = created.sip_trunk_id
    return {name: ids[name] for name in addresses}


def _missing(addresses: Mapping[str, str], ids: Mapping[str, str]) -> Iterable[str]:
    return [name for name in addresses if name not in ids]
