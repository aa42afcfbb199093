"""The way to a server: which address, through which proxy, and whose certificates are trusted."""

import asyncio
import base64
import re
import socket
import ssl
from typing import NamedTuple
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from aiohappyeyeballs import start_connection

from turnlog.engines.claude.http.exchange import Exchange
from turnlog.engines.claude.http.framing import Broken
from turnlog.engines.claude.http.head import fields
from turnlog.engines.claude.http.lookup import Lookup, Places
from turnlog.engines.claude.http.pool import Link
from turnlog.errors import ConfigError
from turnlog.net import is_on_loopback

CONNECTS_WITHIN = 10.0  # seconds
PROXIES = "The proxy of the environment (HTTPS_PROXY, HTTP_PROXY or ALL_PROXY)"
NEXT_ADDRESS = 0.25  # seconds after which the next address of a name is tried beside the first
PORTS = {"http": 80, "https": 443}
# A peer that went without a word is noticed in 90 seconds, also while a long prompt is read and
# nothing has to come. In seconds, and milliseconds; what a system does not have is left out.
WATCHED = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 6, "TCP_USER_TIMEOUT": 90_000}
_PLAIN = re.compile(r"[!-~]*")  # what may stand in the first line of a request


class Address(NamedTuple):
    """Where something listens."""

    scheme: str
    host: str
    port: int
    path: str
    user: str | None  # with the password, as it stands in the URL

    @property
    def is_secure(self) -> bool:
        return self.scheme == "https"

    @property
    def place(self) -> str:
        """With the port: what a proxy is asked for."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def name(self) -> str:
        """What the server is told about where it is."""
        return self.place.removesuffix(f":{PORTS[self.scheme]}")


def address_of(url: str, what: str) -> Address:
    """`what`: of which setting. Raises ConfigError, which does not tell a password."""
    try:
        parts = urlsplit(url)
        host, path = parts.hostname or "", parts.path.rstrip("/")
        host = host.encode("idna").decode()  # also of plain letters: a name may have no empty part
        port = parts.port or PORTS.get(parts.scheme)
    except ValueError as error:
        raise ConfigError(
            f"{what} is no address: write https://host or http://host:port."
        ) from error
    is_plain = _PLAIN.fullmatch(host + path) and not parts.query and not parts.fragment
    if parts.scheme not in PORTS or port is None or not host or not is_plain:
        raise ConfigError(f"{what} is no address of HTTP: write https://host or http://host:port.")
    user = parts.netloc.rpartition("@")[0] or None
    return Address(parts.scheme, host, port, path, user)


def proxy_to(url: str) -> str | None:
    """As the environment says (HTTPS_PROXY, NO_PROXY), but no proxy leads to this machine."""
    address = urlsplit(url)
    if is_on_loopback(url) or proxy_bypass(address.hostname or ""):
        return None
    proxies = getproxies()
    proxy = proxies.get(address.scheme) or proxies.get("all")
    return f"http://{proxy}" if proxy and "://" not in proxy else proxy


class Route:
    """Straight to the server, or through the proxy that the environment names."""

    def __init__(self, url: str) -> None:
        """Raises ConfigError."""
        self._target = address_of(url, "ANTHROPIC_BASE_URL")
        if self._target.user is not None:
            raise ConfigError("ANTHROPIC_BASE_URL has a user in it: the key is all that is sent.")
        proxy = proxy_to(url)
        self._proxy = address_of(proxy, PROXIES) if proxy else None
        self._lookup = Lookup(self._resolve)
        self._trust: ssl.SSLContext | None = None

    @property
    def tunnels(self) -> bool:
        """Whether the proxy only sees that something is said."""
        return self._proxy is not None and self._target.is_secure

    @property
    def host(self) -> str:
        return self._target.name

    @property
    def prefix(self) -> str:
        """Of the path of every request."""
        if self._proxy is None or self.tunnels:
            return self._target.path
        return f"http://{self._target.name}{self._target.path}"

    @property
    def headers(self) -> dict[str, str]:
        """That the proxy wants with every request."""
        return {} if self.tunnels else self._sign_in()

    async def connect(self) -> Link:
        """A new connection to the server. Raises ConnectionError, which says where."""
        if self._trust is None and (
            self._target.is_secure or (self._proxy or self._target).is_secure
        ):
            self._trust = await asyncio.to_thread(certificates)
        place = f"the proxy {self._proxy.place}" if self._proxy else self._target.place
        try:
            async with asyncio.timeout(CONNECTS_WITHIN):
                connection = await self._reach(self._proxy or self._target)
                if not self.tunnels:
                    return connection
                place = f"{self._target.place} through {place}"
                return await self._through(connection)
        except (OSError, Broken) as error:
            raise ConnectionError(f"No connection to {place}: {error!r}") from error

    async def _reach(self, address: Address) -> Link:
        loop = asyncio.get_running_loop()
        secure = address.is_secure
        try:
            sock = await start_connection(
                await self._lookup.places(),
                happy_eyeballs_delay=NEXT_ADDRESS,
                interleave=1,
                loop=loop,
            )
        except OSError:
            self._lookup.forget()
            raise
        connection = Link()
        try:
            _prepare(sock)
            await loop.create_connection(
                lambda: connection,
                sock=sock,
                ssl=self._trust if secure else None,
                server_hostname=address.host if secure else None,
            )
        except BaseException:
            if connection.is_made:  # the socket is the transport's, who tells the loop first
                connection.transport.abort()
            else:
                sock.close()
            raise
        return connection

    async def _resolve(self) -> Places:
        loop, first = asyncio.get_running_loop(), self._proxy or self._target
        return [*await loop.getaddrinfo(first.host, first.port, type=socket.SOCK_STREAM)]

    async def _through(self, connection: Link) -> Link:
        try:
            return await self._secured(connection)
        except BaseException:
            connection.transport.abort()
            raise

    async def _secured(self, connection: Link) -> Link:
        """The proxy connects to the server. What is said then is not for the proxy."""
        transport, place = connection.transport, self._target.place
        exchange = connection.exchange = Exchange(transport, self)
        lines = fields({"host": place, **self._sign_in()})
        transport.write(b"CONNECT %b HTTP/1.1\r\n%b\r\n" % (place.encode(), lines))
        head = await exchange.head()
        if not 200 <= head.status < 300:
            raise ConnectionRefusedError(f"The proxy answered {head.status}.")
        if exchange.has_more:
            raise ConnectionRefusedError("The proxy said more than it was asked.")
        assert self._trust is not None
        connection.exchange = None
        secured = await asyncio.get_running_loop().start_tls(
            transport, connection, self._trust, server_hostname=self._target.host
        )
        if secured is None:
            raise ConnectionAbortedError("The connection was lost while it was secured.")
        connection.transport = secured
        return connection

    def take_back(self, exchange: Exchange, *, is_kept: bool) -> None:
        """A proxy that did not answer."""
        exchange.transport.abort()

    def _sign_in(self) -> dict[str, str]:
        if self._proxy is None or self._proxy.user is None:
            return {}
        signed = base64.b64encode(unquote(self._proxy.user).encode()).decode()
        return {"proxy-authorization": f"Basic {signed}"}


def _prepare(sock: socket.socket) -> None:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in WATCHED.items():
        if (option := getattr(socket, name, None)) is not None:
            sock.setsockopt(socket.IPPROTO_TCP, option, value)


def certificates() -> ssl.SSLContext:
    """Those of this machine, and those that Mozilla trusts: a small image has none of its own."""
    import certifi

    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    context.set_alpn_protocols(["http/1.1"])
    return context
