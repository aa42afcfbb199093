"""Our own recordings: what Claude's API sends, in our own words, one scene per capability.

Each scene is a list of raw events in the order of the wire. `write.py` makes files of them.
"""

from raw_events import block, json_piece

MODEL, SMALL = "claude-sonnet-5-5", "claude-haiku-4-5"
USAGE = {
    "input_tokens": 120,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
    "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
    "output_tokens": 1,
    "service_tier": "standard",
    "inference_geo": "global",
}
PING = {"type": "ping"}
SOURCE = "Ducks migrate in autumn. They return in spring. Some stay all year."


def start(id, model=MODEL, usage=None, **more):
    message = {
        "id": f"msg_{id}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "stop_details": None,
        "usage": USAGE | (usage or {}),
    }
    return {"type": "message_start", "message": message | more}


def end(reason="end_turn", output=40, usage=None, delta=None, **more):
    counts = {"input_tokens": 120, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    counts |= {"output_tokens": output} | (usage or {})
    stop = {"stop_reason": reason, "stop_sequence": None, "stop_details": None} | (delta or {})
    return [
        {"type": "message_delta", "delta": stop, "usage": counts, **more},
        {"type": "message_stop"},
    ]


def text(*pieces, index=0, citations=()):
    deltas = [{"type": "citations_delta", "citation": each} for each in citations]
    deltas += [{"type": "text_delta", "text": piece} for piece in pieces]
    opening = {"type": "text", "text": ""} | ({"citations": []} if citations else {})
    return block(opening, *deltas, index=index)


def thought(*pieces, index=0, signature="EqQBCgIYAhIM1gbcDa9GJwZA2b3h"):
    deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces]
    deltas.append({"type": "signature_delta", "signature": signature})
    return block({"type": "thinking", "thinking": "", "signature": ""}, *deltas, index=index)


def redacted(index=0):
    return block({"type": "redacted_thinking", "data": "EmwKAhgBEgy3va3pzix2F5n4"}, index=index)


def tool(id, name, *pieces, index=0, kind="tool_use", **more):
    opening = {"type": kind, "id": id, "name": name, "input": {}, **more}
    return block(opening, *map(json_piece, ("", *pieces)), index=index)


def result(kind, id, content, index):
    return block({"type": kind, "tool_use_id": id, "content": content}, index=index)


def cited(quote):
    """A citation of plain text."""
    begin = SOURCE.index(quote)
    return {
        "type": "char_location",
        "cited_text": quote,
        "document_index": 0,
        "document_title": "Ducks",
        "start_char_index": begin,
        "end_char_index": begin + len(quote),
        "file_id": None,
    }


def place(kind, **where):
    return {"type": kind, "cited_text": "They return in spring.", **where}


DOCUMENT = {"document_index": 0, "document_title": "Ducks", "file_id": None}
PAGE = place("page_location", start_page_number=2, end_page_number=3, **DOCUMENT)
BLOCK = place("content_block_location", start_block_index=0, end_block_index=1, **DOCUMENT)
SEARCHED = place(
    "search_result_location",
    source="https://ducks.example/spring",
    title="Spring",
    search_result_index=1,
    start_block_index=0,
    end_block_index=1,
)
ON_THE_WEB = place(
    "web_search_result_location",
    url="https://ducks.example/return",
    title="The return of the ducks",
    encrypted_index="Eo8BCioIAhgCIiQyYjQ0",
)
HIT = {
    "type": "web_search_result",
    "title": "The return of the ducks",
    "url": "https://ducks.example/return",
    "encrypted_content": "EqgfCioIARgBIiQ3YTAw",
    "page_age": "2 days ago",
}
DIRECT = {"caller": {"type": "direct"}}


def search(number, query, content, index):
    """A search of the web, and what it gives."""
    id = f"srvtoolu_0{number}"
    asked = f'{{"query": "{query}"}}'
    call = tool(id, "web_search", asked, index=index, kind="server_tool_use", **DIRECT)
    return [*call, *result("web_search_tool_result", id, content, index + 1)]


WEB = {"usage": {"server_tool_use": {"web_search_requests": 1, "web_fetch_requests": 0}}}
TOO_MANY = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
CODE = {"type": "code_execution_result", "content": []}
CODE |= {"stdout": "4\n", "stderr": "", "return_code": 0}
FETCHED = {
    "type": "web_fetch_result",
    "url": "https://ducks.example/spring",
    "retrieved_at": "2026-11-16T12:00:00Z",
    "content": {
        "type": "document",
        "source": {"type": "text", "media_type": "text/plain", "data": SOURCE},
        "title": "Spring",
    },
}
OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
TIMES = [{"type": "text", "text": "12:00"}]
CACHE = {
    "cache_creation_input_tokens": 900,
    "cache_read_input_tokens": 2_000,
    "cache_creation": {"ephemeral_5m_input_tokens": 600, "ephemeral_1h_input_tokens": 300},
}
SUMMARY = {"type": "compaction_delta", "content": "So far: ducks.", "encrypted_content": "EpwBCioI"}
STEPS = [
    {"type": "compaction", "input_tokens": 500, "output_tokens": 30},
    {"type": "message", "input_tokens": 120, "output_tokens": 40},
]
HOPS = [
    {"type": "message", "model": MODEL, "input_tokens": 120, "output_tokens": 0},
    {"type": "fallback_message", "model": SMALL, "input_tokens": 120, "output_tokens": 40},
]
FALLBACK = {
    "type": "fallback",
    "from": {"model": MODEL},
    "to": {"model": SMALL},
    "trigger": {"type": "refusal", "category": None},
}
REFUSAL = {"type": "refusal", "category": "cyber", "explanation": "This could harm systems."}
CLEARED = {
    "type": "clear_tool_uses_20250919",
    "cleared_tool_uses": 2,
    "cleared_input_tokens": 700,
}
LONG = "A duck walks into a bar and says: "

SCENES: dict[str, list] = {
    # words
    "plain_text/greeting": [
        start("greeting"), PING, *text("Hel", "lo, café 🦆 ", "世界!", ""), *end(output=9)],
    "plain_text/empty": [start("empty"), *end(output=2)],
    "max_tokens/cut_short": [start("cut"), *text(LONG), *end("max_tokens", 8)],
    "stop_sequence/stopped": [
        start("stopped"), *text("One, two,"), *end("stop_sequence", delta={"stop_sequence": "3"})],
    "refusal/explained": [
        start("refused"), *text("I can't help with"), *end("refusal", delta={
            "stop_details": REFUSAL})],
    "prompt_caching/written_and_read": [start("cached", usage=CACHE), *text("Yes."), *end(usage={
        "cache_creation_input_tokens": 900, "cache_read_input_tokens": 2_000})],
    # thoughts
    "thinking/signed": [
        start("signed"), *thought("Two and", " two."), *text("Four.", index=1),
        *end(usage={"output_tokens_details": {"thinking_tokens": 12}})],
    "thinking/hidden": [start("hidden"), *thought("", signature="Eq1"), *text("Yes.", index=1),
                        *end()],
    "redacted_thinking/between": [
        start("redacted"), *thought("First."), *redacted(1), *thought("Then.", index=2),
        *text("Done.", index=3), *end()],
    "thinking_tools/one_call": [
        start("thoughtful"), *thought("I need the time."),
        *tool("toolu_01", "current_time", "{}", index=1), *end("tool_use")],
    "interleaved_thinking/between_calls": [
        start("interleaved"), *thought("First this."), *tool("toolu_02", "look", "{}", index=1),
        *thought("Then that.", index=2), *tool("toolu_03", "look", "{}", index=3),
        *end("tool_use")],
    # tools
    "tool_use/one_call": [
        start("tool"), *text("Let me look."),
        *tool("toolu_04", "get_customer", '{"number"', ': "1000', '0", "a": "ü\\"', '"}', index=1),
        *end("tool_use")],
    "parallel_tools/three_calls": [
        start("parallel"), *tool("toolu_05", "multiply", '{"a": 15, "b": 7}'),
        *tool("toolu_06", "current_time", index=1),
        *tool("toolu_07", "find", '{"text": "duck", "deep": {"list": [1, 2.5, null]}}', index=2),
        *end("tool_use")],
    "max_tokens/inside_a_call": [
        start("half"), *tool("toolu_08", "find", '{"text": "du'), *end("max_tokens")],
    # citations
    "citations_char/several_blocks": [
        start("char"), *text("Ducks ", "leave ", citations=[cited("Ducks migrate in autumn.")]),
        *text("and ", index=1),
        *text("come back", index=2, citations=[cited("They return in spring."),
                                               cited("Some stay all year.")]),
        *text(".", index=3), *end()],
    "citations_page/two_pages": [
        start("page"), *text("In short: "), *text("spring", index=1, citations=[PAGE]),
        *text(" it is.", index=2), *end()],
    "citations_content_block/one": [
        start("content"), *text("Spring.", citations=[BLOCK]), *text(" Yes.", index=1), *end()],
    "citations_search_result/one": [
        start("result"), *text("As found: "), *text("spring.", index=1, citations=[SEARCHED]),
        *end()],
    "citations_web_search/several_blocks": [
        start("web"), *search(1, "ducks return", [HIT], 0), *text("They ", index=2),
        *text("return", index=3, citations=[ON_THE_WEB, ON_THE_WEB]), *text(".", index=4),
        *end(**WEB)],
    # the provider's own tools
    "web_search/two_searches": [
        start("searches"), *text("I look."), *search(2, "ducks", [HIT, HIT], 1),
        *search(3, "more ducks", TOO_MANY, 3), *text("Found.", index=5), *end(**WEB)],
    "web_fetch/one_page": [
        start("fetch"),
        *tool("srvtoolu_04", "web_fetch", '{"url": "https://ducks.example/spring"}',
              kind="server_tool_use", **DIRECT),
        *result("web_fetch_tool_result", "srvtoolu_04", FETCHED, 1), *text("Read.", index=2),
        *end()],
    "code_execution/one_run": [
        start("code", container=None),
        *tool("srvtoolu_05", "code_execution", '{"code": "print(2+2)"}', kind="server_tool_use"),
        *result("code_execution_tool_result", "srvtoolu_05", CODE, 1), *text("4", index=2),
        *end(delta={"container": {"id": "container_01", "expires_at": "2026-11-16T13:00:00Z"}})],
    "mcp_connector/one_call": [
        start("mcp"), *tool("mcptoolu_01", "now", "{}", kind="mcp_tool_use", server_name="clock"),
        *block({"type": "mcp_tool_result", "tool_use_id": "mcptoolu_01", "is_error": False,
                "content": TIMES}, index=1), *text("Noon.", index=2), *end()],
    "pause_turn/after_a_search": [
        start("paused"), *text("I look."), *search(6, "ducks", [HIT], 1),
        *end("pause_turn", **WEB)],
    # changes of the conversation
    "compaction/summary": [
        start("compacted"),
        *block({"type": "compaction", "content": None, "encrypted_content": None}, SUMMARY),
        *text("Go on.", index=1), *end(usage={"iterations": STEPS})],
    "model_fallback/answered_by_another": [
        start("fallback"), *block(FALLBACK), *text("Hello.", index=1),
        *end(usage={"iterations": HOPS, "input_tokens": 240})],
    "context_editing/cleared": [
        start("edited"), *text("Fine."), *end(context_management={"applied_edits": [CLEARED]})],
    # what nobody knows yet
    "unknown_block/mood": [
        start("mood"), *block({"type": "mood", "tone": "calm"}), {"type": "weather", "rain": 3},
        *text("Hm.", index=1), *end()],
    # what goes wrong
    "truncated/inside_text": [start("t1"), *text("Some wor", "ds that")[:-1]],
    "truncated/inside_a_thought": [start("t2"), *thought("I was about")[:2]],
    "truncated/inside_a_call": [start("t3"), *tool("toolu_09", "find", '{"te')[:-1]],
    "truncated/before_the_end": [start("t4"), *text("All said."), *end()[:1]],
    "error_midstream/overloaded": [start("e1"), *text("Some")[:-1], OVERLOADED],
    "error_midstream/after_a_thought": [start("e2"), *thought("Hm."), OVERLOADED],
    "error_midstream/at_once": [OVERLOADED],
    "malformed/begun_again": [
        start("void"), *text("Void.")[:-1], start("again"), *text("Again."), *end()],
    "malformed/without_block_start": [start("m1"), *text("Lost.")[1:], *end()],
}  # fmt: skip

QUESTION = {"role": "user", "content": [{"type": "text", "text": "When do ducks return?"}]}
LOOK = {"name": "look", "description": "Looks.", "input_schema": {"type": "object"}}
CALL = {"type": "tool_use", "id": "toolu_10", "name": "look", "input": {}}
ANSWER = {"type": "tool_result", "tool_use_id": "toolu_10", "content": "Nothing."}
CITED = {
    "type": "document",
    "source": {"type": "text", "media_type": "text/plain", "data": SOURCE},
    "title": "Ducks",
    "citations": {"enabled": True},
}


def request(*messages, **more):
    return {"model": MODEL, "max_tokens": 1024, "stream": True, "messages": [*messages], **more}


# The requests of some scenes: the API has taken requests of these forms.
REQUESTS: dict[str, dict] = {
    "plain_text/greeting": request(QUESTION, system="Answer briefly."),
    "thinking/signed": request(QUESTION, thinking={"type": "adaptive"}),
    "tool_use/one_call": request(
        QUESTION,
        {"role": "assistant", "content": [CALL]},
        {"role": "user", "content": [ANSWER]},
        tools=[LOOK],
    ),
    "citations_char/several_blocks": request(
        {"role": "user", "content": [CITED, *QUESTION["content"]]}
    ),
    "prompt_caching/written_and_read": request(
        QUESTION,
        system=[{"type": "text", "text": "Long.", "cache_control": {"type": "ephemeral"}}],
    ),
}
