"""The script of a golden page: one line a step, `who  verb  what`. VERBS has all of them.

In a team the agents are named instead of `model`: each one's replies are its own.
"""

import asyncio
import json
import re
from collections.abc import Callable
from typing import Any

from turnlog.events.handovers import HANDOVER
from turnlog.projections.billing.budgets import Budget
from turnlog.simulator import (
    Block,
    Break,
    Cut,
    Entry,
    RawBlock,
    RedactedThinking,
    Reply,
    Stall,
    Text,
    Thinking,
    ToolCall,
    Usage,
    failure,
)
from turnlog.simulator.stream import events as stream_events
from turnlog.testing.golden.attached import Attached, names_in
from turnlog.testing.golden.steps import PersonStep, ToolStep, UserStep

_WISH = re.compile(r"\[(thinking|searching|with [^]]+)\] ")
FOR_EVER = 10_000.0  # seconds


class Reader:
    """Turns the lines of a script into turns. A reply ends where a tool or the user acts."""

    def __init__(self) -> None:
        self.turns: list[UserStep] = []
        self.blocks: list[Block] = []
        self.options: dict[str, Any] = {}  # of the reply that is being read
        self.unanswered: list[str] = []
        self.asking: set[str] = set()
        self.sought = 0  # searches so far
        self.setting: dict[str, Any] | None = None
        self.tasks: list[str] | None = None
        self.erp = False
        self.team: dict[str, list[str]] = {}  # whom each agent hands over to
        self.speaker = ""
        self.attached = Attached()
        self.settings: dict[str, Any] = {}

    def read(self, script: str) -> list[UserStep]:
        for line in filter(None, map(str.strip, script.splitlines())):
            who, _, rest = line.partition(" ")
            verb, _, what = rest.strip().partition(" ")
            if who == "user" and (who, verb) not in VERBS:
                self.user(rest.strip())
                continue
            if who in self.team:
                self.speaks(who)
                who = "model"
            VERBS[who, verb](self, what.strip())
        self.end_reply()
        return self.turns

    def user(self, text: str) -> None:
        """`[thinking]` and `[searching]` before the text switch these on; `[with NAME, NAME]`
        attaches files.
        """
        self.end_reply()
        wishes = []
        while wish := _WISH.match(text):
            wishes.append(wish[1])
            text = text[wish.end() :]
        self.turns.append(UserStep(text, "thinking" in wishes, "searching" in wishes))
        self.turns[-1].setting, self.setting = self.setting, None
        self.turns[-1].deleted = self.attached.taken()
        self.turns[-1].attached = names_in(wishes)

    def is_refused(self, code: str) -> None:
        """The question begins no turn."""
        self.turns[-1].refused = code

    def lets(self, what: str) -> None:
        """`NAME hand over to NAME, NAME`; the first one named is asked first."""
        name, _, others = what.partition(" hand over to ")
        self.team[name] = [other.strip() for other in others.split(",")]
        for other in self.team[name]:
            self.team.setdefault(other, [])

    def allows(self, what: str) -> None:
        """`N calls` of the model in a turn, or `N tokens` in the session."""
        amount, unit = what.split()
        if unit == "calls":
            self.settings["max_calls"] = int(amount)
        else:
            self.settings["budgets"] = (Budget(per="session", tokens=int(amount)),)

    def tells(self, what: str) -> None:
        """`N tokens`: as much as one prompt may have."""
        self.settings["history_tokens"] = int(what.split()[0])

    def dies(self, tool_id: str) -> None:
        """While this tool runs for the first time."""
        self.end_reply()
        self.turns[-1].dying[tool_id] = asyncio.Event()

    def uses(self, what: str) -> None:
        """`N tokens` for the answer."""
        self.options["usage"] = Usage(output_tokens=int(what.split()[0]))

    def speaks(self, who: str) -> None:
        if who != self.speaker:
            self.end_reply()
        self.speaker = who

    def sets(self, what: str) -> None:
        """`thinking on BUDGET` or `thinking off`: for the session, before the next question."""
        _, switch, *budget = what.split()
        self.setting = {"enabled": switch == "on"}
        if budget:
            self.setting["budgetTokens"] = int(budget[0])

    def has_tasks(self, titles: str) -> None:
        """The user's tasks, with commas; the model is not scripted and finds its own words."""
        self.tasks = [title.strip() for title in titles.split(",")]

    def has_erp(self, what: str) -> None:
        """The ERP agent, with a sandbox of the ERP; nothing is scripted here either."""
        self.erp = True

    def says(self, text: str) -> None:
        self.blocks.append(Text(json.loads(text) if text.startswith('"') else text))

    def summarizes(self, text: str) -> None:
        """What leaves the window, when the API is asked to."""
        self.end_reply()
        block = {"type": "compaction", "content": text, "encrypted_content": None}
        self.reply(Reply(RawBlock(block), stop_reason="compaction"))

    def thinks(self, text: str) -> None:
        self.blocks.append(Thinking(text))

    def redacts(self, data: str) -> None:
        self.blocks.append(RedactedThinking(data))

    def cites(self, what: str) -> None:
        """`TEXT << SOURCE`: the text, citing those words of the first document.

        `TEXT << SOURCE @ URL` cites a page that a search has found; `TEXT << JSON` one citation,
        or a list of them, as the API has them.
        """
        text, _, source = what.partition(" << ")
        words, _, url = source.partition(" @ ")
        if source[:1] in ("{", "["):
            cited = json.loads(source)
            self.blocks.append(Text(text, tuple(cited if isinstance(cited, list) else [cited])))
            return
        if url:
            self.blocks.append(Text(text, citations=(_web_citation(words, url),)))
            return
        citation = {
            "type": "char_location",
            "cited_text": source,
            "document_index": 0,
            "document_title": None,
            "start_char_index": 0,
            "end_char_index": len(source),
        }
        self.blocks.append(Text(text, citations=(citation,)))

    def calls(self, what: str) -> None:
        """`NAME ID JSON`, the last may be left out."""
        name, tool_id, *args = what.split(" ", 2)
        self.call(ToolCall(name, json.loads(args[0]) if args else {}, tool_id))
        if not name.startswith(HANDOVER):
            self.unanswered.append(tool_id)

    def mumbles(self, what: str) -> None:
        """A call whose arguments are not JSON: `NAME ID TEXT`. No tool step answers it."""
        name, tool_id, raw = what.split(" ", 2)
        self.call(ToolCall(name, {}, tool_id, raw_json=raw))

    def call(self, call: ToolCall) -> None:
        self.blocks.append(call)
        self.turns[-1].calls[call.id or ""] = call
        self.turns[-1].callers[call.id or ""] = self.speaker

    def searches(self, query: str) -> None:
        """A search and what it finds: one page."""
        self.seeks(query)
        self.finds("https://example.com/found")

    def seeks(self, query: str) -> None:
        """A search that has no result yet."""
        self.sought += 1
        asked = {"type": "server_tool_use", "id": f"srvtoolu_{self.sought}", "name": "web_search"}
        self.blocks.append(RawBlock(asked | {"input": {"query": query}}))
        used = self.options.get("usage", Usage()).web_searches
        self.options["usage"] = Usage(web_searches=used + 1)

    def finds(self, url: str) -> None:
        """The result of the last search; `nothing more` is one search too many."""
        result = {"type": "web_search_result", "title": "A page", "url": url}
        found: Any = [result | {"encrypted_content": "c2VjcmV0", "page_age": None}]
        if url == "nothing more":
            found = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
        answer = {"type": "web_search_tool_result", "tool_use_id": f"srvtoolu_{self.sought}"}
        self.blocks.append(RawBlock(answer | {"content": found}))

    def refuses(self, what: str) -> None:
        """`CATEGORY EXPLANATION`: after what was said so far, or without a word."""
        category, _, explanation = what.partition(" ")
        details = {"type": "refusal", "category": category, "explanation": explanation}
        reply = Reply(*self.blocks, stop_reason="refusal", stop_details=details)
        self.reply(reply)
        self.blocks, self.options = [], {}

    def stops(self, reason: str) -> None:
        self.options["stop_reason"] = reason
        self.end_reply()

    def stays_silent(self, what: str) -> None:
        self.reply(Reply())

    def is_named(self, message_id: str) -> None:
        self.options["id"] = message_id

    def is_cut(self, how: str) -> None:
        """Before its last block is closed; `cut cleanly`: as if nothing was wrong."""
        self.options["ending"] = Cut(self.written(), clean=how.endswith("cleanly"))
        self.end_reply()

    def is_stopped(self, what: str) -> None:
        """By the user, after all of the last text was shown and before its block is closed."""
        self.options["ending"] = Stall(self.written(), FOR_EVER)
        last = self.blocks[-1]
        assert isinstance(last, Text)
        self.turns[-1].stopped_in = last.text
        self.end_reply()

    def breaks(self, kind: str) -> None:
        self.options["ending"] = Break(self.written(), type=kind)
        self.end_reply()

    def fails(self, what: str) -> None:
        """`TYPE MESSAGE`: before the first byte, with a wait that nobody would wait for."""
        kind, _, message = what.partition(" ")
        self.reply(failure(kind, message or f"simulated {kind}", 60.0))

    def tool(self, verb: str, what: str) -> None:
        self.end_reply()
        value = json.loads(what) if what[:1] in ("{", "[") else what
        self.turns[-1].tools[self.unanswered.pop(0)] = ToolStep(verb, value)

    def asks(self, tool: str) -> None:
        self.asking.add(tool)

    def person(self, verb: str, what: str) -> None:
        """`ID VALUE`; the value is JSON or words, and may be left out. `it`: the only open one."""
        self.end_reply()
        tool_id, _, rest = what.partition(" ")
        value = json.loads(rest) if rest.startswith("{") else rest or None
        self.turns[-1].people.append(PersonStep(verb, tool_id, value))
        if verb in ("rejects", "waits", "stops"):  # then the tool never runs
            dropped = [tool_id] if verb == "rejects" else list(self.unanswered)
            self.unanswered = [t for t in self.unanswered if t not in dropped]

    def written(self) -> int:
        """How many events there are before the last block is closed."""
        body = {"model": "", "messages": [], "max_tokens": 1}
        return len(list(stream_events(Reply(*self.blocks), body))) - 3

    def reply(self, entry: Entry) -> None:
        self.turns[-1].entries.append(entry)
        self.turns[-1].speakers.append(self.speaker)

    def end_reply(self) -> None:
        if self.blocks:
            self.reply(Reply(*self.blocks, **self.options))
        self.blocks, self.options = [], {}


def _web_citation(words: str, url: str) -> dict[str, Any]:
    return {
        "type": "web_search_result_location",
        "cited_text": words,
        "url": url,
        "title": "A page",
        "encrypted_index": "c2VjcmV0",
    }


def _tool(verb: str) -> Callable[[Reader, str], None]:
    return lambda reader, what: reader.tool(verb, what)


def _person(verb: str) -> Callable[[Reader, str], None]:
    return lambda reader, what: reader.person(verb, what)


VERBS: dict[tuple[str, str], Callable[[Reader, str], None]] = {
    ("user", "sets"): Reader.sets,  # whatever else a user's line holds is a question
    ("user", "deletes"): lambda reader, name: reader.attached.deletes(name),
    ("user", "has"): lambda reader, what: reader.attached.has(what),
    ("other", "has"): lambda reader, what: reader.attached.has(what, somebody_elses=True),
    ("server", "refuses"): Reader.is_refused,
    ("team", "lets"): Reader.lets,
    ("server", "allows"): Reader.allows,
    ("server", "dies"): Reader.dies,
    ("server", "tells"): Reader.tells,
    ("tasks", "are"): Reader.has_tasks,
    ("erp", "is"): Reader.has_erp,
    ("model", "says"): Reader.says,
    ("model", "summarizes"): Reader.summarizes,
    ("model", "thinks"): Reader.thinks,
    ("model", "redacts"): Reader.redacts,
    ("model", "cites"): Reader.cites,
    ("model", "calls"): Reader.calls,
    ("model", "mumbles"): Reader.mumbles,
    ("model", "searches"): Reader.searches,
    ("model", "seeks"): Reader.seeks,
    ("model", "finds"): Reader.finds,
    ("model", "refuses"): Reader.refuses,
    ("model", "stops"): Reader.stops,
    ("model", "uses"): Reader.uses,
    ("model", "signs"): Reader.is_named,  # the id of the message
    ("model", "is"): Reader.is_cut,
    ("model", "halts"): Reader.is_stopped,  # because the user stops the turn
    ("model", "breaks"): Reader.breaks,
    ("model", "fails"): Reader.fails,
    ("model", "stays"): Reader.stays_silent,
    ("tool", "returns"): _tool("returns"),
    ("tool", "fails"): _tool("fails"),
    ("tool", "crashes"): _tool("crashes"),
    ("tool", "is"): _tool("is unknown"),
    ("agent", "asks"): Reader.asks,  # before it runs this tool
    ("person", "approves"): _person("approves"),
    ("person", "rejects"): _person("rejects"),
    ("person", "edits"): _person("edits"),  # and allows
    ("person", "waits"): _person("waits"),  # until it is too late
    ("person", "stops"): _person("stops"),
}
