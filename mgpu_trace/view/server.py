"""Serves traces on loopback, until they were fetched.

One request a connection; a head of so many bytes within so many seconds; so many connections. A client
that is slow, broken or hostile loses its own connection and nothing else.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import socketserver
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Final

from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, catalogue
from mgpu_trace.view.page import Page
from mgpu_trace.view.ports import holder_of
from mgpu_trace.view.request import PERFETTO, Answer, Site, answer, parse_head

LOOPBACK: Final = "127.0.0.1"
PERFETTO_PORT: Final = 9001
_HEAD_BYTES: Final = 16 << 10
_HEAD_S: Final = 10.0
_CHUNK_BYTES: Final = 256 << 10
_STALL_S: Final = 30.0  # for one chunk to be taken
_FAREWELL_S: Final = 5.0  # for a client to close what it has read to the end
_MOST_CONNECTIONS: Final = 64
# The offline UI loads the last of its parts after it has the trace.
SETTLE_S: Final = 10.0


class TraceServer:
    """Has a port from the start, and serves on it from :meth:`start` to the end of the ``with`` block.

    Parameters
    ----------
    port
        Which port of loopback; 0 is any that is free.
    ui
        An offline UI's files by URL path.
    settle_s
        How long the UI must have asked for nothing after the traces were fetched.

    Raises
    ------
    MgpuTraceError
        MGT609 when the port is taken, MGT614 when it cannot be had for another reason.
    """

    def __init__(self, port: int, ui: Mapping[str, Path] | None = None, settle_s: float = SETTLE_S) -> None:
        self._listener = _listen(port)
        self.port: int = self._listener.server_address[1]
        self._pages: list[Page] = []
        self._ui = ui or {}
        self._settle_s = settle_s if ui else 0.0
        self._thread = threading.Thread(target=self._listener.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> TraceServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._thread.is_alive():
            self._listener.shutdown()
        self._listener.server_close()

    def start(self, pages: Sequence[Page]) -> None:
        """Serve these traces; their files stay the caller's."""
        self._pages = list(pages)
        self._listener.site = Site(self.port, {page.path: page for page in pages}, self._ui)
        self._listener.seen.last_s = time.monotonic()
        self._thread.start()

    def url_of(self, page: Page) -> str:
        """Where the viewer shows ``page``: ui.perfetto.dev, or our own offline UI."""
        here = f"http://{LOOPBACK}:{self.port}"
        return f"{here if self._ui else PERFETTO}/#!/?url={here}{page.path}"

    @property
    def missing(self) -> list[Page]:
        """The pages that nobody has fetched to their end."""
        return [page for page in self._pages if page not in self._listener.seen.fetched]

    def wait(self, idle_s: float | None, keep: bool = False) -> list[Page]:
        """Wait until every page was fetched, or nobody has asked for anything in ``idle_s`` seconds.

        Parameters
        ----------
        idle_s
            None waits without an end.
        keep
            Whether to go on when all were fetched.

        Returns
        -------
        list of Page
            Those that were not.
        """
        seen = self._listener.seen
        with seen.changed:
            while True:
                if seen.fault is not None:
                    raise seen.fault
                missing = self.missing
                limit = idle_s if missing or keep else self._settle_s
                left = None if limit is None else seen.last_s + limit - time.monotonic()
                if left is not None and left <= 0 and not seen.n_active:
                    return missing
                # Active requests end by themselves, and say so.
                seen.changed.wait(None if seen.n_active else left)


class _Seen:
    """What was asked for; guarded by ``changed``."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.fetched: set[Page] = set()
        self.last_s = time.monotonic()
        self.n_active = 0
        self.fault: BaseException | None = None

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        """While a request that is granted is answered."""
        with self.changed:
            self.n_active += 1
        try:
            yield
        finally:
            with self.changed:
                self.n_active -= 1
                self.last_s = time.monotonic()
                self.changed.notify_all()


class _Listener(socketserver.ThreadingTCPServer):
    allow_reuse_address = os.name == "posix"  # elsewhere it would share a port that is taken
    daemon_threads = True
    block_on_close = False
    request_queue_size = 32
    site: Site

    def __init__(self, port: int) -> None:
        self.seen = _Seen()
        self._room = threading.BoundedSemaphore(_MOST_CONNECTIONS)
        super().__init__((LOOPBACK, port), _Handler)

    def process_request(self, request: socket.socket | tuple[bytes, socket.socket], address: object) -> None:
        if self._room.acquire(blocking=False):
            super().process_request(request, address)
        else:
            self.shutdown_request(request)

    def process_request_thread(
        self, request: socket.socket | tuple[bytes, socket.socket], address: object
    ) -> None:
        try:
            super().process_request_thread(request, address)
        finally:
            self._room.release()

    def handle_error(self, *_: object) -> None:
        """Hand our own faults to the thread that waits; the base class prints them."""
        error = sys.exception()
        if not isinstance(error, OSError):  # which is the client's
            with self.seen.changed:
                self.seen.fault = error
                self.seen.changed.notify_all()


class _Handler(socketserver.BaseRequestHandler):
    server: _Listener
    request: socket.socket

    def handle(self) -> None:
        head = _read_head(self.request)
        asked = None if head is None else parse_head(head)
        given = Answer(HTTPStatus.BAD_REQUEST) if asked is None else answer(asked, self.server.site)
        if asked is None or given.content is None:
            self._send_head(given)
            self._part()
            return
        with self.server.seen.active(), contextlib.ExitStack() as opened:
            page = given.content
            if not isinstance(page, Page):
                page = Page(page.name, opened.enter_context(open(page, "rb")))
            self._send_head(given, page)
            got_it = asked.method == "GET" and self._send_all(page)
            if self._part() and got_it:
                self.server.seen.fetched.add(page)

    def _send_head(self, given: Answer, page: Page | None = None) -> None:
        headers = {
            **given.headers,
            "Content-Length": str(page.n_bytes if page else 0),
            "Connection": "close",
            "Cross-Origin-Resource-Policy": "same-origin",
            "X-Content-Type-Options": "nosniff",
        }
        if page:
            headers["Content-Type"] = page.content_type
        lines = [f"HTTP/1.1 {given.status.value} {given.status.phrase}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self.request.settimeout(_STALL_S)
        self.request.sendall("\r\n".join([*lines, "", ""]).encode("ascii"))

    def _send_all(self, page: Page) -> bool:
        """Send the whole page; False where its file has become shorter."""
        sent = 0
        while sent < page.n_bytes:
            part = page.read(sent, min(_CHUNK_BYTES, page.n_bytes - sent))
            if not part:
                return False
            self.request.sendall(part)  # the timeout is for each of these
            sent += len(part)
        return True

    def _part(self) -> bool:
        """Let the client read to the end before the connection is closed; False where it broke off."""
        try:
            self.request.shutdown(socket.SHUT_WR)
            return _drained(self.request)
        except OSError:
            return False


def _read_head(connection: socket.socket) -> bytes | None:
    """A request up to its empty line; None where it is too long, takes too long, or ends before."""
    head, until = b"", time.monotonic() + _HEAD_S
    while b"\r\n\r\n" not in head:
        left = until - time.monotonic()
        if left <= 0 or len(head) > _HEAD_BYTES:
            return None
        connection.settimeout(left)
        try:
            more = connection.recv(4096)
        except TimeoutError:
            return None
        if not more:
            return None
        head += more
    return head.partition(b"\r\n\r\n")[0]


def _drained(connection: socket.socket) -> bool:
    """Read what is left until the client closes, or for some seconds; True unless it broke off."""
    until = time.monotonic() + _FAREWELL_S
    while (left := until - time.monotonic()) > 0:
        connection.settimeout(left)
        try:
            if not connection.recv(4096):
                return True
        except TimeoutError:
            break
    return True


def _listen(port: int) -> _Listener:
    try:
        return _Listener(port)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise MgpuTraceError(
                Diagnostic(
                    catalogue.PORT_REFUSED,
                    f"port {port} of {LOOPBACK} cannot be had: {error.strerror}",
                    hint="ports below 1024 belong to root; the viewer takes port 9001",
                )
            ) from None
    holder = holder_of(port)
    raise MgpuTraceError(
        Diagnostic(
            catalogue.PORT_TAKEN,
            f"port {port} of {LOOPBACK} is taken{f' by {holder}' if holder else ''}",
            hint="end that, or look at it offline on another port: --offline --port 0",
        )
    )
