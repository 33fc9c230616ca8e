"""The demo server as an aiohttp application."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from aiohttp import web
from aiohttp.typedefs import Handler
from pydantic import ValidationError

from local.demo.agent_list import read_agents
from local.demo.guards import only_own_page, security_headers
from local.demo.sessions import SessionIssuer, SessionRequest, UnknownAgentError
from local.demo.story_stage import StoryStage
from local.story_events import TellStory

ROOT = Path(__file__).parents[2]
WEB_ROOT = ROOT / "web"
AGENTS_FILE = ROOT / "examples" / "clinic.json"
_CLIENT_LIBRARY = "node_modules/livekit-client/dist/livekit-client.esm.mjs"
_MAX_BODY_BYTES = 4096


@dataclass(frozen=True, kw_only=True, slots=True)
class DemoConfig:
    """Where things are."""

    livekit_url: str
    """As the browser reaches it."""
    api_key: str
    api_secret: str
    agents_file: Path = AGENTS_FILE
    web_root: Path = WEB_ROOT


class _Pages:
    """The files of the page: only those the page is made of."""

    def __init__(self, web_root: Path) -> None:
        self._web_root = web_root

    def routes(self) -> list[web.AbstractRouteDef]:
        return [
            web.get("/", self._file("index.html")),
            web.get("/app.js", self._file("app.js")),
            web.get("/scroll.js", self._file("scroll.js")),
            web.get("/favicon.svg", self._file("favicon.svg")),
            web.get("/vendor/livekit-client.mjs", self._file(_CLIENT_LIBRARY)),
            web.static("/style", self._web_root / "style"),
            web.static("/talk", self._web_root / "talk"),
            web.static("/watch", self._web_root / "watch"),
        ]

    def _file(self, name: str) -> Handler:
        async def serve(_request: web.Request) -> web.FileResponse:
            return web.FileResponse(self._web_root / name)

        return serve


class _Api:
    """What the page asks for while it runs."""

    def __init__(self, config: DemoConfig) -> None:
        self._agents = read_agents(config.agents_file)
        self._issuer = SessionIssuer(
            livekit_url=config.livekit_url,
            api_key=config.api_key,
            api_secret=config.api_secret,
            agents=self._agents,
        )

    async def list_agents(self, _request: web.Request) -> web.Response:
        return web.json_response({"agents": [asdict(agent) for agent in self._agents]})

    async def open_session(self, request: web.Request) -> web.Response:
        if request.content_type != "application/json":
            raise web.HTTPUnsupportedMediaType(text="Send JSON.")
        try:
            wish = SessionRequest.model_validate_json(await request.read())
            invitation = self._issuer.invite(wish)
        except ValidationError as error:
            raise web.HTTPBadRequest(text="That is not a session request.") from error
        except UnknownAgentError as error:
            raise web.HTTPNotFound(text="There is no such agent.") from error
        return web.json_response(asdict(invitation), headers={"Cache-Control": "no-store"})


async def _health(_request: web.Request) -> web.Response:
    return web.Response(text="ok")


def create_app(config: DemoConfig, tell: TellStory) -> web.Application:
    """The server; `tell` is the story it shows.

    Raises:
        OSError: the agents' file cannot be read.
        ValueError: the agents' file or the folder of the page is not what it should be.
    """
    if not (config.web_root / _CLIENT_LIBRARY).is_file():
        raise ValueError(f"{_CLIENT_LIBRARY} is missing: run `npm ci` in {config.web_root}")
    app = web.Application(middlewares=[only_own_page], client_max_size=_MAX_BODY_BYTES)
    app.on_response_prepare.append(security_headers(config.livekit_url))
    api, stage = _Api(config), StoryStage(tell)
    app.add_routes(_Pages(config.web_root).routes())
    app.add_routes(
        [
            web.get("/healthz", _health),
            web.get("/agents", api.list_agents),
            web.post("/session", api.open_session),
            web.get("/story", stage.watch, allow_head=False),
            web.get("/recordings/{name}", stage.recording),
        ]
    )
    return app
