"""Which URLs and addresses a webhook may have: those on the public internet."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from urllib.parse import SplitResult, urlsplit

# IANA's registries of special-purpose addresses, multicast, and 240/4. The library's own `is_global`
# changes with Python's patch releases.
_NOT_PUBLIC_V4 = tuple(
    IPv4Network(one)
    for one in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",  # metadata of most clouds
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
        "168.63.129.16/32",  # Azure's platform, reachable from within its machines
    )
)
_GLOBAL_UNICAST_V6 = IPv6Network("2000::/3")
# 2002::/16 is 6to4, whose addresses name an IPv4 relay; 2001::/23 holds Teredo.
_NOT_PUBLIC_V6 = tuple(
    IPv6Network(one) for one in ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
)
_NAT64 = IPv6Network("64:ff9b::/96")
_LOW_32_BITS = 0xFFFF_FFFF

NOT_PUBLIC = "must lead to the public internet"
"""What `url_problem` says of private targets."""

_HTTPS_PORT = 443
_FIRST_FREE_PORT = 1024
_PRINTABLE = re.compile(r"[!-~]+")
# Up to 253 characters in labels of up to 63. A number as the last label would make it an address in a
# spelling that only some programs read.
_LABEL = "[a-z0-9_-]{1,63}"
_NAME = re.compile(rf"(?=.{{1,253}}\.?$)({_LABEL}\.)*(?!(0x[0-9a-f]*|[0-9]+)\.?$){_LABEL}\.?")
_PRIVATE_NAMES = ("localhost", "local", "internal", "lan", "home.arpa")


def is_public(address: str) -> bool:
    """Whether an IP address, as text, is one that anybody on the internet would reach.

    An IPv4 address within an IPv6 one (mapped, NAT64) counts as what it is. What is no address is not
    public.
    """
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, IPv4Address):
        return not any(parsed in network for network in _NOT_PUBLIC_V4)
    embedded = _embedded(parsed)
    if embedded is not None:
        return is_public(str(embedded))
    return parsed in _GLOBAL_UNICAST_V6 and not any(parsed in net for net in _NOT_PUBLIC_V6)


def url_problem(url: str, *, allow_private: bool = False) -> str | None:
    """What is wrong with a URL, as far as it can be said without looking its name up; None if nothing.

    With `allow_private`, http, any port and any address will do.
    """
    try:
        if _PRINTABLE.fullmatch(url) is None or "\\" in url:
            return "must consist of printable ASCII characters"
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "is not a URL"
    return _shape_problem(parts) or (None if allow_private else _target_problem(parts, port))


def _shape_problem(parts: SplitResult) -> str | None:
    host = parts.hostname or ""
    if parts.scheme not in {"http", "https"} or not (_is_address(host) or _NAME.fullmatch(host)):
        return "must be an https URL with a host"
    if parts.username is not None or parts.password is not None:
        return "must not contain credentials"
    if parts.fragment:
        return "must not have a fragment"
    return None


def _target_problem(parts: SplitResult, port: int | None) -> str | None:
    if parts.scheme != "https":
        return "must begin with https://"
    if port is not None and port != _HTTPS_PORT and port < _FIRST_FREE_PORT:
        return "must use port 443, or one from 1024"
    host = (parts.hostname or "").rstrip(".")
    if any(host == name or host.endswith(f".{name}") for name in _PRIVATE_NAMES):
        return NOT_PUBLIC
    return NOT_PUBLIC if _is_address(host) and not is_public(host) else None


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _embedded(address: IPv6Address) -> IPv4Address | None:
    if address in _NAT64:
        return IPv4Address(int(address) & _LOW_32_BITS)
    return address.ipv4_mapped
