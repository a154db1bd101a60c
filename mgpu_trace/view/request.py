"""The head of a request, and the answer that it gets. Pure: sockets are in server.py.

A server on loopback can be reached by every page that the browser shows, so a request counts only if it
is addressed to this machine by number or as localhost (a name that was pointed at 127.0.0.1 is not),
and comes from the viewer, from our own page, or from no page at all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Final

from mgpu_trace.view.page import Page

PERFETTO: Final = "https://ui.perfetto.dev"
_REQUEST_LINE: Final = re.compile(r"([A-Z]{1,20}) ([!-~]{1,4096}) HTTP/1\.[01]")
_HEADER: Final = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*")
_METHODS: Final = ("GET", "HEAD", "OPTIONS")
# The UI speaks to us alone, whatever its own policy allows: offline is meant.
_POLICY: Final = "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:"


@dataclass(frozen=True, slots=True)
class Request:
    """A request without its body; ``headers`` by lower-case name."""

    method: str
    target: str
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Site:
    """All that there is: the traces, and the files of the offline UI, by path."""

    port: int
    pages: Mapping[str, Page]
    ui: Mapping[str, Path] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """A status, the headers that belong to it, and what is sent; nothing where it is None."""

    status: HTTPStatus
    headers: Mapping[str, str] = field(default_factory=dict)
    content: Page | Path | None = None


def parse_head(head: bytes) -> Request | None:
    """The request that ``head`` is, up to its empty line; None where it is not one, to the letter."""
    first, *rest = head.decode("latin-1").split("\r\n")
    line = _REQUEST_LINE.fullmatch(first)
    if line is None:
        return None
    headers: dict[str, str] = {}
    for text in rest:
        header = _HEADER.fullmatch(text)
        if header is None:
            return None
        name = header[1].lower()
        if name in headers and name in ("host", "origin"):
            return None  # whoever sends two means to be read in two ways
        headers[name] = header[2]
    return Request(line[1], line[2], headers)


def answer(request: Request, site: Site) -> Answer:
    """What ``request`` gets; what is not there, or not meant for it, is refused."""
    if not _is_addressed(request, site.port) or not _is_from_us(request, site.port):
        return Answer(HTTPStatus.FORBIDDEN)
    if request.method not in _METHODS:
        return Answer(HTTPStatus.METHOD_NOT_ALLOWED, {"Allow": ", ".join(_METHODS)})
    found = _find(request.target, site)
    if request.method == "OPTIONS" and found.content is not None:
        return Answer(HTTPStatus.NO_CONTENT, {**found.headers, **_preflight(request)})
    return found


def _find(target: str, site: Site) -> Answer:
    page = site.pages.get(target)
    if page is not None:
        # Nothing that the browser keeps when we are gone.
        return Answer(HTTPStatus.OK, {**_SHARED, "Cache-Control": "no-store"}, page)
    file = site.ui.get(target.partition("?")[0])
    if file is not None:
        return Answer(HTTPStatus.OK, {"Content-Security-Policy": _POLICY, "Cache-Control": "no-cache"}, file)
    return Answer(HTTPStatus.NOT_FOUND)


_SHARED: Final = {"Access-Control-Allow-Origin": PERFETTO, "Vary": "Origin"}


def _is_addressed(request: Request, port: int) -> bool:
    names = ("127.0.0.1", "localhost")
    known = {f"{name}:{port}" for name in names} | (set(names) if port == 80 else set())
    return request.headers.get("host", "").lower() in known


def _is_from_us(request: Request, port: int) -> bool:
    origin = request.headers.get("origin")
    if origin is None:  # no page, or one that embeds us, which the browser says in another way
        followed = request.headers.get("sec-fetch-dest") == "document"  # a link, by hand
        return followed or request.headers.get("sec-fetch-site") not in ("cross-site", "same-site")
    return origin in (PERFETTO, f"http://127.0.0.1:{port}", f"http://localhost:{port}")


def _preflight(request: Request) -> dict[str, str]:
    allowed = {"Access-Control-Allow-Methods": "GET, HEAD", "Access-Control-Max-Age": "0"}
    if request.headers.get("access-control-request-private-network") == "true":
        allowed["Access-Control-Allow-Private-Network"] = "true"
    return allowed
