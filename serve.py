"""The control plane over HTTP: `python serve.py`. Ends on SIGTERM, after the requests at hand."""

from __future__ import annotations

import logging

import uvicorn

from src.api.app import create_app
from src.bootstrap_api import build_api
from src.logs import JsonLines, allow_pii
from src.services.phone_numbers import load_numbering_plans
from src.settings import Settings

_GRACE_S = 10


def main() -> None:
    """Set up the process and serve."""
    settings = Settings()
    allow_pii(allow=settings.log_pii)
    logging.basicConfig(level=logging.INFO)
    logging.getLogger().handlers[0].setFormatter(JsonLines())
    load_numbering_plans()
    api = build_api(settings)
    uvicorn.run(
        create_app(api.services, running=api.running),
        host=settings.api_host,
        port=settings.api_port,
        # Only these may say whom they speak for.
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=settings.trusted_proxies or None,
        log_config=None,
        access_log=False,  # it would hold paths, which hold numbers
        server_header=False,
        timeout_graceful_shutdown=_GRACE_S,
    )


if __name__ == "__main__":
    main()
