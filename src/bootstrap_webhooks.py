"""Wires webhooks together, for the API and the jobs process alike."""

from __future__ import annotations

from dataclasses import dataclass

from src.adapters.mongo_owned import MongoOwnedStore
from src.adapters.postgres_jobs import DELIVER_WEBHOOK
from src.adapters.postgres_webhooks import PostgresDeliveries
from src.adapters.task_queue import TaskQueue
from src.adapters.webhook_sender import HttpWebhookSender
from src.bootstrap_memory import Foundation
from src.services.webhook_delivery import WebhookDispatcher
from src.services.webhooks import Webhooks


@dataclass(frozen=True)
class WebhookServices:
    """What owners do with webhooks, and what tells webhooks of events."""

    webhooks: Webhooks
    dispatcher: WebhookDispatcher


def build_webhooks(base: Foundation) -> WebhookServices:
    """The services. Does no I/O, and leaves nothing to close but `base`."""
    store, deliveries = MongoOwnedStore(base.mongo), PostgresDeliveries(base.postgres)
    sender = HttpWebhookSender(allow_private=base.settings.webhook_private_targets)
    return WebhookServices(
        webhooks=Webhooks(store=store, log=deliveries, sender=sender, clock=base.clock),
        dispatcher=WebhookDispatcher(
            store=store, deliveries=deliveries, sender=sender, clock=base.clock
        ),
    )


def run_webhook_jobs(queue: TaskQueue, dispatcher: WebhookDispatcher) -> None:
    """Have the queue send deliveries, and look after those it lost and those long finished."""
    queue.task(DELIVER_WEBHOOK, dispatcher.deliver, give_up=dispatcher.give_up)
    queue.periodic("requeue_webhooks", cron="*/10 * * * *", work=dispatcher.requeue_overdue)
    queue.periodic("purge_webhooks", cron="27 3 * * *", work=dispatcher.purge)
