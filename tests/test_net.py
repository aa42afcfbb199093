"""Addresses on this machine, waits between tries, and reads with a bound."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from turnlog.net import (
    TooMuch,
    back_off,
    is_on_loopback,
    keeps_secrets,
    read_bounded,
    seconds_asked,
    spread,
)


async def pieces(*sizes):
    for size in sizes:
        yield b"x" * size


# fmt: off
ADDRESSES = [  # the address, whether it is on this machine, whether a secret may be sent there
    ("http://127.0.0.1:8000/a",       True,  True),
    ("http://localhost",              True,  True),
    ("http://[::1]:1",                True,  True),
    ("https://api.example.com",       False, True),
    ("http://api.example.com",        False, False),
    ("http://127.0.0.1.example.com",  False, False),
    ("http://localhost@example.com",  False, False),
    ("http://example.com#@localhost", False, False),
    ("ftp://localhost",               True,  False),
    ("https://",                      False, False),
    ("localhost",                     False, False),
    ("",                              False, False),
]
# fmt: on


@pytest.mark.parametrize(("url", "here", "safe"), ADDRESSES, ids=[row[0] for row in ADDRESSES])
def test_an_address_is_on_this_machine_or_not_and_safe_for_secrets_or_not(url, here, safe):
    assert (is_on_loopback(url), keeps_secrets(url)) == (here, safe)


def test_what_is_no_address_is_not_safe():
    assert not keeps_secrets("https://[")
    with pytest.raises(ValueError, match="Invalid IPv6"):
        is_on_loopback("https://[")


async def test_what_fits_is_read():
    assert await read_bounded(pieces(3, 0, 4), 7) == b"x" * 7
    assert await read_bounded(pieces(), 0) == b""


async def test_reading_ends_as_soon_as_there_is_too_much():
    async def endless():
        while True:
            yield b"xx"

    with pytest.raises(TooMuch, match="more than 7 bytes"):
        await read_bounded(endless(), 7)


def test_waits_are_doubled_up_to_the_longest():
    assert [back_off(tried, 0.5, 3.0) for tried in (1, 2, 3, 4, 5000)] == [0.5, 1.0, 2.0, 3.0, 3.0]


def test_a_wait_is_spread_by_a_quarter_at_most():
    waits = {spread(4.0) for _ in range(100)}
    assert len(waits) > 1
    assert all(3.0 <= wait <= 4.0 for wait in waits)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("2", 2.0), ("0.5", 0.5), ("-5", 0.0), ("nan", None), ("inf", None), ("soon", None),
     ("", None), (None, None), ("Mon, 01 Jan 2001 00:00:00 GMT", 0.0),
     ("Mon, 01 Jan 2001 00:00:00 -9999999999999", None)],
)  # fmt: skip
def test_a_retry_after_header_is_seconds_or_a_date(header, seconds):
    assert seconds_asked(header) == seconds


def test_a_date_that_is_to_come_is_waited_for():
    later = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    assert 3000 < seconds_asked(later) <= 3600
