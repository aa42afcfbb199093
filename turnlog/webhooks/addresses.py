"""Which addresses notices may go to, checked on what is really connected to.

A name is looked up once, each address is judged, and the connection goes to one of those: a name
that leads elsewhere a moment later (DNS rebinding) leads nowhere.
"""

import asyncio
import socket
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Any

Address = IPv4Address | IPv6Address
# Addresses that carry another one, by how many bits stand behind it.
_CARRIERS = {
    IPv6Network("64:ff9b::/96"): 0,  # NAT64
    IPv6Network("64:ff9b:1::/48"): 0,
    IPv6Network("2002::/16"): 80,  # 6to4
    IPv6Network("::/96"): 0,  # IPv4-compatible
}


class Refused(OSError):
    """The address is not one that notices may go to."""


def literal(host: str) -> Address | None:
    """The address, where the host is one and no name."""
    try:
        return ip_address(host.partition("%")[0])
    except ValueError:
        return None


def is_public(address: Address) -> bool:
    """Whether it is out in the internet: not here, not in a private network, not special."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public(address.ipv4_mapped)
        for network, behind in _CARRIERS.items():
            if address in network:
                return is_public(IPv4Address((int(address) >> behind) & 0xFFFFFFFF))
        if address.teredo is not None or address.is_site_local:
            return False
    return address.is_global and not address.is_multicast and not address.is_reserved


async def addresses_of(host: str, port: int, *, allow_private: bool) -> list[str]:
    """The addresses that may be connected to. Raises Refused where there is none."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    known = dict.fromkeys(str(each[4][0]).partition("%")[0] for each in found)
    allowed = [each for each in known if allow_private or is_public(ip_address(each))]
    if not allowed:
        raise Refused(f"{host} leads to a private address; see 'allow_private'")
    return allowed


class Resolver:
    """aiohttp's resolver: it hands out judged addresses, so that only those are connected to."""

    def __init__(self, *, allow_private: bool) -> None:
        self._allow_private = allow_private

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[dict[str, Any]]:
        allowed = await addresses_of(host, port, allow_private=self._allow_private)
        return [
            {
                "hostname": host,
                "host": address,
                "port": port,
                "family": socket.AF_INET6 if ":" in address else socket.AF_INET,
                "proto": 0,
                "flags": socket.AI_NUMERICHOST,
            }
            for address in allowed
        ]

    async def close(self) -> None:
        """Nothing is open."""
