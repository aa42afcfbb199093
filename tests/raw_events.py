"""Raw events of the Messages API to test with: a start, blocks, an end."""

from turnlog.engines.claude.stream import Call

CITED = {"type": "char_location", "cited_text": "Quack.", "document_index": 0}


def read(*raws):
    call = Call(clock=lambda: 0.0)
    return call, call.feed(raws)


def start(**more):
    message = {"id": "msg_1", "model": "claude", "content": [], "usage": {"input_tokens": 5}}
    return {"type": "message_start", "message": message | more}


def block(content_block, *deltas, index=0):
    opening = {"type": "content_block_start", "index": index, "content_block": content_block}
    between = [{"type": "content_block_delta", "index": index, "delta": d} for d in deltas]
    return [opening, *between, {"type": "content_block_stop", "index": index}]


def stop(reason="end_turn", **usage):
    delta = {"stop_reason": reason}
    return [{"type": "message_delta", "delta": delta, "usage": usage}, {"type": "message_stop"}]


def json_piece(text):
    return {"type": "input_json_delta", "partial_json": text}


TOOL = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}
HELLO = block({"type": "text", "text": ""}, {"type": "text_delta", "text": "Hello."})
