"""Tells the LiveKit server of a stack which numbers are ours and where calls leave."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from livekit import api
from livekit.api.sip_service import SipService
from typing_extensions import override

from local.ports import HOST, LIVEKIT_API_KEY, LIVEKIT_API_SECRET, Stack
from src.adapters.livekit_numbers import LiveKitNumbers
from src.adapters.livekit_server import LiveKitServer
from src.schemas.errors import MediaServerError
from src.services.call_ports import BoundNumbers


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
        OSError: the server cannot be reached, or refuses.
    """
    server = LiveKitServer(
        url=stack.livekit_url, api_key=LIVEKIT_API_KEY, api_secret=LIVEKIT_API_SECRET
    )
    try:
        await LiveKitNumbers(server, _Given(numbers)).reconcile()
        addresses = {name: f"{HOST}:{port}" for name, port in stack.phone_ports.items()}
        async with server.asking() as livekit:
            return await _outbound_trunks(livekit.sip, addresses, numbers[0])
    except MediaServerError as error:
        raise OSError(str(error)) from error
    finally:
        await server.aclose()


class _Given(BoundNumbers):
    """Numbers that are known without a store."""

    def __init__(self, numbers: Sequence[str]) -> None:
        self._numbers = numbers

    @override
    async def bound(self) -> Sequence[str]:
        return sorted(self._numbers)


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
