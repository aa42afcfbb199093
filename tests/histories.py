"""Histories that the API refuses, each with the rule that names it and the place."""

from turnlog.simulator import sign
from turnlog.testing.samples import call, text

NEW, OLD = "claude-sonnet-5-5", "claude-haiku-4-5"
CACHED = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}
CITED = {"type": "char_location", "cited_text": "Green.", "document_index": 0,
         "document_title": "Grass", "start_char_index": 0, "end_char_index": 6}  # fmt: skip


def user(*blocks):
    return {"role": "user", "content": [text(b) if isinstance(b, str) else b for b in blocks]}


def claude(*blocks):
    return user(*blocks) | {"role": "assistant"}


def ask(*messages, **more):
    return {"model": NEW, "max_tokens": 4096, "messages": list(messages), **more}


def result(id, content="seen", **more):
    return {"type": "tool_result", "tool_use_id": id, "content": content, **more}


def thought(said="Hm.", **more):
    return {"type": "thinking", "thinking": said, "signature": sign(said), **more}


def search(id="srv"):
    return {"type": "server_tool_use", "id": id, "name": "web_search", "input": {"query": "a"}}


def found(id="srv"):
    return {"type": "web_search_tool_result", "tool_use_id": id, "content": []}


def image(size=8, media_type="image/png", **more):
    source = {"type": "base64", "media_type": media_type, "data": "A" * size}
    return {"type": "image", "source": source, **more}


def document(cites=False):
    source = {"type": "text", "media_type": "text/plain", "data": "Quack."}
    return {"type": "document", "source": source, "citations": {"enabled": cites}}


def tool(name="look", **more):
    return {"name": name, "input_schema": {"type": "object"}, **more}


def marked(said, mark=CACHED):
    return text(said) | {"cache_control": mark}


HI, HO, AND = user("Hi"), claude("Ho"), user("And?")
LOOK, SEEN = claude(call("a")), user(result("a"))
BUDGET = {"type": "enabled", "budget_tokens": 1024}
SHOWN = [{"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}]
LOOSE = {"type": "tool_use", "id": "a", "name": "look"}  # no input

BROKEN = {
    "no message at all": ("messages-are-there", "messages", ask()),
    "a message that is none": ("messages-are-whole", "messages.1", ask(HI, 7)),
    "a message without content": (
        "messages-are-whole",
        "messages.0.content",
        ask({"role": "user"}, HO, AND),
    ),
    "a system message first": (
        "roles-are-known",
        "messages.0.role",
        ask({"role": "system", "content": "Be kind."}, HI),
    ),
    "somebody else's role": (
        "roles-are-known",
        "messages.1.role",
        ask(HI, {"role": "model", "content": "Ho"}, AND),
    ),
    "a role without a name": ("roles-are-known", "messages.0.role", ask(HI | {"role": ""})),
    "a block that is plain text": (
        "blocks-are-whole",
        "messages.0.content.0",
        ask({"role": "user", "content": ["Hi"]}),
    ),
    "a text block without text": (
        "blocks-are-whole",
        "messages.0.content.1",
        ask(user("Hi", {"type": "text"})),
    ),
    "a result that is an object": (
        "blocks-are-whole",
        "messages.2.content.0.content",
        ask(HI, LOOK, user(result("a", {"b": 1}))),
    ),
    "an unknown block": (
        "blocks-are-known",
        "messages.0.content.1",
        ask(user("Hi", {"type": "video"})),
    ),
    "a result in Claude's message": (
        "blocks-fit-their-role",
        "messages.1.content.1",
        ask(HI, claude(call("a"), result("a"), "Done."), AND),
    ),
    "a call in the user's message": (
        "blocks-fit-their-role",
        "messages.0.content.1",
        ask(user("Hi", call("a")), SEEN),
    ),
    "a thought in the user's message": (
        "blocks-fit-their-role",
        "messages.0.content.0",
        ask(user(thought(), "Hi")),
    ),
    "an unknown field of a block": (
        "fields-are-known",
        "messages.0.content.0.id",
        ask(user(text("Hi") | {"id": "1"})),
    ),
    "a field of a citation that only answers have": (
        "fields-are-known",
        "messages.1.content.0.citations.1.file_id",
        ask(HI, claude(text("Ho") | {"citations": [CITED, CITED | {"file_id": None}]}), AND),
    ),
    "an unknown field of a message": (
        "fields-are-known",
        "messages.0.name",
        ask(HI | {"name": "Al"}),
    ),
    "a blank system prompt": ("system-says-something", "system.0", ask(HI, system=[text(" ")])),
    "blank text": ("text-is-not-blank", "messages.1.content.0", ask(HI, claude("\n\n", "Ho"), AND)),
    "blank text in a result": (
        "text-is-not-blank",
        "messages.2.content.0.content.0",
        ask(HI, LOOK, user(result("a", [text("")]))),
    ),
    "a cache mark on blank text": (
        "text-is-not-blank",
        "messages.0.content.1",
        ask(user("Hi", marked(""))),
    ),
    "an empty message": ("content-is-there", "messages.1", ask(HI, claude(), AND)),
    "an empty string": (
        "content-is-there",
        "messages.0",
        ask({"role": "user", "content": ""}, HO, AND),
    ),
    "two of the user in a row": ("roles-take-turns", "messages.1", ask(HI, AND)),
    "the assistant first": ("first-is-user", "messages.0", ask(HO, HI)),
    "a call without input": (
        "calls-have-input",
        "messages.1.content.0.input",
        ask(HI, claude(LOOSE), SEEN),
    ),
    "a tool's name with a dot": (
        "tool-names-are-plain",
        "tools.0.name",
        ask(HI, tools=[tool("a.b")]),
    ),
    "a tool's name too long": (
        "tool-names-are-plain",
        "tools.0.name",
        ask(HI, tools=[tool("a" * 129)]),
    ),
    "two tools of one name": (
        "tool-names-are-unique",
        "tools.0.name",
        ask(HI, tools=[tool(), tool(description="Else.")]),
    ),
    "a call's id with a space": (
        "tool-ids-are-plain",
        "messages.1.content.0.id",
        ask(HI, claude(call("a b")), user(result("a b"))),
    ),
    "two calls of one id": (
        "tool-ids-are-unique",
        "messages.3.content.0.id",
        ask(HI, LOOK, SEEN, LOOK, SEEN),
    ),
    "two calls of one id at once": (
        "tool-ids-are-unique",
        "messages.1.content.1.id",
        ask(HI, claude(call("a"), call("a")), user(result("a"), result("a"))),
    ),
    "a call without a result": ("calls-are-answered", "messages.1.content.0", ask(HI, LOOK, AND)),
    "a call at the end": ("calls-are-answered", "messages.1.content.0", ask(HI, LOOK)),
    "one result for two calls": (
        "calls-are-answered",
        "messages.1.content.1",
        ask(HI, claude(call("a"), call("b")), SEEN),
    ),
    "a result that comes too late": (
        "calls-are-answered",
        "messages.1.content.0",
        ask(HI, LOOK, AND, HO, SEEN),
    ),
    "a result without a call": (
        "results-answer-a-call",
        "messages.0.content.0",
        ask(user(result("a"), "Hi")),
    ),
    "a result for another call": (
        "results-answer-a-call",
        "messages.2.content.1",
        ask(HI, LOOK, user(result("a"), result("c"))),
    ),
    "two results for one call": (
        "results-are-single",
        "messages.2.content.1",
        ask(HI, LOOK, user(result("a"), result("a", "again"))),
    ),
    "a result behind text": (
        "results-come-first",
        "messages.2.content.1",
        ask(HI, LOOK, user("And?", result("a"))),
    ),
    "a failed result with an image": (
        "failed-results-are-text",
        "messages.2.content.0.content",
        ask(HI, LOOK, user(result("a", SHOWN, is_error=True))),
    ),
    "a search that was cut off": (
        "server-tools-are-whole",
        "messages.1.content.1",
        ask(HI, claude("I look.", search()), AND),
    ),
    "a search result without search": (
        "server-tools-are-whole",
        "messages.1.content.0",
        ask(HI, claude(found(), "Ho"), AND),
    ),
    "a search result before its call": (
        "server-tools-are-whole",
        "messages.1.content.0",
        ask(HI, claude(found(), search(), "Ho"), AND),
    ),
    "a thought without signature": (
        "thoughts-are-signed",
        "messages.1.content.0",
        ask(HI, claude({"type": "thinking", "thinking": "H"}, "Ho"), AND),
    ),
    "a thought with an empty one": (
        "thoughts-are-signed",
        "messages.1.content.0",
        ask(HI, claude(thought() | {"signature": ""}, "Ho"), AND),
    ),
    "a redacted thought without data": (
        "thoughts-are-signed",
        "messages.1.content.0",
        ask(HI, claude({"type": "redacted_thinking"}, "Ho"), AND),
    ),
    "a thought that ends the message": (
        "thoughts-are-followed",
        "messages.1.content.1",
        ask(HI, claude("Ho", thought()), AND),
    ),
    "nothing but a thought": (
        "thoughts-are-followed",
        "messages.1.content.0",
        ask(HI, claude(thought()), AND),
    ),
    "a tool loop without its thought": (
        "thoughts-open-the-tool-loop",
        "messages.1.content.0",
        ask(HI, LOOK, SEEN, model=OLD, thinking=BUDGET),
    ),
    "a tool loop, its thought not first": (
        "thoughts-open-the-tool-loop",
        "messages.1.content.0",
        ask(HI, claude("I look.", thought(), call("a")), SEEN, model=OLD, thinking=BUDGET),
    ),
    "a thought while it is disabled": (
        "thoughts-need-thinking",
        "messages.1.content.0",
        ask(HI, claude(thought(), call("a")), SEEN, model=OLD, thinking={"type": "disabled"}),
    ),
    "the assistant last": ("prefill-is-taken", "messages.1", ask(HI, HO)),
    "an empty assistant last": ("prefill-is-taken", "messages.1", ask(HI, claude())),
    "a prefill with a space": (
        "prefill-ends-without-space",
        "messages.1.content.0",
        ask(HI, claude("Ho "), model=OLD),
    ),
    "a cache mark on a thought": (
        "cache-marks-fit",
        "messages.1.content.0.cache_control",
        ask(HI, claude(thought(cache_control=CACHED), "Ho"), AND),
    ),
    "five cache marks": (
        "cache-marks-are-few",
        "system.0.cache_control",
        ask(user(*map(marked, "abcd")), system=[marked("Be kind.")]),
    ),
    "an hour after five minutes": (
        "cache-hours-come-first",
        "messages.0.content.1.cache_control",
        ask(user(marked("a"), marked("b", HOUR))),
    ),
    "an image of 6 MB": (
        "images-are-small",
        "messages.0.content.0.source",
        ask(user(image(6_000_000), "Hi")),
    ),
    "an image that is none": (
        "images-are-small",
        "messages.0.content.0.source",
        ask(user(image(media_type="image/tiff"), "Hi")),
    ),
    "101 images": (
        "images-are-few",
        "messages.0.content.0",
        ask(user(*[image()] * 101, "Hi"), model=OLD),
    ),
    "some documents that can be cited": (
        "documents-cite-or-none",
        "messages.0.content.1.citations",
        ask(user(document(True), document(), "Hi")),
    ),
    "33 MB": ("request-is-small", "", ask(user(*[image(4_800_000)] * 7, "Hi"))),
}
GOOD = {
    "one question": ask(HI),
    "plain strings": ask(
        {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}, AND
    ),
    "tools, answered in any order": ask(
        HI, claude(call("a"), call("b")), user(result("b"), result("a"), "And?")
    ),
    "two rounds of tools": ask(HI, LOOK, SEEN, claude(call("b")), user(result("b"))),
    "a result without content": ask(HI, LOOK, user({"type": "tool_result", "tool_use_id": "a"})),
    "thoughts, open and redacted": ask(
        HI, claude(thought(), {"type": "redacted_thinking", "data": "E"}, "Ho"), AND
    ),
    "a thought between two calls": ask(
        HI, claude(thought(), call("a")), SEEN, claude(thought("So."), call("b")), user(result("b"))
    ),
    "a whole search": ask(HI, claude("I look.", search(), found(), "Ho"), AND),
    "a turn that was paused": ask(HI, claude("I look.", search())),
    "a prefill": ask(HI, claude("Ho"), model=OLD),
    "four cache marks, hours first": ask(
        user(marked("a", HOUR), marked("b", HOUR), marked("c"), marked("d"))
    ),
    "files before the text": ask(user(image(), document(True), "Hi")),
}
