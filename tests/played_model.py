"""A Model that plays streams of the API from memory, one raw event after the other."""

from own_model import OwnModel

from turnlog import Agent, Settings, create_app
from turnlog.engines.claude.stream import Call
from turnlog.errors import EngineFailed
from turnlog.events.rows.record import stamped
from turnlog.projections.proof import prove
from turnlog.stores.memory.store import MemoryStore
from turnlog.testing import invariants
from turnlog.transports import wire


class PlayedModel(OwnModel):
    """Each call plays the next stream; in a team, the next one of whoever is asked.

    `pause` is called and awaited after each event that says something.
    """

    def __init__(self, *streams, team=None, pause=None):
        """`team`: streams by system prompt."""
        self._streams = iter(streams)
        self._team = {prompt: iter(own) for prompt, own in (team or {}).items()}
        self._pause = pause

    async def call(self, prompt):
        call = Call(clock=lambda: 0.0)
        for raw in next(self._team.get(prompt.system, self._streams)):
            if outputs := call.feed([raw]):
                yield outputs
                if self._pause is not None and not call.finished:
                    await self._pause(prompt)
            if call.failure:
                raise call.failure
        if not call.finished:
            raise EngineFailed("stream_cut", "It was cut.", retryable=True)


async def played(stream):
    """What was shown live, and what a reload returns, both as the wire has them."""
    store = MemoryStore()
    settings, model = Settings(max_calls=1), PlayedModel(stream)
    async with (app := create_app([Agent("a")], settings=settings, store=store, engine=model)):
        result = await app.run_turn("Go")
        evidence = await store.evidence(result.session_id)
    kept = [stamped(row) for row in evidence.log]
    live, log = (
        [wire.decode(wire.encode(entry)) for entry in events if not entry.envelope.internal]
        for events in (result.events, kept)
    )
    assert [*prove(evidence).problems, *invariants.broken(live, log)] == []
    return live, log
