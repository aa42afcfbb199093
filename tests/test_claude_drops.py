"""Fields of the API that we do not keep: every row of the table has a reason."""

from turnlog.engines.claude.drops import DROPS, Lost, reason

USES = {
    "a sign of life": Lost(path="ping.mood", values=[1]),
    "names an event": Lost(path="content_block_delta(x).delta.type", values=["x"]),
    "is the block's place": Lost(path="content_block_stop.index", values=[3]),
    "null or empty": Lost(path="message_delta.delta.x", values=[None, "", [], {}]),
    "message_delta replaces": Lost(
        path="message_start.message.usage.x", values=[1], later={"message_delta.usage.x"}
    ),
    "a fallback block": Lost(
        path="message_start.message.model", values=["a"], later={"content_block_start(fallback).x"}
    ),
    "a coarse hint": Lost(
        path="content_block_delta(thinking_delta).delta.estimated_tokens", values=[50]
    ),
    "came before": Lost(
        path="content_block_start(tool_use).content_block.id", values=["a"], repeated=True
    ),
    "came before: it would name": Lost(
        path="message_start.message.id", values=["a"], repeated=True
    ),
    "begun again": Lost(path="message_start.message.id", values=["a"], again=True),
    "may name accounts": Lost(path="error.error.message", values=["a"]),
    "the message was begun again": Lost(path="message_start.x", values=["a"], restarted=True),
    "the answer was cut": Lost(path="message_start.x", values=["a"], cut=True),
}


def test_every_row_gives_its_reason():
    reasons = [reason(lost) for lost in USES.values()]
    assert reasons == [drop.reason for drop in DROPS]
    assert all(why.startswith(start) for start, why in zip(USES, reasons, strict=True))


def test_a_row_with_a_condition_needs_it():
    for drop, lost in zip(DROPS, USES.values(), strict=True):
        if drop.when is not None and drop.path != "*.type":
            assert reason(Lost(path=lost.path, values=["something"])) is None
