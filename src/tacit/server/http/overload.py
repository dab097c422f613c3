"""Answer 429 to reports, before doing any work for them, while the queue is too long.

Clients that ignore `Retry-After` retry as soon as they get the 429, and answering them costs time that storing needs;
so the 429 is delayed.
"""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from tacit.errors import OverloadedError
from tacit.server.http.problems import as_problem
from tacit.server.store.inbox import Inbox

__all__ = ["Overload"]

MOMENT = 0.25
"""Seconds."""


class Overload:
    """Middleware in front of the route that takes reports."""

    def __init__(self, app: ASGIApp, inbox: Inbox) -> None:
        self._app, self._inbox = app, inbox

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 429."""
        answer: ASGIApp = self._app
        if scope["type"] == "http" and scope["method"] == "POST" and scope["path"].endswith("/reports"):
            try:
                self._inbox.check_room()
            except OverloadedError as failure:
                answer = as_problem(Request(scope), failure)
                await asyncio.sleep(MOMENT)
        await answer(scope, receive, send)
