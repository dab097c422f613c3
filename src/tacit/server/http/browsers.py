"""Headers for browsers: which pages may read responses, and what our own pages may load.

Only pages that a key is bound to may read responses, never with credentials; no content of an answer runs as a script.
"""

from __future__ import annotations

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tacit.errors import TacitError
from tacit.server.keys import Keys

__all__ = ["Browsers"]

EVERYWHERE = {
    "Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


class Browsers:
    """Adds headers to every response, and answers preflights."""

    def __init__(self, app: ASGIApp, keys: Keys) -> None:
        self._app, self._keys = app, keys

    def _knows(self, origin: str) -> bool:
        """Return whether a key is bound to a page; if keys cannot be read, none is, and the route explains why."""
        try:
            return origin in self._keys.origins()
        except TacitError:
            return False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        origin = headers.get("origin", "")
        allowed = bool(origin) and self._knows(origin)

        async def send_allowing(message: Message) -> None:
            if message["type"] == "http.response.start":
                answered = MutableHeaders(scope=message)
                for name, value in EVERYWHERE.items():
                    answered.setdefault(name, value)
                answered.add_vary_header("Origin")
                if allowed:
                    answered["Access-Control-Allow-Origin"] = origin
                    answered["Access-Control-Expose-Headers"] = "Retry-After"
            await send(message)

        if scope["method"] == "OPTIONS" and allowed and "access-control-request-method" in headers:
            preflight = {
                "Access-Control-Allow-Methods": "GET, POST",
                "Access-Control-Allow-Headers": "Content-Type, Content-Encoding",
                "Access-Control-Max-Age": "600",
            }
            await Response(status_code=204, headers=preflight)(scope, receive, send_allowing)
        else:
            await self._app(scope, receive, send_allowing)
