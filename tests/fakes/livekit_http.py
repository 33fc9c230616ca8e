"""The parts of a LiveKit server's API that the adapters use, over real HTTP on loopback."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

from aiohttp import web
from google.protobuf.message import Message
from livekit import api
from livekit.protocol.agent import Job

from src.adapters.livekit_server import LiveKitServer

Method = tuple[type[Message], Callable[[Any], Message]]


class RefusalError(Exception):
    """An answer that is an error."""

    def __init__(self, code: str, status: int) -> None:
        super().__init__(code)
        self.code = code
        self.status = status


NOT_FOUND = RefusalError("not_found", 404)
CONFLICT = RefusalError("invalid_argument", 400)


class FakeLiveKit:
    """Trunks, rules and rooms by id; `asked` names each request, `refuse` is the answer to `refused` methods (empty is all)."""

    def __init__(self) -> None:
        self.trunks: dict[str, api.SIPInboundTrunkInfo] = {}
        self.rules: dict[str, api.SIPDispatchRuleInfo] = {}
        self.rooms: dict[str, list[api.AgentDispatch]] = {}
        self.participants: dict[str, list[api.ParticipantInfo]] = {}
        self.created: list[api.CreateRoomRequest] = []
        self.asked: list[str] = []
        self.refuse: RefusalError | None = None
        self.refused = ""
        self.before: Callable[[str], None] = lambda _: None
        self._ids = count(1)
        self._methods: dict[str, Method] = {
            "SIP/ListSIPInboundTrunk": (api.ListSIPInboundTrunkRequest, self._list_trunks),
            "SIP/CreateSIPInboundTrunk": (api.CreateSIPInboundTrunkRequest, self._create_trunk),
            "SIP/UpdateSIPInboundTrunk": (api.UpdateSIPInboundTrunkRequest, self._update_trunk),
            "SIP/DeleteSIPTrunk": (api.DeleteSIPTrunkRequest, self._delete_trunk),
            "SIP/ListSIPDispatchRule": (api.ListSIPDispatchRuleRequest, self._list_rules),
            "SIP/CreateSIPDispatchRule": (api.CreateSIPDispatchRuleRequest, self._create_rule),
            "SIP/UpdateSIPDispatchRule": (api.UpdateSIPDispatchRuleRequest, self._update_rule),
            "SIP/DeleteSIPDispatchRule": (api.DeleteSIPDispatchRuleRequest, self._delete_rule),
            "RoomService/CreateRoom": (api.CreateRoomRequest, self._create_room),
            "RoomService/ListRooms": (api.ListRoomsRequest, self._list_rooms),
            "RoomService/ListParticipants": (api.ListParticipantsRequest, self._list_participants),
            "RoomService/DeleteRoom": (api.DeleteRoomRequest, self._delete_room),
            "AgentDispatchService/ListDispatch": (api.ListAgentDispatchRequest, self._dispatches),
        }

    @asynccontextmanager
    async def serving(self, *, request_s: float = 5.0) -> AsyncIterator[LiveKitServer]:
        """A client of this server, while it is up."""
        app = web.Application()
        app.router.add_post("/twirp/livekit.{service}/{method}", self._answer)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        port = runner.addresses[0][1]
        server = LiveKitServer(
            url=f"http://127.0.0.1:{port}", api_key="key", api_secret="s" * 32, request_s=request_s
        )
        try:
            yield server
        finally:
            await server.aclose()
            await runner.cleanup()

    def take(self, room: str) -> None:
        """A worker takes the job of the room."""
        self.rooms[room][0].state.jobs.append(Job(id="job"))

    async def _answer(self, request: web.Request) -> web.Response:
        name = f"{request.match_info['service']}/{request.match_info['method']}"
        assert request.headers["Authorization"].startswith("Bearer ")
        self.asked.append(name)
        self.before(name)
        kind, method = self._methods[name]
        try:
            if self.refuse is not None and self.refused in name:
                raise self.refuse
            answer = method(kind.FromString(await request.read()))
        except RefusalError as refusal:
            return web.json_response(
                {"code": refusal.code, "msg": "+15105550100 is taken"}, status=refusal.status
            )
        return web.Response(body=answer.SerializeToString(), content_type="application/protobuf")

    def _list_trunks(self, _: Message) -> Message:
        return api.ListSIPInboundTrunkResponse(items=self.trunks.values())

    def _create_trunk(self, request: api.CreateSIPInboundTrunkRequest) -> Message:
        taken = {number for trunk in self.trunks.values() for number in trunk.numbers}
        if taken & set(request.trunk.numbers):
            raise CONFLICT
        trunk = api.SIPInboundTrunkInfo()
        trunk.CopyFrom(request.trunk)
        trunk.sip_trunk_id = f"ST_{next(self._ids)}"
        self.trunks[trunk.sip_trunk_id] = trunk
        return trunk

    def _update_trunk(self, request: api.UpdateSIPInboundTrunkRequest) -> Message:
        trunk: api.SIPInboundTrunkInfo = self._of(self.trunks, request.sip_trunk_id)
        trunk.numbers[:] = request.update.numbers.set
        return trunk

    def _delete_trunk(self, request: api.DeleteSIPTrunkRequest) -> Message:
        self._of(self.trunks, request.sip_trunk_id)
        return api.SIPTrunkInfo(sip_trunk_id=self.trunks.pop(request.sip_trunk_id).sip_trunk_id)

    def _list_rules(self, _: Message) -> Message:
        return api.ListSIPDispatchRuleResponse(items=self.rules.values())

    def _create_rule(self, request: api.CreateSIPDispatchRuleRequest) -> Message:
        if any(
            set(r.trunk_ids) & set(request.dispatch_rule.trunk_ids) for r in self.rules.values()
        ):
            raise CONFLICT
        return self._put_rule(f"SDR_{next(self._ids)}", request.dispatch_rule)

    def _update_rule(self, request: api.UpdateSIPDispatchRuleRequest) -> Message:
        self._of(self.rules, request.sip_dispatch_rule_id)
        return self._put_rule(request.sip_dispatch_rule_id, request.replace)

    def _put_rule(self, rule_id: str, wanted: api.SIPDispatchRuleInfo) -> Message:
        rule = api.SIPDispatchRuleInfo()
        rule.CopyFrom(wanted)
        rule.sip_dispatch_rule_id = rule_id
        self.rules[rule_id] = rule
        return rule

    def _delete_rule(self, request: api.DeleteSIPDispatchRuleRequest) -> Message:
        self._of(self.rules, request.sip_dispatch_rule_id)
        gone: api.SIPDispatchRuleInfo = self.rules.pop(request.sip_dispatch_rule_id)
        return gone

    def _create_room(self, request: api.CreateRoomRequest) -> Message:
        self.created.append(request)
        jobs = [
            api.AgentDispatch(id="AD", agent_name=one.agent_name, metadata=one.metadata)
            for one in request.agents
        ]
        self.rooms.setdefault(request.name, jobs)
        return api.Room(name=request.name)

    def _list_rooms(self, request: api.ListRoomsRequest) -> Message:
        known = [api.Room(name=name) for name in request.names if name in self.rooms]
        return api.ListRoomsResponse(rooms=known)

    def _list_participants(self, request: api.ListParticipantsRequest) -> Message:
        return api.ListParticipantsResponse(participants=self._of(self.participants, request.room))

    def _delete_room(self, request: api.DeleteRoomRequest) -> Message:
        self._of(self.rooms, request.room)
        del self.rooms[request.room]
        return api.DeleteRoomResponse()

    def _dispatches(self, request: api.ListAgentDispatchRequest) -> Message:
        return api.ListAgentDispatchResponse(agent_dispatches=self._of(self.rooms, request.room))

    def _of(self, kept: dict[str, Any], key: str) -> Any:
        if key not in kept:
            raise NOT_FOUND
        return kept[key]
