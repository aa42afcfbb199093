"""A bus that nobody hears but those who follow it."""

import pytest

from turnlog.buses.memory import MemoryBus
from turnlog.testing.shown_turns import deaf
from turnlog.transports import wire


@pytest.fixture
async def bus():
    bus = MemoryBus(wire.encode)
    await bus.open(deaf)
    yield bus
    await bus.close()
