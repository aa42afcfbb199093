"""A citation can be put behind the words that it belongs to: live, after a reload, from the log."""

import pytest
from played_model import played
from raw_events import block, start, stop
from recorded import STREAMS, each, is_ours

from turnlog.diagnosis.captures import RecordedCall
from turnlog.projections.transcript import transcript

PLAIN = {"type": "text", "text": ""}


def source(title):
    location = {"type": "char_location", "cited_text": title, "document_index": 0}
    return {"type": "citations_delta", "citation": location | {"document_title": title}}


def words(*pieces):
    return [{"type": "text_delta", "text": piece} for piece in pieces]


SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
OWN = {
    "plain and cited by turns": [
        start(),
        *block(PLAIN, *words("Ducks ", "say: ")),
        *block(PLAIN, source("a"), *words("Qu", "ack"), index=1),
        *block(PLAIN, *words(", and "), index=2),
        *block(PLAIN, source("b"), source("c"), *words("swim."), index=3),
        *stop(),
    ],
    "the source after its words": [
        start(),
        *block(PLAIN, *words("Quack", "."), source("a")),
        *block(PLAIN, *words(" Splash"), source("b"), *words("."), source("c"), index=1),
        *stop(),
    ],
    "the same words twice, one cited": [
        start(),
        *block(PLAIN, *words("Quack. ")),
        *block(PLAIN, source("a"), *words("Quack. "), index=1),
        *block(PLAIN, *words("Quack. "), index=2),
        *stop(),
    ],
    "characters outside of the first plane": [
        start(),
        *block(PLAIN, *words("🦆 “so” – ")),
        *block(PLAIN, source("a"), *words("e\u0301 🦢🦢"), index=1),
        *block(PLAIN, source("b"), *words("!"), index=2),
        *stop(),
    ],
    "other blocks between": [
        start(),
        *block(THOUGHT),
        *block(PLAIN, *words("I look. "), index=1),
        *block(SEARCH, index=2),
        *block(FOUND, index=3),
        *block(PLAIN, source("a"), *words("Quack."), index=4),
        *block({"type": "poem", "text": "Roses"}, index=5),
        *block(PLAIN, source("b"), *words(" Splash."), index=6),
        *stop(),
    ],
    "sources without words": [
        start(),
        *block(PLAIN, source("a")),
        *block(PLAIN, *words("Quack."), index=1),
        *block(PLAIN, source("b"), index=2),
        *stop(),
    ],
}
EXPECTED = {  # by block: its words, and what they cite
    "plain and cited by turns": [
        ("Ducks say: ", ""), ("Quack", "a"), (", and ", ""), ("swim.", "bc")],
    "the source after its words": [("Quack.", "a"), (" Splash.", "bc")],
    "the same words twice, one cited": [("Quack. ", ""), ("Quack. ", "a"), ("Quack. ", "")],
    "characters outside of the first plane": [
        ("🦆 “so” – ", ""), ("e\u0301 🦢🦢", "a"), ("!", "b")],
    "other blocks between": [("I look. ", ""), ("Quack.", "a"), (" Splash.", "b")],
    "sources without words": [("", "a"), ("Quack.", ""), ("", "b")],
}  # fmt: skip


class Raw:
    """What a stream says of texts and citations, read from its raw events alone."""

    def __init__(self, stream):
        self.texts = {}  # by block
        self.cited = []  # the block of each citation
        for raw in stream:
            if raw["type"] == "content_block_start":
                content = raw["content_block"]
                self._add(raw["index"], content, len(content.get("citations") or ()))
            elif raw["type"] == "content_block_delta":
                delta = raw["delta"]
                self._add(raw["index"], delta, delta["type"] == "citations_delta")

    def _add(self, index, piece, citations):
        if piece["type"] in ("text", "text_delta"):
            self.texts[index] = self.texts.get(index, "") + (piece.get("text") or "")
        self.cited += [index] * citations

    @property
    def cited_words(self):
        return [self.texts[index] for index in sorted(self.cited)]


def message_of(events):
    (message,) = [event for event in events if event["type"] == "message"]
    return message


def cited_words(message):
    return [message["content"][c["start"] : c["end"]] for c in message["citations"]]


def parts_of(events):
    """The words of each block on the screen, and the titles that they cite."""
    (item,) = [item for item in transcript(events)[0].items if item["kind"] == "message"]
    titles = [[c["document_title"] for c in part["citations"]] for part in item["parts"]]
    return [(p["content"], "".join(t)) for p, t in zip(item["parts"], titles, strict=True)]


@pytest.mark.parametrize("stream", OWN.values(), ids=OWN)
async def test_a_citation_says_where_the_words_of_its_block_stand(stream):
    _, log = await played(stream)
    message = message_of(log)
    assert cited_words(message) == Raw(stream).cited_words != []


@pytest.mark.parametrize("stream", OWN.values(), ids=OWN)
async def test_the_blocks_of_a_message_are_all_of_its_text(stream):
    _, log = await played(stream)
    message = message_of(log)
    ends = [span["end"] for span in message["blocks"]]
    assert [span["start"] for span in message["blocks"]] == [0, *ends][:-1]
    assert ends[-1] == len(message["content"])


def as_sent(citations):
    """Without what is found out when the answer is whole: here the sources are not at hand."""
    return [{name: c[name] for name in c if name != "verified"} for c in citations]


@pytest.mark.parametrize("case", OWN)
async def test_a_reload_puts_each_source_behind_the_words_that_had_it_live(case):
    live, log = await played(OWN[case])
    assert transcript(live) == transcript(log)
    assert parts_of(live) == parts_of(log) == EXPECTED[case]
    end = next(n for n, event in enumerate(live) if event["type"] == "message")
    (draft,) = transcript(live[:end])[0].drafts
    shown = [(p["content"], p["citations"]) for p in draft["parts"] if p["kind"] == "message"]
    (item,) = [item for item in transcript(log)[0].items if item["kind"] == "message"]
    assert [(part["content"], as_sent(part["citations"])) for part in item["parts"]] == shown


# recorded streams

RECORDED = {path: RecordedCall(path.read_bytes()) for path in STREAMS}
CITED = [path for path, call in RECORDED.items() if call.whole and Raw(call.events).cited]


@pytest.mark.parametrize("path", each(CITED))
async def test_a_recorded_message_can_be_rebuilt_with_its_citations(path):
    stream = RECORDED[path].events
    live, log = await played(stream)
    message = message_of(log)
    assert cited_words(message) == Raw(stream).cited_words
    assert transcript(live) == transcript(log)


def test_messages_with_several_cited_blocks_are_among_them():
    several = [path for path in CITED if len(Raw(RECORDED[path].events).texts) > 1]
    assert len(list(filter(is_ours, several))) >= 4
