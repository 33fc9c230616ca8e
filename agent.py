"""The worker: `python agent.py start` (or `dev`, `console`)."""

from __future__ import annotations

import math

from livekit.agents import AgentServer, JobContext, JobProcess, cli

from src.bootstrap import build_call_services
from src.handlers.entry import end_call, serve_call
from src.logs import allow_pii, guard_livekit_logs
from src.settings import Settings

AGENT_NAME = "familiar"
SETTINGS = Settings()
_INITIALIZE_S = (
    60.0  # a loaded machine takes longer than the usual 10 s, and killing makes it worse
)


def prewarm(process: JobProcess) -> None:
    """Build models and clients before a call arrives: on the call's own loop they would block it."""
    allow_pii(allow=SETTINGS.log_pii)
    guard_livekit_logs()
    process.userdata["services"] = build_call_services(SETTINGS)


def load(server: AgentServer) -> float:
    """Load by calls, for the server to choose the least busy worker.

    Kept below 0.7: from there on the server drops dispatches for good, and the caller rings in vain.
    """
    return min(0.69, len(server.active_jobs) / SETTINGS.max_calls)


server = AgentServer(
    setup_fnc=prewarm,
    load_fnc=load,
    # Else calls that come at the same moment are refused by an estimate of what they will cost, and
    # a refused dispatch is not tried again.
    load_threshold=math.inf,
    preload_modules=["preload"],
    initialize_process_timeout=_INITIALIZE_S,
    num_idle_processes=SETTINGS.idle_processes,
    host=SETTINGS.worker_host,
    port=SETTINGS.worker_port,
    prometheus_port=SETTINGS.metrics_port,
    prometheus_multiproc_dir=str(SETTINGS.data_dir / "metrics") if SETTINGS.metrics_port else None,
)


@server.rtc_session(agent_name=AGENT_NAME, on_session_end=end_call)
async def entrypoint(ctx: JobContext) -> None:
    """Serve one call."""
    await serve_call(ctx, ctx.proc.userdata["services"])


if __name__ == "__main__":
    allow_pii(allow=SETTINGS.log_pii)
    guard_livekit_logs()
    cli.run_app(server)
