"""Reads IP addresses as clients and proxies write them, so that one visitor has one rate limit."""

from __future__ import annotations

from ipaddress import IPv6Address, IPv6Network, ip_address

LONGEST = 64
"""Characters of a text that is no IP address, such as `unknown`."""
SITE = 64
"""Bits of an IPv6 address that its owner cannot choose. A household has a /64 or more: RFC 6177."""


def address_in(text: str) -> str:
    """Return the IP address in its usual spelling, without brackets, port and zone.

    An IPv4 address that is written as an IPv6 address (RFC 4291, 2.5.5.2) becomes an IPv4 address.
    A text that is no address is returned in lower case and cut.
    """
    text = text.strip().strip('"').lower()
    host = text
    if host.startswith("["):
        host = host[1:].partition("]")[0]
    elif host.count(":") == 1:
        host = host.partition(":")[0]
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return text[:LONGEST]
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    return str(address)


def network_of(address: str) -> str:
    """Return the network that a rate limit counts: the /64 of an IPv6 address, else the address.

    One client can use any address of its /64.
    """
    if ":" not in address:
        return address
    try:
        return str(IPv6Network((address, SITE), strict=False))
    except ValueError:
        return address
