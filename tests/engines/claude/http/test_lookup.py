"""A name is looked up once for all who want it at the same time."""

import asyncio

import pytest
from raw_server import until

from turnlog.engines.claude.http.lookup import Lookup


class Names:
    """They answer when the test says so."""

    def __init__(self):
        self.looks, self.answer = 0, asyncio.Event()
        self.places = [("there",)]

    async def resolve(self):
        self.looks += 1
        await self.answer.wait()
        if not self.places:
            raise OSError("Nobody knows.")
        return self.places


async def test_all_who_ask_at_once_share_a_look_and_one_who_stops_does_not_stop_it():
    names = Names()
    lookup = Lookup(names.resolve)
    asking = [asyncio.create_task(lookup.places()) for _ in range(5)]
    await until(lambda: names.looks)
    asking[0].cancel()
    names.answer.set()
    found = await asyncio.gather(*asking, return_exceptions=True)
    assert isinstance(found[0], asyncio.CancelledError)
    assert found[1:] == [names.places] * 4
    assert names.looks == 1


async def test_what_leads_nowhere_is_looked_up_again(monkeypatch):
    monkeypatch.setattr("turnlog.engines.claude.http.lookup.HOLDS", 1e6)
    names = Names()
    names.answer.set()
    lookup = Lookup(names.resolve)
    for looks in (1, 2):
        assert await lookup.places() == [("there",)]
        assert await lookup.places() == [("there",)]
        assert names.looks == looks
        lookup.forget()


async def test_a_look_that_finds_nothing_is_told_to_all_and_tried_again():
    names = Names()
    lookup, names.places = Lookup(names.resolve), []
    asking = [asyncio.create_task(lookup.places()) for _ in range(2)]
    names.answer.set()
    found = await asyncio.gather(*asking, return_exceptions=True)
    assert [type(error) for error in found] == [OSError, OSError]
    names.places = [("there",)]
    assert await lookup.places() == names.places


async def test_what_was_found_holds_only_for_a_moment(monkeypatch):
    monkeypatch.setattr("turnlog.engines.claude.http.lookup.HOLDS", -1.0)
    names = Names()
    names.answer.set()
    lookup = Lookup(names.resolve)
    for looks in (1, 2):
        await lookup.places()
        assert names.looks == looks


async def test_what_nobody_waited_for_is_no_error(caplog):
    names = Names()
    lookup, names.places = Lookup(names.resolve), []
    asking = asyncio.create_task(lookup.places())
    await until(lambda: names.looks)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    names.answer.set()
    await until(lambda: lookup._looking is None)
    assert caplog.records == []
