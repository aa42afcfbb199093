"""What every Bus promises of signals. BusContract has it."""

from msgspec.structs import replace

from turnlog.ports import Decided
from turnlog.testing import samples as s
from turnlog.testing.shown_turns import Connected, Heard, deaf

GO = Decided("t", s.decision("a"))
LONG = Decided("t", replace(GO.event, reason="x" * 100_000))


class SignalContract:
    """They reach every process; they may get lost, and harm nothing else."""

    async def test_a_signal_reaches_every_process_and_the_one_that_gave_it(
        self, connected: Connected
    ) -> None:
        here, there = Heard(), Heard()
        bus, _ = await connected(here), await connected(there)
        bus.signal("s", "stop")
        bus.signal("other", "wake")
        bus.signal("s", GO)
        told = [("s", "stop"), ("other", "wake"), ("s", GO)]
        for heard in (here, there):
            assert [await heard.next() for _ in told] == told

    async def test_a_signal_that_is_too_long_holds_up_no_other(self, connected: Connected) -> None:
        there = Heard()
        bus, _ = await connected(deaf), await connected(there)
        bus.signal("s", LONG)
        bus.signal("s", "stop")
        while await there.next() != ("s", "stop"):
            pass  # some buses bring it
        assert bus.away is None

    async def test_a_process_that_has_closed_hears_nothing(self, connected: Connected) -> None:
        here, there = Heard(), Heard()
        bus, closed = await connected(here), await connected(there)
        await closed.close()
        bus.signal("s", "stop")
        assert await here.next() == ("s", "stop")
        again = await connected(there)
        again.signal("s", "wake")
        assert await there.next() == ("s", "wake")
