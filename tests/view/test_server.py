"""A real server on a real port, asked in every way that is not meant."""

from __future__ import annotations

import contextlib
import http.client
import io
import os
import socket
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from view.support import TRACE, exchange, get, page, serving

from mgpu_trace import MgpuTraceError
from mgpu_trace.view import server as module
from mgpu_trace.view.server import TraceServer

PERFETTO = "https://ui.perfetto.dev"


def test_the_trace_comes_whole_and_then_it_is_over() -> None:
    with serving() as server:
        url = server.url_of(server._pages[0])
        assert url == f"{PERFETTO}/#!/?url=http://127.0.0.1:{server.port}/a.json"
        request = urllib.request.Request(url.partition("url=")[2], headers={"Origin": PERFETTO})
        with urllib.request.urlopen(request) as answer:
            assert answer.read() == TRACE
            assert answer.headers.get_all("Access-Control-Allow-Origin") == [PERFETTO]
            assert answer.headers["Content-Type"] == "application/json"
            assert answer.headers["Cache-Control"] == "no-store"
        assert server.wait(60) == []


def test_every_page_must_be_fetched() -> None:
    pages = [page(name="a.json"), page(b"other", "b.json.gz")]
    with serving(*pages) as server:
        assert exchange(server, get("/a.json", server))[2] == TRACE
        assert server.wait(0.1) == [pages[1]]
        assert exchange(server, get("/b.json.gz", server))[2] == b"other"
        assert server.wait(60) == []


def test_only_loopback_listens() -> None:
    with serving() as server:
        assert server._listener.socket.getsockname() == ("127.0.0.1", server.port)
        assert server._listener.socket.family == socket.AF_INET


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS"])
def test_asking_about_it_does_not_fetch_it(method: str) -> None:
    with serving() as server:
        status, headers, body = exchange(server, get("/a.json", server, method, Origin=PERFETTO))
        assert status == (200 if method == "HEAD" else 204)
        assert headers["Access-Control-Allow-Origin"] == PERFETTO
        assert body == b""
        assert server.wait(0.1) == server._pages


def test_what_chromium_asks_before_it_lets_the_web_reach_loopback() -> None:
    asked = {"Origin": PERFETTO, "Access_Control_Request_Method": "GET"}
    with serving() as server:
        plain = exchange(server, get("/a.json", server, "OPTIONS", **asked))[1]
        asked["Access_Control_Request_Private_Network"] = "true"
        private = exchange(server, get("/a.json", server, "OPTIONS", **asked))[1]
    assert "Access-Control-Allow-Private-Network" not in plain
    assert private["Access-Control-Allow-Private-Network"] == "true"
    assert "GET" in private["Access-Control-Allow-Methods"]


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "127.0.0.2:{port}",
     "localhost.:{port}",
     "[::1]:{port}", "0.0.0.0:{port}", "", "127.0.0.1:{port}, evil.example", "127.0.0.1:{port}@evil.example"],
)  # fmt: skip
def test_other_hosts_are_refused(host: str) -> None:
    """A name that was pointed at 127.0.0.1 (DNS rebinding) gets nothing."""
    with serving() as server:
        status, headers, body = exchange(
            server, get("/a.json", server, Host=host.format(port=server.port), Origin=PERFETTO)
        )
        assert (status, body) == (403, b"")
        assert "Access-Control-Allow-Origin" not in headers
        assert server.wait(0.1)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "127.0.0.1"])
def test_our_own_names_are_not(host: str) -> None:
    with serving() as server:
        assert exchange(server, get("/a.json", server, Host=f"{host}:{server.port}"))[0] == 200


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "https://evil.example"}, {"Origin": "null"}, {"Origin": "http://ui.perfetto.dev"},
     {"Origin": "https://ui.perfetto.dev.evil.example"}, {"Origin": "http://127.0.0.1:1"},
     {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Dest": "script"}, {"Sec_Fetch_Site": "same-site"}],
)  # fmt: skip
def test_other_pages_get_nothing(headers: dict[str, str]) -> None:
    with serving() as server:
        status, found, body = exchange(server, get("/a.json", server, **headers))
        assert (status, body) == (403, b"")
        assert "Access-Control-Allow-Origin" not in found


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "TRACE", "CONNECT", "PROPFIND"])
def test_other_methods_are_refused(method: str) -> None:
    with serving() as server:
        status, headers, body = exchange(server, get("/a.json", server, method) + b"x" * 100)
        assert (status, body) == (405, b"")
        assert headers["Allow"] == "GET, HEAD, OPTIONS"


PATHS = [
    "/", "/b.json", "//a.json", "/a.json/", "/./a.json", "/a.json?x", "/a.json%00", "/%61.json", "/a.json#f",
    "/../a.json", "/..%2fa.json", "/%2e%2e/etc/passwd", "/../../../../etc/passwd", "/..\\..\\etc\\passwd",
    "/%252e%252e/etc/passwd", "/..%c0%afetc/passwd", "/etc/passwd", "file:///etc/passwd", "*", "a.json",
    "http://127.0.0.1/a.json", "http://evil.example/a.json", "/proc/self/environ", "/A.JSON",
]  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_other_paths_are_refused(path: str) -> None:
    with serving() as server:
        status, headers, body = exchange(server, get(path, server))
        assert (status, body) == (404, b"")
        assert headers["Content-Length"] == "0"


@pytest.mark.parametrize("path", [p for p in PATHS if p != "/"])
def test_the_offline_ui_has_no_other_paths_either(path: str, tmp_path: Path) -> None:
    index = tmp_path / "index.html"
    index.write_text("the UI")
    (tmp_path / "secret.html").write_text("secret")
    with serving(page(name="t.json"), ui={"/": index, "/index.html": index}) as server:
        assert exchange(server, get("/", server))[2] == b"the UI"
        assert exchange(server, get("/index.html?v=1", server))[2] == b"the UI"
        for asked in (path, "/secret.html", "/index.html/../secret.html", f"/{tmp_path}/secret.html"):
            assert exchange(server, get(asked, server))[0] == 404


def test_the_offline_ui_speaks_to_us_alone(tmp_path: Path) -> None:
    index = tmp_path / "index.html"
    index.write_text("the UI")
    with serving(ui={"/": index}) as server:
        assert server.url_of(server._pages[0]).startswith(f"http://127.0.0.1:{server.port}/#!/?url=")
        policy = exchange(server, get("/", server))[1]["Content-Security-Policy"]
    assert policy.startswith("default-src 'self'")
    assert "http" not in policy
    assert "*" not in policy


def test_the_offline_ui_is_served_a_while_longer(tmp_path: Path) -> None:
    index = tmp_path / "index.html"
    index.write_text("the UI")
    with serving(ui={"/": index}, settle_s=1.0) as server:
        exchange(server, get("/a.json", server))
        waiting = threading.Thread(target=server.wait, args=(60,))
        waiting.start()
        assert exchange(server, get("/", server))[0] == 200
        waiting.join(30)
        assert not waiting.is_alive()


BROKEN = [
    b"", b"\r\n\r\n", b"GET\r\n\r\n", b"GET /a.json\r\n\r\n", b"GET /a.json HTTP/0.9\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\r\n\r\n",
    b"GET  /a.json HTTP/1.1\r\nHost: H\r\n\r\n", b"get /a.json HTTP/1.1\r\nHost: H\r\n\r\n",
    b"GET /a.json HTTP/1.1\nHost: H\n\n", b"GET /a.json HTTP/1.1\r\nHost: H\r\nHost: H\r\n\r\n",
    b"GET /a.json HTTP/1.1\r\nHost: H\r\n folded\r\n\r\n", b"GET /a.json HTTP/1.1\r\nHost : H\r\n\r\n",
    b"GET /a.json HTTP/1.1\r\nHost: H\r\nnonsense\r\n\r\n", b"GET /a.json HTTP/2.0\r\nHost: H\r\n\r\n",
    b"GET /a\x00.json HTTP/1.1\r\nHost: H\r\n\r\n", "GET /ä.json HTTP/1.1\r\nHost: H\r\n\r\n".encode(),
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"GET /a.json HTTP/1.1\r\nHost: H", b"x" * 100_000,
    b"GET /" + b"a" * 10_000 + b" HTTP/1.1\r\nHost: H\r\n\r\n",
    b"GET /a.json HTTP/1.1\r\nHost: H\r\n" + b"A: b\r\n" * 9_000 + b"\r\n",
]  # fmt: skip


@pytest.mark.parametrize("sent", BROKEN, ids=range(len(BROKEN)))
def test_what_is_no_request_gets_none_of_it(sent: bytes) -> None:
    with serving() as server:
        host = f"127.0.0.1:{server.port}".encode()
        try:
            status, _, body = exchange(server, sent.replace(b"Host: H", b"Host: " + host))
        except ConnectionError:  # what was sent beyond the limit is thrown back
            status, body = 400, b""
        assert (status, body) == (400, b"")
        assert exchange(server, get("/a.json", server))[0] == 200


TOKENS = st.sampled_from(
    ["GET", "HEAD", " ", "  ", "/", "/a.json", "..", "%2e", "%2F", "HTTP/1.1", "HTTP/1.0", "\r\n", "\n", "\0",
     "Host:", "127.0.0.1", "localhost", "Origin: null", "http://", "?", "#", "é", "x" * 5000]
)  # fmt: skip


@given(st.lists(TOKENS | st.text(max_size=4), max_size=12), st.booleans())
def test_only_the_one_path_gives_the_trace(tokens: list[str], with_host: bool) -> None:
    """Whatever stands in the first line: the whole trace for exactly that path, or nothing of it."""
    first = "".join(tokens)
    with serving() as server:
        host = f"\r\nHost: 127.0.0.1:{server.port}" if with_host else ""
        sent = f"{first}{host}\r\n\r\n".encode("utf-8", "replace")
        try:
            status, _, body = exchange(server, sent)
        except ConnectionError:
            return
        granted = with_host and first in ("GET /a.json HTTP/1.1", "GET /a.json HTTP/1.0")
        assert status in (
            (200,) if granted else (400, 403, 404, 405) if first[:4] != "HEAD" else (200, 400, 403, 404)
        )
        assert body == (TRACE if granted else b"")


def test_a_slow_client_is_sent_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_HEAD_S", 0.3)
    with serving() as server, socket.create_connection(("127.0.0.1", server.port), timeout=30) as slow:
        slow.sendall(b"GET /a.json HTTP/1.1\r\n")
        assert slow.recv(1000).startswith(b"HTTP/1.1 400 ")
        assert exchange(server, get("/a.json", server))[0] == 200


def test_a_client_that_takes_nothing_is_sent_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_STALL_S", 0.3)
    with serving(page(bytes(50_000_000))) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as stuck:
            stuck.sendall(get("/a.json", server))
            assert server.wait(0.5) == server._pages
        assert len(exchange(server, get("/a.json", server))[2]) == 50_000_000
        assert server.wait(60) == []


def test_a_client_that_breaks_off_has_not_fetched_it() -> None:
    with serving(page(bytes(1000))) as server:
        broken = socket.create_connection(("127.0.0.1", server.port))
        broken.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # closes with a reset
        broken.sendall(get("/a.json", server))
        assert broken.recv(10)
        broken.close()
        assert server.wait(0.3) == server._pages


def test_many_idle_connections_end_none_but_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_HEAD_S", 1.0)
    with serving() as server, contextlib.ExitStack() as opened:
        for _ in range(200):
            with contextlib.suppress(OSError):
                opened.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=5))
        assert threading.active_count() < 100
        status = 0
        for _ in range(100):  # until the first of them have had their time
            with contextlib.suppress(OSError):
                status = exchange(server, get("/a.json", server))[0]
            if status:
                break
            time.sleep(0.2)
        assert status == 200
        assert server.wait(60) == []


def test_a_file_that_became_shorter_is_not_passed_off_as_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(TRACE)
    from mgpu_trace.view.page import Page

    with open(path, "rb", buffering=0) as file, serving(Page("a.json", file)) as server:
        os.truncate(path, 1000)
        with pytest.raises(http.client.IncompleteRead):
            urllib.request.urlopen(f"http://127.0.0.1:{server.port}/a.json").read()
        assert server.wait(0.1)


def test_a_fault_of_ours_is_not_lost() -> None:
    class Broken(io.BytesIO):
        def read(self, n: int | None = -1) -> bytes:
            raise ZeroDivisionError

    from mgpu_trace.view.page import Page

    with serving(Page("a.json", Broken(b"x"))) as server:
        with contextlib.suppress(OSError, http.client.HTTPException):
            urllib.request.urlopen(f"http://127.0.0.1:{server.port}/a.json").read()
        with pytest.raises(ZeroDivisionError):
            server.wait(60)


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    with serving() as server:
        for sent in (get("/a.json", server), get("/no", server), b"x\r\n\r\n"):
            exchange(server, sent)
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"http://127.0.0.1:{server.port}/no")
        refused.value.close()
    assert capfd.readouterr() == ("", "")


def test_a_port_that_is_taken_is_said_by_whom() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(MgpuTraceError, match=rf"MGT609.*port {port} .* taken") as error:
            TraceServer(port)
    if os.path.exists("/proc/net/tcp"):
        assert f"process {os.getpid()} (" in error.value.diagnostic.message


def test_a_port_can_be_had_again_at_once() -> None:
    with serving() as server:
        port = server.port
        urllib.request.urlopen(
            f"http://127.0.0.1:{port}/a.json"
        ).read()  # which we close first, not the client
    with TraceServer(port) as again:
        again.start([page()])
        assert exchange(again, get("/a.json", again))[0] == 200


def test_a_port_that_is_not_ours_to_have() -> None:
    class Denied(module._Listener):
        def server_bind(self) -> None:
            raise PermissionError(13, "Permission denied")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_Listener", Denied)
        with pytest.raises(MgpuTraceError, match=r"MGT614.*port 80 .*Permission denied"):
            TraceServer(80)
