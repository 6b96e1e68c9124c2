"""Notations of IP addresses, and the address or network that the rate limits count."""

from __future__ import annotations

import pytest

from kefu.chat.admission import network_of
from kefu.web.caller import LONGEST, address_in

SPELLINGS = [
    # text, address, counted address or network
    ("198.51.100.7", "198.51.100.7", "198.51.100.7"),
    (" 198.51.100.7 ", "198.51.100.7", "198.51.100.7"),
    ("198.51.100.7:4001", "198.51.100.7", "198.51.100.7"),
    ('"198.51.100.7:4001"', "198.51.100.7", "198.51.100.7"),
    ("::ffff:198.51.100.7", "198.51.100.7", "198.51.100.7"),
    ("[::FFFF:c633:6407]:443", "198.51.100.7", "198.51.100.7"),
    ("2001:db8::1", "2001:db8::1", "2001:db8::/64"),
    ("2001:0DB8:0000::0001", "2001:db8::1", "2001:db8::/64"),
    ("[2001:db8::1]", "2001:db8::1", "2001:db8::/64"),
    ("[2001:db8::1]:443", "2001:db8::1", "2001:db8::/64"),
    ("2001:db8::abcd:1:2:3", "2001:db8::abcd:1:2:3", "2001:db8::/64"),
    ("2001:db8:0:1::1", "2001:db8:0:1::1", "2001:db8:0:1::/64"),
    ("fe80::1%eth0", "fe80::1", "fe80::/64"),
    ("::1", "::1", "::/64"),
    ("unknown", "unknown", "unknown"),
    ("_Hidden", "_hidden", "_hidden"),
    ("", "", ""),
    ("1.2.3", "1.2.3", "1.2.3"),
    ("1.2.3.4.5:6", "1.2.3.4.5:6", "1.2.3.4.5:6"),
    ("[2001:db8::1", "2001:db8::1", "2001:db8::/64"),
    ("[", "[", "["),
    ("x" * 1000, "x" * LONGEST, "x" * LONGEST),
]


@pytest.mark.parametrize(("text", "address", "counted"), SPELLINGS)
def test_t3_spellings_of_one_address_are_one_bucket(text: str, address: str, counted: str) -> None:
    assert address_in(text) == address
    assert network_of(address) == counted
    assert address_in(address) == address
