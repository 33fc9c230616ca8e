"""Webhooks lead to the public internet, whatever way an address is written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from src.services.webhook_targets import is_public, url_problem


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.255.255.254", "0.1.2.3", "10.1.2.3", "172.16.0.1", "172.31.255.255"),
        *("192.168.1.1", "169.254.169.254", "100.64.0.1", "100.100.100.200", "168.63.129.16"),
        *("192.0.0.192", "198.18.0.1", "203.0.113.9", "224.0.0.1", "240.0.0.1", "255.255.255.255"),
        *("::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1"),
        *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::1"),
        *("64:ff9b::a9fe:a9fe", "2002:7f00:1::", "2002:808:808::", "2001:0:1::1", "2001:db8::1"),
        *("3fff::1", "100::1", "nobody", "", "127.1", "0x7f.0.0.1", "2130706433"),
    ],
)
def test_an_address_that_is_not_on_the_internet(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        *(
            "8.8.8.8",
            "1.1.1.1",
            "172.15.255.255",
            "172.32.0.1",
            "100.63.255.255",
            "223.255.255.254",
        ),
        *("2606:4700::1111", "2a00:1450::1", "::ffff:8.8.8.8", "64:ff9b::808:808"),
    ],
)
def test_an_address_on_the_internet(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com",
        "https://example.com:8443/hook?token=x",
        "https://Example.COM./hook",
        "https://xn--mnchen-3ya.de/",
        "https://8.8.8.8/",
        "https://[2606:4700::1111]:443/",
        "https://localhost.example.com/",
    ],
)
def test_a_url_that_may_be_used(url: str) -> None:
    assert url_problem(url) is None


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("http://example.com/", "https://"),
        ("ftp://example.com/", "https URL"),
        ("example.com/hook", "https URL"),
        ("https://", "https URL"),
        ("https:///hook", "https URL"),
        ("https://a..b/", "https URL"),
        (f"https://{'a' * 64}.com/", "https URL"),
        (f"https://{'a.' * 127}com/", "https URL"),
        ("https://2130706433/", "https URL"),
        ("https://0x7f.0.0.0x1/", "https URL"),
        ("https://0177.0.0.1./", "https URL"),
        ("https://[::1/", "not a URL"),
        ("https://example.com:70000/", "not a URL"),
        ("https://example.com:x/", "not a URL"),
        ("https://user@example.com/", "credentials"),
        ("https://:pass@example.com/", "credentials"),
        ("https://example.com/#part", "fragment"),
        ("https://example.com:25/", "port"),
        ("https://example.com:80/", "port"),
        ("https://example.com/a b", "ASCII"),
        ("https://münchen.de/", "ASCII"),
        ("https://example.com\\@127.0.0.1/", "ASCII"),
        ("https://example.com/\r\nHost: x", "ASCII"),
        ("", "ASCII"),
        ("https://127.0.0.1/", "public internet"),
        ("https://127.0.0.1./", "https URL"),
        ("https://[::1]/", "public internet"),
        ("https://[::ffff:10.0.0.1]/", "public internet"),
        ("https://169.254.169.254/latest/meta-data", "public internet"),
        ("https://localhost:8443/", "public internet"),
        ("https://metadata.google.internal/", "public internet"),
        ("https://printer.local./", "public internet"),
    ],
)
def test_a_url_that_may_not_be_used(url: str, problem: str) -> None:
    assert problem in (url_problem(url) or "")


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:8000/hook", "https://localhost/", "http://[::1]:80/", "http://crm:25/"],
)
def test_private_targets_may_be_allowed(url: str) -> None:
    assert url_problem(url, allow_private=True) is None


@pytest.mark.parametrize(
    "url", ["ftp://127.0.0.1/", "http://u:p@localhost/", "http://localhost/#x"]
)
def test_what_is_no_url_of_a_webhook_is_not_allowed_with_private_targets(url: str) -> None:
    assert url_problem(url, allow_private=True) is not None


@given(st.text(max_size=60) | st.text(max_size=60).map("https://".__add__))
def test_any_text_gets_an_answer(url: str) -> None:
    url_problem(url)
    is_public(url)
