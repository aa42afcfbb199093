"""A turn as output items of a response, and the table that streams them."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from turnlog.events import kinds as k
from turnlog.ports import StartedTurn
from turnlog.transports.protocols import story as s
from turnlog.transports.protocols import telling
from turnlog.transports.protocols.openai_api.asking import response_id

Json = dict[str, Any]
SERVER = "turnlog"  # who runs the tools
INCOMPLETE = {
    "max_tokens": "max_output_tokens",
    "model_context_window_exceeded": "max_output_tokens",
    "refusal": "content_filter",
}


class Teller:
    """Steps as streaming events; `response` is what has come of them so far."""

    def __init__(
        self,
        turn: StartedTurn,
        model: str,
        created: float,
        *,
        before: int | None = None,
        after: int = -1,
        metadata: dict[str, str] | None = None,
    ) -> None:
        """`before`: the number before its first event, where it goes on with a turn. `after`:
        only what has a higher `sequence_number` is told.
        """
        self.response: Json = {
            "id": response_id(turn, before), "object": "response", "created_at": created,
            "model": model, "status": "in_progress", "output": [], "error": None,
            "incomplete_details": None,
            "conversation": {"id": turn.session_id}, "parallel_tool_calls": True,
            "tool_choice": "auto", "tools": [], "metadata": metadata or {}, "instructions": None,
            "temperature": None, "top_p": None, "usage": None,
        }  # fmt: skip
        self._number = 0
        self._after = after
        self._began = False
        self._mine: set[str] = set()
        self._at: dict[str, int] = {}  # where an item stands
        self._blocks: dict[str, list[int]] = {}  # of a message, in order

    def tell(self, step: s.Step) -> Iterator[Json]:
        """Numbers count the letters of deltas, so that they are the same however a text is cut:
        live, for a slow client, and from the log.
        """
        for event in self._told(step):
            new = event["sequence_number"] - self._after
            if new <= 0:
                continue
            if isinstance(delta := event.get("delta"), str) and new < len(delta):
                event = event | {"delta": delta[-new:]}
            yield event

    def _told(self, step: s.Step) -> Iterator[Json]:
        if not self._began:
            self._began = True
            for name in ("response.created", "response.in_progress"):
                yield self._event(name, response=dict(self.response, output=[]))
        rule = TABLE.get(type(step))
        if rule is not None:
            yield from rule(self, step)

    def _event(self, type_: str, /, **fields: Any) -> Json:
        self._number += max(1, len(fields.get("delta", "")))
        return {"type": type_, "sequence_number": self._number - 1, **fields}

    def _add(self, item: Json) -> Iterator[Json]:
        self._at[item["id"]] = len(self.response["output"])
        self.response["output"].append(item)
        place = self._at[item["id"]]
        yield self._event("response.output_item.added", output_index=place, item=_plain(item))

    def _done(self, item: Json, **changes: Any) -> Iterator[Json]:
        item |= changes
        place = self._at[item["id"]]
        yield self._event("response.output_item.done", output_index=place, item=_plain(item))

    def _item(self, name: str) -> Json | None:
        at = self._at.get(name)
        item: Json | None = None if at is None else self.response["output"][at]
        return item

    def began(self, step: s.Began) -> Iterator[Json]:
        self._mine = {tool["name"] for tool in step.question.client_tools}
        return iter(())

    # thoughts

    def thought_began(self, step: s.ThoughtBegan) -> Iterator[Json]:
        yield from self._add({"id": step.id, "type": "reasoning", "summary": []})
        part = {"type": "summary_text", "text": ""}
        yield self._event("response.reasoning_summary_part.added", part=part, **self._summary(step))

    def _summary(self, step: s.Part) -> Json:
        return {"item_id": step.id, "output_index": self._at[step.id], "summary_index": 0}

    def thought_grew(self, step: s.ThoughtGrew) -> Iterator[Json]:
        place = self._summary(step)
        yield self._event("response.reasoning_summary_text.delta", delta=step.text, **place)

    def thought_ended(self, step: s.ThoughtEnded) -> Iterator[Json]:
        part, place = {"type": "summary_text", "text": step.text}, self._summary(step)
        yield self._event("response.reasoning_summary_text.done", text=step.text, **place)
        yield self._event("response.reasoning_summary_part.done", part=part, **place)
        signed = {"encrypted_content": step.signature} if step.signature else {}
        item = self._item(step.id)
        assert item is not None
        yield from self._done(item, summary=[part], **signed)

    # texts

    def text_began(self, step: s.TextBegan) -> Iterator[Json]:
        if step.message_id not in self._at:
            yield from self._add(_message(step.message_id))
        blocks = self._blocks.setdefault(step.message_id, [])
        if step.block not in blocks:
            blocks.append(step.block)
        part = {"type": "output_text", "text": "", "annotations": []}
        yield self._event("response.content_part.added", part=part, **self._place(step))

    def _place(self, step: s.Part) -> Json:
        at = self._blocks[step.message_id].index(step.block)
        return {"item_id": step.message_id, "output_index": self._at[step.message_id],
                "content_index": at}  # fmt: skip

    def text_grew(self, step: s.TextGrew) -> Iterator[Json]:
        place = self._place(step)
        yield self._event("response.output_text.delta", delta=step.text, logprobs=[], **place)

    def text_ended(self, step: s.TextEnded) -> Iterator[Json]:
        place, part = self._place(step), text_part(step)
        for at, annotation in enumerate(part["annotations"]):
            yield self._event("response.output_text.annotation.added", annotation_index=at,
                              annotation=annotation, **place)  # fmt: skip
        yield self._event("response.output_text.done", text=step.text, logprobs=[], **place)
        yield self._event("response.content_part.done", part=part, **place)
        item = self._item(step.message_id)
        assert item is not None
        item["content"] = [*item["content"], part]

    def said(self, step: s.Said) -> Iterator[Json]:
        item = self._item(step.message.message_id)
        if item is not None:
            cut = step.message.stop_reason in (*INCOMPLETE, "cancelled", "interrupted")
            yield from self._done(item, status="incomplete" if cut else "completed")

    # tools

    def called(self, step: s.Called) -> Iterator[Json]:
        yield from self._add(tool_item(step.call, is_mine=step.call.tool_name in self._mine))
        if step.call.tool_name in self._mine:
            item = self._item(f"fc_{step.call.tool_use_id}")
            assert item is not None
            place = {"item_id": item["id"], "output_index": self._at[item["id"]]}
            args = item["arguments"]
            yield self._event("response.function_call_arguments.delta", delta=args, **place)
            yield self._event("response.function_call_arguments.done", arguments=args,
                              name=item["name"], **place)  # fmt: skip
            yield from self._done(item)

    def asked(self, step: s.Asked) -> Iterator[Json]:
        if step.approval.tool_name not in self._mine:
            item = approval_item(step.approval)
            yield from self._add(item)
            yield from self._done(item)

    def answered(self, step: s.Answered) -> Iterator[Json]:
        if step.call.tool_name in self._mine:
            return
        if step.call.tool_use_id not in self._at:  # called before this response began
            yield from self._add(tool_item(step.call, is_mine=False))
        item = self._item(step.call.tool_use_id)
        assert item is not None
        yield from self._done(item, **_outcome(step.result))

    # ends

    def waits(self, step: s.Waits) -> Iterator[Json]:
        self.response["usage"] = usage_of(step.used)
        yield self._end("response.completed", "completed")

    def ended(self, step: s.Ended) -> Iterator[Json]:
        self.response["usage"] = usage_of(step.used)
        if step.complete.reason == "cancelled":
            yield self._end("response.incomplete", "cancelled")
        elif reason := INCOMPLETE.get(step.complete.stop_reason):
            self.response["incomplete_details"] = {"reason": reason}
            yield self._end("response.incomplete", "incomplete")
        else:
            yield self._end("response.completed", "completed")

    def failed(self, step: s.Failed) -> Iterator[Json]:
        self.response["error"] = {"code": "server_error", "message": step.error}
        yield self._end("response.failed", "failed")

    def _end(self, name: str, status: str) -> Json:
        self.response["status"] = status
        return self._event(name, response=self.response)


def _plain(item: Json) -> Json:
    return dict(item)


def _message(message_id: str) -> Json:
    return {"id": message_id, "type": "message", "role": "assistant", "status": "in_progress",
            "content": []}  # fmt: skip


def text_part(step: s.TextEnded) -> Json:
    notes = [_annotation(citation, len(step.text)) for citation in step.citations]
    return {"type": "output_text", "text": step.text, "annotations": notes, "logprobs": []}


def _annotation(citation: Json, length: int) -> Json:
    """A citation is for the whole of its block. What their form has no room for is in `turnlog`."""
    title = str(citation.get("document_title") or citation.get("title") or "")
    if citation.get("url"):
        return {"type": "url_citation", "url": citation["url"], "title": title,
                "start_index": 0, "end_index": length, "turnlog": citation}  # fmt: skip
    return {"type": "file_citation", "file_id": str(citation.get("file_id") or ""),
            "filename": title, "index": 0, "turnlog": citation}  # fmt: skip


def tool_item(call: k.ToolUse, *, is_mine: bool) -> Json:
    args = telling.encode(call.args).decode()
    if is_mine:
        return {"id": f"fc_{call.tool_use_id}", "type": "function_call", "status": "completed",
                "call_id": call.tool_use_id, "name": call.tool_name, "arguments": args}  # fmt: skip
    return {"id": call.tool_use_id, "type": "mcp_call", "server_label": SERVER,
            "name": call.tool_name, "arguments": args, "status": "in_progress"}  # fmt: skip


def approval_item(asked: k.ApprovalRequested) -> Json:
    return {"id": asked.approval_id, "type": "mcp_approval_request", "server_label": SERVER,
            "name": asked.tool_name, "arguments": telling.encode(asked.args).decode()}  # fmt: skip


def _outcome(result: k.ToolResult) -> Json:
    if result.success:
        value = result.result
        text = value if isinstance(value, str) else telling.encode(value).decode()
        return {"status": "completed", "output": text}
    return {"status": "failed", "error": str(result.error)}


def usage_of(usage: Any) -> Json:
    cached = usage.cache_read_tokens
    told = usage.input_tokens + usage.cache_write_tokens + cached
    return {
        "input_tokens": told,
        "input_tokens_details": {"cached_tokens": cached},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.thinking_tokens or 0},
        "total_tokens": told + usage.output_tokens,
    }


def created_at(time: str) -> float:
    return datetime.fromisoformat(time).timestamp()


# fmt: off
TABLE: dict[type[s.Step], Any] = {
    s.Began:        Teller.began,
    s.ThoughtBegan: Teller.thought_began,
    s.ThoughtGrew:  Teller.thought_grew,
    s.ThoughtEnded: Teller.thought_ended,
    s.TextBegan:    Teller.text_began,
    s.TextGrew:     Teller.text_grew,
    s.TextEnded:    Teller.text_ended,
    s.Said:         Teller.said,
    s.Called:       Teller.called,
    s.Asked:        Teller.asked,
    s.Answered:     Teller.answered,
    s.Waits:        Teller.waits,
    s.Ended:        Teller.ended,
    s.Failed:       Teller.failed,
}
# fmt: on
