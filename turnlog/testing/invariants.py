"""What must hold for every turn, whatever was said: checked on what a client saw.

`live` is everything shown, `log` what a reload returns, both as the wire has them.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence

from turnlog.events.grammar import broken_rule
from turnlog.events.kinds import KINDS
from turnlog.projections.transcript import Shown, parts_of, transcript

Events = Sequence[Shown]


def broken(live: Events, log: Events) -> list[str]:
    """Every invariant that does not hold, in words."""
    return [f"{name}: {what}" for name, rule in RULES.items() for what in rule(live, log)]


def _ends(live: Events, log: Events) -> Iterator[str]:
    for turn in _turns(live):
        types = [event["type"] for event in turn]
        if types[0] != "user_message_sent":
            yield f"the first event is {types[0]}"
        endings = [t for t in types if t in ("complete", "error")]
        if len(endings) != 1 or types[-1] != endings[0]:
            yield f"it ends in {types[-1]}, with the endings {endings}"


def _order(live: Events, log: Events) -> Iterator[str]:
    for turn in _turns(live):
        if rule := broken_rule((KINDS[e["type"]], e.get("messageId", "")) for e in turn):
            yield rule


def _numbers(live: Events, log: Events) -> Iterator[str]:
    numbers = [event["sequenceNumber"] for event in log if "sequenceNumber" in event]
    seen = [event["sequenceNumber"] for event in live if "sequenceNumber" in event]
    if seen != numbers:
        yield f"live has {seen}, the log {numbers}"
    for event in live:
        if (event["persistenceState"] == "persisted") != ("sequenceNumber" in event):
            yield f"{event['type']} says {event['persistenceState']}"


def _indexes(live: Events, log: Events) -> Iterator[str]:
    """Only a chunk may stand further on: several that waited were joined to it."""
    for turn in _turns(live):
        wanted = 0
        for event in turn:
            index, joined = event["eventIndex"], event["type"].endswith("_chunk")
            if index < wanted or (index > wanted and not joined):
                yield f"{event['type']} has {index}, wanted {wanted}"
            wanted = index + 1


def _once(live: Events, log: Events) -> Iterator[str]:
    ids = Counter(event["eventId"] for event in live)
    yield from (event_id for event_id, times in ids.items() if times > 1)


def _whole_text(live: Events, log: Events) -> Iterator[str]:
    """A message is its chunks: the same words in the same blocks, with the same citations."""
    for turn in _turns(live):
        for number, event in enumerate(turn):
            if event["type"] == "message":
                drafts = transcript(turn[:number])[0].drafts
                mine = [d["parts"] for d in drafts if d["messageId"] == event["messageId"]]
                drafted = [p for p in (mine or [[]])[0] if p["kind"] == "message"]
                if drafted != parts_of(_as_streamed(event)):
                    yield f"{event['messageId']}: streamed {drafted}, kept {parts_of(event)}"
                if event["content"] != "".join(part["content"] for part in drafted):
                    yield f"{event['content']!r} is not {drafted}"


def _as_streamed(message: Shown) -> Shown:
    """Without what was found out about its citations when it was whole."""
    later = ("fileId", "file", "verified")
    cited = [{n: v for n, v in c.items() if n not in later} for c in message["citations"]]
    return message | {"citations": cited}


def _found(live: Events, log: Events) -> Iterator[str]:
    """`citations_found` comes just before what is kept, and says the same as the message."""
    found: dict[str, list[Shown]] = {}
    for event in live:
        if event["type"] == "citations_found":
            found[event["messageId"]] = event["citations"]
            if event["count"] != len(event["citations"]):
                yield f"{event['count']} were counted, {len(event['citations'])} told"
        elif event["type"] == "message":
            announced = found.pop(event["messageId"], event["citations"])
            if announced != event["citations"]:
                yield f"found {announced}, kept {event['citations']}"
    yield from (f"{name} was never kept" for name in found)


def _pairs(live: Events, log: Events) -> Iterator[str]:
    asked = [event["toolUseId"] for event in live if event["type"] == "tool_use"]
    answered = [event["toolUseId"] for event in live if event["type"] == "tool_result"]
    if sorted(asked) != sorted(answered):
        yield f"asked {asked}, answered {answered}"


def _reload(live: Events, log: Events) -> Iterator[str]:
    """From every point where a client may lose the connection, the log leads to one screen."""
    reloaded = transcript(log)
    for cut in range(len(live) + 1):
        known = live[:cut]
        position = int(known[-1]["cursor"].split(".")[0]) if known else -1
        missed = [event for event in log if int(event["cursor"].split(".")[0]) > position]
        if transcript([*known, *missed]) != reloaded:
            yield f"cut after {cut} of {len(live)} events: the screen differs"


def _settled(live: Events, log: Events) -> Iterator[str]:
    for turn in transcript(live):
        if turn.state not in ("done", "failed") or turn.drafts:
            yield f"the screen of {turn.turn_id} is {turn.state}"


def _turns(events: Events) -> list[list[Shown]]:
    turns: defaultdict[str, list[Shown]] = defaultdict(list)
    for event in events:
        turns[event["turnId"]].append(event)
    return list(turns.values())


RULES: dict[str, Callable[[Events, Events], Iterator[str]]] = {
    "user first, ending last": _ends,
    "legal order": _order,
    "numbers consecutive and the same live and in the log": _numbers,
    "indexes count every event": _indexes,
    "no event twice": _once,
    "a message is its chunks": _whole_text,
    "citations are found as they are kept": _found,
    "every tool has one result": _pairs,
    "reload equals live": _reload,
    "the screen is settled": _settled,
}
