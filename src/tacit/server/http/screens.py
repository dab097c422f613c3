"""The pages that a collector serves: built from `web/`, read once, with a strict policy and hashes as ETags.

The pages hold no data: they ask the same routes as everybody else, and encode in the browser.
"""

from __future__ import annotations

import gzip
import hashlib
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

__all__ = ["HEADERS", "screen_routes"]

SCREENS = {
    "/": "start.html",
    "/me": "owner.html",
    "/query": "analyst.html",
    "/board": "board.html",
    "/collections/{id}": "collection.html",
}
"""Addresses and the pages they show."""

TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}

HEADERS = {
    "Cache-Control": "no-cache",  # always revalidated, rarely sent: the ETag matches
    "Content-Security-Policy": (
        "default-src 'self'; img-src 'self' blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "object-src 'none'; require-trusted-types-for 'script'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Vary": "Accept-Encoding",
    "X-Content-Type-Options": "nosniff",
}


class _Page:
    """One built file, uncompressed and compressed."""

    def __init__(self, name: str, content: bytes) -> None:
        self._plain, self._small = content, gzip.compress(content, 9, mtime=0)
        self._headers = HEADERS | {
            "Content-Type": TYPES[name[name.rindex(".") :]],
            "ETag": f'"{hashlib.sha256(content).hexdigest()[:32]}"',
        }

    async def answer(self, request: Request) -> Response:
        """Return the page, or 304 if the browser has it already."""
        if self._headers["ETag"] in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=self._headers)
        if "gzip" in request.headers.get("accept-encoding", ""):
            return Response(self._small, headers=self._headers | {"Content-Encoding": "gzip"})
        return Response(self._plain, headers=self._headers)


def screen_routes() -> list[Route]:
    """Return a route for each screen and for each file that the screens load."""
    folder = files("tacit.server") / "pages"
    pages = {file.name: _Page(file.name, file.read_bytes()) for file in folder.iterdir()}
    addresses = SCREENS | {f"/pages/{name}": name for name in pages if not name.endswith(".html")}
    return [Route(path, pages[name].answer, methods=["GET"], name=path) for path, name in addresses.items()]
