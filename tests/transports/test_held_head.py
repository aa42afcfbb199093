"""The head of an answer goes out with its body, or when the loop comes round."""

import asyncio
from types import SimpleNamespace

from turnlog.transports.http.serving.held_head import HeldHead


class Transport:
    def __init__(self):
        self.sends, self.closing = [], False

    def write(self, data):
        self.sends.append(data)

    def writelines(self, parts):
        self.sends.append(b"".join(parts))

    def is_closing(self):
        return self.closing

    def close(self):
        self.closing = True


def held():
    transport = Transport()
    cycle = SimpleNamespace(transport=transport)
    HeldHead(cycle)
    return transport, cycle


async def test_the_head_goes_with_the_first_part_of_the_body():
    transport, cycle = held()
    for part in (b"head ", b"body", b"more"):
        cycle.transport.write(part)
    await asyncio.sleep(0)
    assert transport.sends == [b"head body", b"more"]
    assert cycle.transport is transport


async def test_a_head_without_a_body_goes_when_the_loop_comes_round():
    transport, cycle = held()
    cycle.transport.write(b"head")
    assert transport.sends == []
    await asyncio.sleep(0)
    assert transport.sends == [b"head"] and cycle.transport is transport


async def test_an_empty_body_lets_the_head_go_too():
    transport, cycle = held()
    cycle.transport.write(b"head")
    cycle.transport.write(b"")
    assert transport.sends == [b"head"]


async def test_what_is_closed_is_sent_before():
    transport, cycle = held()
    cycle.transport.write(b"head")
    cycle.transport.close()
    assert transport.sends == [b"head"] and transport.closing


async def test_nothing_is_written_where_the_client_has_gone():
    transport, cycle = held()
    cycle.transport.write(b"head")
    transport.closing = True
    assert cycle.transport.is_closing()
    await asyncio.sleep(0)
    assert transport.sends == []
