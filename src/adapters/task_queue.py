"""Runs the jobs and the periodic tasks, on procrastinate: a queue in PostgreSQL (LISTEN/NOTIFY)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from procrastinate import App, BaseRetryStrategy, JobContext, PsycopgConnector, RetryDecision
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Job
from procrastinate.worker import Worker
from psycopg import Error as PsycopgError
from psycopg_pool import AsyncNullConnectionPool
from typing_extensions import override

from src.adapters.postgres_jobs import QUEUE
from src.logs import get_logger, trace_of
from src.services.ports import Clock

logger = get_logger(__name__)

_STORE_ERRORS = (ConnectorException, PsycopgError)


@dataclass(frozen=True, kw_only=True)
class QueuePolicy:
    """How often and how long jobs are tried; durations in seconds."""

    concurrency: int = 2
    attempts: int = 24
    """Then the job's subject is given up: after some three hours, longer than most outages."""
    first_retry_s: float = 5.0
    """Doubled after each failed attempt."""
    longest_retry_s: float = 600.0
    timeout_s: float = 600.0
    """For one attempt."""
    grace_s: float = 20.0
    """For the jobs at hand when the process is to end; then they go back into the queue."""
    heartbeat_s: float = 10.0
    stalled_s: float = 60.0
    """A worker without a heartbeat for so long is dead, and its jobs are done by another."""
    recover_every_s: float = 30.0
    poll_s: float = 5.0
    """Between two looks at the queue, should a notification be lost."""
    connect_s: float = 5.0
    outage_pause_s: float = 5.0
    keep_failed_hours: int = 7 * 24

    def retry_s(self, attempts: int) -> float:
        """The pause after an attempt that failed; 0 for the first."""
        return min(self.first_retry_s * 2.0 ** min(attempts, 30), self.longest_retry_s)


class JobFailedError(Exception):
    """What the queue sees and logs of an error: its kind, and not its message, which may quote data."""


class TaskQueue:
    """The jobs process's share of the queue. Constructing it does no I/O."""

    def __init__(self, *, dsn: str, clock: Clock, policy: QueuePolicy | None = None) -> None:
        """`dsn` is libpq's: `postgresql://…`."""
        self._policy = policy or QueuePolicy()
        self._clock = clock
        # A connection per operation: there are few, and none is there to be lost in an outage.
        self._pool = AsyncNullConnectionPool(
            dsn,
            max_size=self._policy.concurrency + 4,
            timeout=self._policy.connect_s,
            kwargs={"connect_timeout": max(2, int(self._policy.connect_s))},
            open=False,
        )
        self._app = App(connector=PsycopgConnector())
        self.periodic("remove_failed_jobs", cron="40 3 * * *", work=self._remove_failed)

    def task(
        self,
        name: str,
        work: Callable[[str], Awaitable[object]],
        *,
        give_up: Callable[[str], Awaitable[object]],
    ) -> None:
        """Do `work(subject_id)` for each job that was enqueued under `name`.

        It is tried again whatever it raises, and after a worker died of it: it must bear that. After
        the last attempt `give_up(subject_id)` is called, until it succeeds.
        """

        async def run(context: JobContext, *, subject_id: str) -> None:
            last = context.job.attempts >= self._policy.attempts
            await self._guarded(name, give_up(subject_id) if last else work(subject_id))

        retry = _Backoff(self._policy)
        self._app.task(name=name, queue=QUEUE, retry=retry, pass_context=True)(run)

    def periodic(self, name: str, *, cron: str, work: Callable[[], Awaitable[object]]) -> None:
        """Do `work()` whenever `cron` (UTC) says so, in one of the processes and never twice at once.

        One that fails is tried again the next time.
        """

        # The parameter is the queue's: when the run was due, in seconds since 1970.
        async def run(timestamp: int) -> None:  # noqa: ARG001
            await self._guarded(name, work())

        task = self._app.task(name=name, queue=QUEUE, lock=name, queueing_lock=name)(run)
        self._app.periodic(cron=cron, periodic_id=name)(task)

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop` is set; the jobs at hand are finished first, within `grace_s`. Once only.

        While the database is away, it is tried again after pauses.
        """
        async with self._pool, self._app.open_async(self._pool):
            while not stop.is_set():
                try:
                    await self._work(stop)
                except* _STORE_ERRORS:
                    pass  # `_work` ends early for other reasons, too
                if not stop.is_set():
                    logger.warning("job queue is away, jobs wait")
                    await self._pause(stop)

    async def _work(self, stop: asyncio.Event) -> None:
        """Run a worker until `stop` is set or the database fails."""
        policy = self._policy
        worker = Worker(
            self._app,
            queues=[QUEUE],
            concurrency=policy.concurrency,
            fetch_job_polling_interval=policy.poll_s,
            shutdown_graceful_timeout=policy.grace_s,
            delete_jobs="successful",
            install_signal_handlers=False,
            update_heartbeat_interval=policy.heartbeat_s,
            stalled_worker_timeout=policy.stalled_s,
        )
        async with asyncio.TaskGroup() as group:
            beside = [group.create_task(_stop(worker, stop)), group.create_task(self._recover())]
            try:
                await worker.run()  # type: ignore[no-untyped-call]
            finally:
                for task in beside:
                    task.cancel()

    async def _recover(self) -> None:
        """Put jobs of dead workers back into the queue."""
        manager = self._app.job_manager
        while True:
            try:
                stalled = await manager.get_stalled_jobs(
                    queue=QUEUE, seconds_since_heartbeat=self._policy.stalled_s
                )
                for job in stalled:
                    await manager.retry_job(job)
                    logger.warning("job of a dead worker is done again", extra={"job": job.id})
            except _STORE_ERRORS:  # away, or another process was faster
                logger.info("recovery of jobs is tried again later")
            await self._clock.sleep(self._policy.recover_every_s)

    async def _guarded(self, name: str, work: Awaitable[object]) -> None:
        try:
            async with asyncio.timeout(self._policy.timeout_s):
                await work
        except Exception as error:  # noqa: BLE001 - the edge of a task
            logger.warning("job failed", extra={"task": name, "trace": trace_of(error)})
            raise JobFailedError(type(error).__name__) from None

    async def _remove_failed(self) -> None:
        await self._app.job_manager.delete_old_jobs(
            self._policy.keep_failed_hours,
            include_failed=True,
            include_cancelled=True,
            include_aborted=True,
        )

    async def _pause(self, stop: asyncio.Event) -> None:
        async with asyncio.TaskGroup() as group:
            pause = group.create_task(self._clock.sleep(self._policy.outage_pause_s))
            stopped = group.create_task(stop.wait())
            await asyncio.wait({pause, stopped}, return_when=asyncio.FIRST_COMPLETED)
            pause.cancel()
            stopped.cancel()


class _Backoff(BaseRetryStrategy):
    def __init__(self, policy: QueuePolicy) -> None:
        self._policy = policy

    @override
    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision:
        # A job that was interrupted because the process ends can go on at once.
        interrupted = isinstance(exception, asyncio.CancelledError)
        last = job.attempts + 1 == self._policy.attempts  # what follows is to give up
        seconds = 0.0 if interrupted or last else self._policy.retry_s(job.attempts)
        return RetryDecision(retry_in={"seconds": int(seconds)})


async def _stop(worker: Worker, stop: asyncio.Event) -> None:
    await stop.wait()
    worker.stop()  # type: ignore[no-untyped-call]
