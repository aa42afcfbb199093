"""The way to a server: TLS with a certificate that is trusted, proxies, addresses that are none."""

import asyncio
import base64
import contextlib
import socket
from contextlib import asynccontextmanager

import pytest
from raw_server import HEAD, LAST, LIMIT, chunk, listening, meeting, until

from turnlog.engines.claude.connection import Api, Unreachable
from turnlog.engines.claude.http import route
from turnlog.engines.claude.http.pool import Link, Silence
from turnlog.engines.claude.http.route import Route
from turnlog.errors import ConfigError

LONG = Silence(600.0, 600.0)
ANSWER = HEAD + chunk(b"hello") + LAST
NAME = "claude.test"  # the certificate's too. No server of names knows it: only a proxy leads there


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


class Proxy:
    """Leads everywhere to one place, and remembers what it was asked."""

    def __init__(self, port):
        self._port = port
        self.heads, self.passed, self.open = [], b"", 0
        self.refuses = b""

    async def meet(self, reader, writer):
        self.open += 1
        try:
            self.heads.append(head := await reader.readuntil(b"\r\n\r\n"))
            if self.refuses:
                writer.write(self.refuses)
                return
            there, to = await asyncio.open_connection("127.0.0.1", self._port)
            if head.startswith(b"CONNECT "):
                writer.write(b"HTTP/1.0 200 Connection established\r\n\r\n")
            else:
                to.write(head)
            await asyncio.gather(self.carry(reader, to), self.carry(there, writer))
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            self.open -= 1
            writer.close()

    async def carry(self, reader, writer):
        try:
            while piece := await reader.read(2**16):
                self.passed += piece
                writer.write(piece)
        except OSError:
            pass
        finally:
            writer.close()


@asynccontextmanager
async def proxy_to(port, monkeypatch, *, user="", tls=None):
    """All requests of this test go through it."""
    proxy = Proxy(port)
    async with meeting(proxy.meet, tls) as port:
        for name in ("HTTP_PROXY", "HTTPS_PROXY"):
            monkeypatch.setenv(name, f"{'https' if tls else 'http'}://{user}127.0.0.1:{port}")
        yield proxy
        await until(lambda: not proxy.open)


async def asked(url, times=1):
    """The bodies of the answers."""
    api, bodies = Api("the-key", url, LONG), []
    try:
        async with asyncio.timeout(LIMIT):
            for _ in range(times):
                response = await api.post("/v1/messages", {}, {})
                bodies.append(await response.read())
                assert await response.read() == b""
                await response.aclose()
    finally:
        await api.close()
    return bodies


# TLS


async def test_a_server_whose_certificate_is_trusted_is_asked(secure, trusted):
    async with listening(ANSWER, ssl=secure) as server:
        assert await asked(f"https://127.0.0.1:{server.port}", 2) == [b"hello"] * 2
        assert [len(caller.requests) for caller in server.callers] == [2]
        await server.is_left()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"], ids=["untrusted", "another name"])
async def test_a_server_that_is_another_learns_nothing(secure, host, monkeypatch, certificate):
    if host == "localhost":
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    async with listening(ANSWER, ssl=secure) as server:
        with pytest.raises(Unreachable, match="certificate"):
            await asked(f"https://{host}:{server.port}")
        assert not any(caller.requests for caller in server.callers)
        await server.is_left()


@asynccontextmanager
async def silent():
    """A server that says nothing; whether somebody came, and whether all have gone."""
    came, gone = asyncio.Event(), asyncio.Event()

    async def listen(reader, writer):
        came.set()
        with contextlib.suppress(OSError):
            await reader.read()
        gone.set()

    async with meeting(listen) as port:
        yield f"https://127.0.0.1:{port}", came, gone


async def test_a_stop_while_connecting_leaves_no_connection_open():
    async with silent() as (url, came, gone), asyncio.timeout(LIMIT):
        connecting = asyncio.create_task(asked(url))
        await came.wait()
        connecting.cancel()
        await asyncio.wait([connecting])
        assert connecting.cancelled()
        await gone.wait()


async def test_a_server_that_lets_us_wait_while_connecting_is_given_up(monkeypatch):
    monkeypatch.setattr(route, "CONNECTS_WITHIN", 0.05)
    async with silent() as (url, came, gone), asyncio.timeout(LIMIT):
        with pytest.raises(Unreachable, match=f"to {url.removeprefix('https://')}: Timeout"):
            await asked(url)
        if came.is_set():  # or the time was up before
            await gone.wait()


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_stop_as_soon_as_a_connection_is_made_harms_no_other(
    secure, trusted, monkeypatch, scheme
):
    """Its socket is not closed beneath the loop, which would take the next for the same."""

    class Stopping(Link):
        def connection_made(self, transport):
            super().connection_made(transport)
            connecting.cancel()

    async with listening(ANSWER, ssl=secure if scheme == "https" else None) as server:
        url = f"{scheme}://127.0.0.1:{server.port}"
        with monkeypatch.context() as patched:
            patched.setattr(route, "Link", Stopping)
            connecting = asyncio.create_task(asked(url))
            await asyncio.wait([connecting])
            assert connecting.cancelled()
        assert await asked(url, 2) == [b"hello"] * 2
        await server.is_left()


# proxies


@pytest.mark.parametrize("is_secure", [False, True], ids=["a plain proxy", "a secure proxy"])
async def test_a_proxy_leads_to_a_server_and_learns_no_key(secure, trusted, monkeypatch, is_secure):
    async with (
        listening(ANSWER, ssl=secure) as server,
        proxy_to(
            server.port, monkeypatch, user="me:p%40ss@", tls=secure if is_secure else None
        ) as proxy,
    ):
        assert await asked(f"https://{NAME}:1234", 2) == [b"hello"] * 2
        assert len(proxy.heads) == 1
        lines = proxy.heads[0].split(b"\r\n")
        signed = base64.b64encode(b"me:p@ss")
        assert lines[0] == b"CONNECT claude.test:1234 HTTP/1.1"
        assert set(lines[1:]) == {
            b"host: claude.test:1234", b"proxy-authorization: Basic " + signed, b"",
        }  # fmt: skip
        assert b"the-key" not in proxy.passed
        requests = [r.lower() for caller in server.callers for r in caller.requests]
        assert len(requests) == 2
        assert all("authorization: bearer the-key" in request for request in requests)
        assert not any("proxy-authorization" in request for request in requests)


async def test_a_proxy_to_a_plain_server_is_told_the_whole_address(monkeypatch):
    async with (
        listening(ANSWER) as server,
        proxy_to(server.port, monkeypatch, user="me:pass@") as proxy,
    ):
        assert await asked(f"http://{NAME}/claude") == [b"hello"]
        head = proxy.heads[0].decode()
        assert head.startswith(f"POST http://{NAME}/claude/v1/messages HTTP/1.1\r\n")
        assert f"\r\nhost: {NAME}\r\n" in head
        assert "\r\nproxy-authorization: Basic bWU6cGFzcw==\r\n" in head


PLACES = r"to claude\.test:443 through the proxy 127\.0\.0\.1:\d+: "
REFUSALS = {
    "407": b"HTTP/1.1 407 Who are you\r\ncontent-length: 0\r\n\r\n",
    "502": b"HTTP/1.1 502 Bad\r\n\r\n",
    "nothing": b"\r\n",
    "more than was asked": b"HTTP/1.1 200 OK\r\n\r\nmore",
}


@pytest.mark.parametrize("kind", REFUSALS)
async def test_a_proxy_that_refuses_learns_no_key(kind, monkeypatch):
    async with (
        listening() as server,
        proxy_to(server.port, monkeypatch, user="me:secret@") as proxy,
    ):
        proxy.refuses = REFUSALS[kind]
        with pytest.raises(Unreachable, match=PLACES) as told:
            await asked(f"https://{NAME}")
        assert "secret" not in str(told.value)
        assert server.callers == []
        assert b"the-key" not in b"".join(proxy.heads) + proxy.passed


async def test_a_proxy_that_is_not_there_is_named_without_its_password(monkeypatch):
    with socket.socket() as nobody:  # it has a port, and does not listen
        nobody.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{nobody.getsockname()[1]}"
        monkeypatch.setenv("HTTPS_PROXY", f"http://me:secret@{place}")
        with pytest.raises(Unreachable, match=f"to the proxy {place}: ConnectionRefused") as told:
            await asked(f"https://{NAME}")
        assert "secret" not in str(told.value)


# addresses


API, OWN = "https://api.anthropic.com", "http://127.0.0.1:9"


@pytest.mark.parametrize(
    ("url", "bypass", "proxy"),
    [
        (API, "", ("proxy", 3128)),
        (API, "api.anthropic.com", None),
        (OWN, "", None),  # no proxy leads to this machine
    ],
    ids=["by default", "with a bypass", "of this machine"],
)
def test_the_environment_names_the_proxy(monkeypatch, url, bypass, proxy):
    for scheme in ("HTTP", "HTTPS"):
        monkeypatch.setenv(f"{scheme}_PROXY", "proxy:3128")
    monkeypatch.setenv("NO_PROXY", bypass)
    found = Route(url)._proxy
    assert (found and (found.host, found.port)) == proxy


WRONG = {
    "no scheme": "api.anthropic.com",
    "another scheme": "ftp://there",
    "no host": "https://",
    "no port": "https://there:port",
    "a port out of range": "https://there:99999",
    "a space": "https://there/a b",
    "a line": "https://there/a\x00b",
    "another alphabet": "https://there/ü",
    "an empty part of a name": "http://a..b",
    "a query": "https://there/?a=b",
    "a user": "https://me:pass@there",
}


@pytest.mark.parametrize("kind", WRONG)
def test_what_is_no_address_is_refused_with_a_sentence(kind):
    with pytest.raises(ConfigError, match="ANTHROPIC_BASE_URL") as refused:
        Route(WRONG[kind])
    assert "pass" not in str(refused.value)


def test_a_proxy_of_another_kind_is_refused_with_a_sentence(monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "socks5://me:pass@proxy:1080")
    with pytest.raises(ConfigError, match="proxy") as refused:
        Route(API)
    assert "pass" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "host", "place"),
    [
        (API, "api.anthropic.com", "api.anthropic.com:443"),
        ("http://There:8080", "there:8080", "there:8080"),
        ("http://[::1]/x/", "[::1]", "[::1]:80"),
        ("https://bücher.example", "xn--bcher-kva.example", "xn--bcher-kva.example:443"),
    ],
    ids=["default", "port", "ipv6", "alphabet"],
)
def test_the_names_of_an_address(url, host, place):
    found = Route(url)
    assert (found.host, found._target.place) == (host, place)
