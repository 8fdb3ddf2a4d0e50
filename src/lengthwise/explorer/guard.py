"""Protection against other sites: a request must name this server and come from its own page, and replies carry
security headers.

Starlette's TrustedHostMiddleware accepts only a list of names. A server bound to all addresses can be reached
under any of them, and a wildcard would accept every name that another site points at this machine.
"""

import ipaddress
import socket
from collections.abc import MutableMapping
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
REPORT_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""A report is one file that contains its scripts and styles. It may fetch nothing."""

LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Guard:
    def __init__(self, app: ASGIApp, host: str) -> None:
        self.app, self.host = app, host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)

        async def send_with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                policy = REPORT_POLICY if scope["path"] == "/report" else PAGE_POLICY
                headers.setdefault("Content-Security-Policy", policy)
                headers.setdefault("Cache-Control", "no-store")
                headers["X-Content-Type-Options"] = "nosniff"
                headers["Referrer-Policy"] = "no-referrer"
            await send(message)

        headers, reply = Headers(scope=scope), self.app
        named = headers.get("host", "")
        if not known_host(named, self.host):
            why = f"unknown host {named!r} (choose from {self.host}, localhost)"
            reply = JSONResponse({"error": why, "field": None}, 400)
        elif from_elsewhere(headers, scope["path"]):
            reply = JSONResponse({"error": "requests from other sites are refused", "field": None}, 403)
        return await reply(scope, receive, send_with_headers)


def known_host(header: str, bound: str) -> bool:
    """Whether a Host header names this server, which is bound to the address `bound`.

    >>> known_host("127.0.0.1:8000", "127.0.0.1"), known_host("evil.example", "127.0.0.1")
    (True, False)
    """
    name = _without_port(header).lower()
    if name in LOOPBACK or name == bound.lower():
        return True
    if not _is_address(bound) or not ipaddress.ip_address(bound).is_unspecified:
        return False
    # Bound to all addresses: accept any numeric address and this machine's own name.
    return _is_address(name) or name == socket.gethostname().lower()


def from_elsewhere(headers: Headers, path: str) -> bool:
    """Whether a request comes from another site's page, as browsers say. Any site may link to the page itself."""
    if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        return not (path == "/" and headers.get("sec-fetch-dest") == "document")
    origin = headers.get("origin")
    return origin is not None and origin.partition("://")[2] != headers["host"]


def _without_port(header: str) -> str:
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.partition(":")[0]


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
