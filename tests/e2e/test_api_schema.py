"""What the OpenAPI document says is what the running API does."""

import asyncio
from uuid import uuid4

import pytest

from local.kit import CallKit
from src.bootstrap_memory import Foundation
from tests.api_schema import Manner, run
from tests.e2e.api import new_key
from tests.planted_owner import plant

pytestmark = [pytest.mark.stack, pytest.mark.timeout(400)]

# Within what the API lets one key ask for in a minute. A webhook made up would be sent to: its host,
# too, is made up, but may exist.
MANNER = Manner(max_examples=6, rate_limit="19/s", left_out=("createWebhook",))


async def test_the_api_does_what_its_document_says(kit: CallKit, base: Foundation) -> None:
    owner = f"schema-{uuid4().hex[:8]}"
    token = await new_key(kit.stack, owner)
    planted = await plant(base, owner)
    # Nobody is called and no number is bound: for both, the agents that are named do not exist.
    del planted.known["body.agentId"]
    outcome = await asyncio.to_thread(run, kit.stack.api_url, token, planted, MANNER)
    assert outcome.failures == [], "\n\n".join(outcome.failures[:20])
    assert outcome.requests > 500
