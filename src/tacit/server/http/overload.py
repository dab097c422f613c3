"""Turn reports away before anything is done for them when more wait than can be stored soon: it must cost little.

They are told so a moment later: who takes no notice of `Retry-After` is back the sooner the sooner it is told, and
telling takes from storing what others sent.
"""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from tacit.errors import OverloadedError
from tacit.server.http.problems import as_problem
from tacit.server.store.inbox import Inbox

__all__ = ["Turnstile"]

MOMENT = 0.25
"""Seconds."""


class Turnstile:
    """In front of all routes, for the one that brings reports."""

    def __init__(self, app: ASGIApp, inbox: Inbox) -> None:
        self._app, self._inbox = app, inbox

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or turn it away."""
        answer: ASGIApp = self._app
        if scope["type"] == "http" and scope["method"] == "POST" and scope["path"].endswith("/reports"):
            try:
                self._inbox.check_room()
            except OverloadedError as failure:
                answer = as_problem(Request(scope), failure)
                await asyncio.sleep(MOMENT)
        await answer(scope, receive, send)
