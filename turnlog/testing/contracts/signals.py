"""What every Bus promises of signals. BusContract has it."""

from msgspec.structs import replace

from turnlog.ports import Decided, Signal, Stop
from turnlog.testing import samples as s
from turnlog.testing.shown_turns import Connected, Heard, deaf

STOP = Stop("t")
GO = Decided("t", s.decision("a"))
LONG = Decided("t", replace(GO.event, reason="ü€😀" * 30_000))


class SignalContract:
    """They reach every process; they may get lost, and harm nothing else."""

    async def test_a_signal_reaches_every_process_and_the_one_that_gave_it(
        self, connected: Connected
    ) -> None:
        here, there = Heard(), Heard()
        bus, _ = await connected(here), await connected(there)
        told: list[tuple[str, Signal]] = [("s", STOP), ("other", "wake"), ("s", GO), ("s", "stop")]
        for session_id, signal in told:
            bus.signal(session_id, signal)
        for heard in (here, there):
            assert [await heard.next() for _ in told] == told

    async def test_a_long_signal_comes_whole_and_in_its_place(self, connected: Connected) -> None:
        """With changed arguments a decision is as long as a person likes."""
        there = Heard()
        bus, _ = await connected(deaf), await connected(there)
        told: list[Signal] = [GO, LONG, LONG, STOP]
        for signal in told:
            bus.signal("s", signal)
        assert [(await there.next())[1] for _ in told] == told
        assert bus.away is None

    async def test_a_process_that_has_closed_hears_nothing(self, connected: Connected) -> None:
        here, there = Heard(), Heard()
        bus, closed = await connected(here), await connected(there)
        await closed.close()
        bus.signal("s", STOP)
        assert await here.next() == ("s", STOP)
        again = await connected(there)
        again.signal("s", "wake")
        assert await there.next() == ("s", "wake")
