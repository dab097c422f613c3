"""Whether a collector can store reports and answer questions now; writes to and reads from both stores and the log.

Liveness (`/healthz`) shows that the process responds; restarting it does not fix a full disk or an unreachable
database. Readiness (`/readyz`) is for load balancers and on-call staff: it fails within seconds of a fault.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from tacit.engines.failures import outage
from tacit.errors import OverloadedError, TacitError
from tacit.server.collector import Collector
from tacit.server.store.disk import has_room, is_scarce

__all__ = ["Readiness"]

T = TypeVar("T")

PROBE_SECONDS = 3.0
"""Seconds a store may take to be written and read."""

VALID_SECONDS = 1.0
"""Seconds a result is reused: anybody may ask, and every probe writes."""


class Readiness:
    """Probes a collector, at most once a second in total."""

    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self._threads = ThreadPoolExecutor(4, thread_name_prefix="probe")
        self._running: dict[str, Future[None]] = {}
        self._lock, self._at = asyncio.Lock(), float("-inf")
        self._fault: TacitError | None = None
        self.is_draining = False
        """Whether the collector is draining, so that load balancers should use another one."""

    async def fault(self) -> TacitError | None:
        """Return why the collector is not ready, or None if it is."""
        if self.is_draining:
            message = "The collector is shutting down. It answers until then; send requests to another one."
            return OverloadedError(message, code="draining", retry_after=5)
        async with self._lock:
            if time.monotonic() - self._at > VALID_SECONDS:
                probes = {
                    "inbox": self._collector.inbox.probe,
                    "analytical database": self._collector.mover.probe,
                    "log": self._collector.log.probe,
                }
                faults = await asyncio.gather(*(self._probe(name, probe) for name, probe in probes.items()))
                fault = next((fault for fault in faults if fault is not None), None)
                self._fault = await self.away(partial(self._explain, fault))
                self._at = time.monotonic()
            return self._fault

    async def away(self, work: Callable[[], T]) -> T:
        """Return a result about the stores; an unresponsive store blocks no request."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def _probe(self, name: str, probe: Callable[[], None]) -> TacitError | None:
        """Return the fault of one part; an unresponsive part is not probed again until it responds."""
        running = self._running.get(name)
        if running is None or running.done():
            running = self._running[name] = self._threads.submit(probe)
        try:
            await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(running)), PROBE_SECONDS)
        except TimeoutError:
            message = f"The {name} did not answer within {PROBE_SECONDS:g} seconds."
            return OverloadedError(message, code="no-store")
        except OverloadedError as fault:
            return fault
        except Exception as cause:
            problem = f"The {name} cannot be written or read"
            return outage(problem, cause) or OverloadedError(f"{problem} ({type(cause).__name__}).", code="no-store")
        return None

    def _explain(self, fault: TacitError | None) -> TacitError | None:
        """Return the fault of a probe, or one that no probe shows. A store on a full disk fails in several ways."""
        collector, fault = self._collector, fault or self._standing()
        is_full = not collector.is_elsewhere and not has_room(collector.folder)
        if is_full and (fault is None or fault.code == "no-store"):
            message = "The disk is nearly full, so no reports are accepted. Free some space."
            return OverloadedError(message, code="disk-full", retry_after=5)
        return fault

    def _standing(self) -> TacitError | None:
        """Return a fault that no probe shows: a failed move, or a dead thread."""
        collector = self._collector
        if not collector.is_running():
            message = "A thread of the collector has died. Restart the collector."
            return OverloadedError(message, code="thread-ended")
        if collector.mover.fault is not None:
            return collector.mover.fault
        if collector.mover.stores.is_rebuilding:
            message = "The analytical database is being rebuilt from the inbox. Reports are still accepted."
            return OverloadedError(message, code="rebuilding", retry_after=5)
        return None

    def warnings(self) -> list[str]:
        """Return warnings that need attention although the collector is ready."""
        sizes = self._collector.inbox.sizes().values()
        warnings = {
            "little-room": is_scarce(self._collector.folder),
            "damaged-reports": any(size.damaged for size in sizes),
            "lost-reports": any(size.lost for size in sizes),
            "mixed-versions": len(self._collector.inbox.standing().programs) > 1,
        }
        return [name for name, is_so in warnings.items() if is_so]

    def close(self) -> None:
        """Probe no more."""
        self._threads.shutdown(wait=False, cancel_futures=True)
