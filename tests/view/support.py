"""Requests as bytes, and a server with pages in memory."""

from __future__ import annotations

import io
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from mgpu_trace.view.page import Page
from mgpu_trace.view.server import TraceServer

TRACE = b'{"traceEvents":[' + b" " * 600_000 + b"]}"


def page(content: bytes = TRACE, name: str = "a.json") -> Page:
    return Page(name, io.BytesIO(content))


@contextmanager
def serving(*pages: Page, **how: object) -> Iterator[TraceServer]:
    with TraceServer(0, **how) as server:  # type: ignore[arg-type]
        server.start(pages or [page()])
        yield server


def get(path: str, server: TraceServer, method: str = "GET", **headers: str) -> bytes:
    """A request that is granted, with ``headers`` added or put in place of its own."""
    fields = {"Host": f"127.0.0.1:{server.port}"}
    fields |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def exchange(server: TraceServer, sent: bytes) -> tuple[int, dict[str, str], bytes]:
    """What comes back for these bytes: status (0 for nothing at all), headers and body."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        got = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    if not got:
        return 0, {}, b""
    head, _, body = got.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    return int(first.split(" ")[1]), dict(line.split(": ", 1) for line in lines), body
