"""Turns as items of a thread, and the table that streams them. Ids are those of the log."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Literal

from chatkit import types as c
from chatkit.actions import ActionConfig
from chatkit.widgets import Button, Card, Row, Text
from msgspec import UNSET

from turnlog.events import kinds as k
from turnlog.transports.protocols import reading, telling
from turnlog.transports.protocols import story as s

DECIDE = "turnlog.decide"  # the action of an approval's buttons
WORDS = {True: "Allowed", False: "Not allowed"}


class Teller:
    """Steps as events of a thread."""

    def __init__(self, thread_id: str, clock: Any) -> None:
        self._thread_id = thread_id
        self._clock = clock
        self._open: dict[str, Any] = {}  # items that have begun
        self._blocks: dict[str, list[int]] = {}
        self._thoughts: dict[str, list[str]] = {}  # in pieces
        self._length: dict[str, int] = {}  # of each thought

    def tell(self, step: s.Step) -> Iterator[Any]:
        rule = TABLE.get(type(step))
        if rule is not None:
            yield from rule(self, step)

    def _place(self, item_id: str) -> dict[str, Any]:
        return {"id": item_id, "thread_id": self._thread_id, "created_at": self._clock()}

    def _add(self, item: Any) -> Iterator[Any]:
        self._open[item.id] = item
        yield c.ThreadItemAddedEvent(item=item.model_copy(deep=True))

    def _done(self, item_id: str) -> Iterator[Any]:
        item = self._open.pop(item_id, None)
        if item is not None:
            yield c.ThreadItemDoneEvent(item=item)

    # thoughts

    def thought_began(self, step: s.ThoughtBegan) -> Iterator[Any]:
        task = c.ThoughtTask(content="", status_indicator="loading")
        workflow = c.Workflow(type="reasoning", tasks=[task])
        yield from self._add(c.WorkflowItem(workflow=workflow, **self._place(step.id)))

    def thought_grew(self, step: s.ThoughtGrew) -> Iterator[Any]:
        """The protocol tells all of it each time: it is told when it has grown by an eighth, so a
        long thought costs a few times its length, and not its square.
        """
        told = len(self._open[step.id].workflow.tasks[0].content)
        pieces = self._thoughts.setdefault(step.id, [])
        pieces.append(step.text)
        self._length[step.id] = length = self._length.get(step.id, 0) + len(step.text)
        if length - told >= max(told // 8, 1):
            task = c.ThoughtTask(content="".join(pieces), status_indicator="loading")
            self._open[step.id].workflow.tasks[0] = task
            yield _task_updated(step.id, task)

    def thought_ended(self, step: s.ThoughtEnded) -> Iterator[Any]:
        if step.id in self._open:
            self._open[step.id].workflow.tasks[0] = _thought(step)
            yield from self._done(step.id)

    # texts

    def text_began(self, step: s.TextBegan) -> Iterator[Any]:
        blocks = self._blocks.setdefault(step.message_id, [])
        if step.message_id not in self._open:
            item = c.AssistantMessageItem(content=[], **self._place(step.message_id))
            yield from self._add(item)
        if step.block not in blocks:
            blocks.append(step.block)
        content = c.AssistantMessageContent(text="")
        yield self._update(step, c.AssistantMessageContentPartAdded, content=content)

    def _update(self, step: s.Part, kind: Any, **fields: Any) -> Any:
        index = self._blocks[step.message_id].index(step.block)
        update = kind(content_index=index, **fields)
        return c.ThreadItemUpdatedEvent(item_id=step.message_id, update=update)

    def text_grew(self, step: s.TextGrew) -> Iterator[Any]:
        kind = c.AssistantMessageContentPartTextDelta
        yield self._update(step, kind, delta=step.text)

    def text_ended(self, step: s.TextEnded) -> Iterator[Any]:
        content = text_content(step)
        for at, annotation in enumerate(content.annotations):
            kind = c.AssistantMessageContentPartAnnotationAdded
            yield self._update(step, kind, annotation_index=at, annotation=annotation)
        yield self._update(step, c.AssistantMessageContentPartDone, content=content)
        self._open[step.message_id].content.append(content)

    def said(self, step: s.Said) -> Iterator[Any]:
        yield from self._done(step.message.message_id)

    # tools

    def called(self, step: s.Called) -> Iterator[Any]:
        workflow = tool_workflow(step.call, None)
        yield from self._add(
            c.WorkflowItem(workflow=workflow, **self._place(step.call.tool_use_id))
        )

    def answered(self, step: s.Answered) -> Iterator[Any]:
        name = step.call.tool_use_id
        workflow = tool_workflow(step.call, step.result)
        if name not in self._open:  # called before this stream began
            yield from self._add(c.WorkflowItem(workflow=workflow, **self._place(name)))
        self._open[name].workflow = workflow
        yield _task_updated(name, workflow.tasks[0])
        yield from self._done(name)

    def asked(self, step: s.Asked) -> Iterator[Any]:
        place = self._place(step.approval.approval_id)
        item = c.WidgetItem(widget=approval_card(step.approval, None), **place)
        yield from self._add(item)
        yield from self._done(item.id)

    def decided(self, step: s.Decided) -> Iterator[Any]:
        place = self._place(step.approval.approval_id)
        item = c.WidgetItem(widget=approval_card(step.approval, step.decision), **place)
        yield c.ThreadItemReplacedEvent(item=item)

    # ends

    def ended(self, step: s.Ended) -> Iterator[Any]:
        yield from self._close()

    def _close(self) -> Iterator[Any]:
        for item_id in list(self._open):
            yield from self._done(item_id)

    def failed(self, step: s.Failed) -> Iterator[Any]:
        yield from self._close()
        yield c.ErrorEvent(code="custom", message=step.error, allow_retry=False)


def _task_updated(item_id: str, task: Any) -> Any:
    update = c.WorkflowTaskUpdated(task_index=0, task=task)
    return c.ThreadItemUpdatedEvent(item_id=item_id, update=update)


def _thought(step: s.ThoughtEnded) -> Any:
    return c.ThoughtTask(content=step.text, status_indicator="complete")


def text_content(step: s.TextEnded) -> Any:
    notes = [_annotation(citation, len(step.text)) for citation in step.citations]
    return c.AssistantMessageContent(text=step.text, annotations=notes)


def _annotation(citation: dict[str, Any], end: int) -> Any:
    title = str(citation.get("document_title") or citation.get("title") or "document")
    if url := citation.get("url"):
        return c.Annotation(source=c.URLSource(url=url, title=title), index=end)
    about = str(citation.get("cited_text") or "")
    source = c.FileSource(filename=title, title=title, description=about)
    return c.Annotation(source=source, index=end)


def tool_workflow(call: k.ToolUse, result: k.ToolResult | None) -> Any:
    args = telling.encode(call.args).decode()
    content = args
    state: Literal["loading", "complete"] = "loading"
    if result is not None:
        value = result.result if result.success else f"failed: {result.error}"
        text = value if isinstance(value, str) else telling.encode(value).decode()
        content, state = f"{args}\n\n{text}", "complete"
    task = c.CustomTask(title=call.tool_name, content=content, status_indicator=state)
    return c.Workflow(type="custom", tasks=[task], summary=c.CustomSummary(title=call.tool_name))


def approval_card(asked: k.ApprovalRequested, decision: k.ApprovalResolved | None) -> Any:
    if decision is not None:
        what = asked.description if decision.description is UNSET else decision.description
        who = f"{WORDS[decision.approved]} by {decision.decided_by}"
        return Card(children=[Text(value=what), Text(value=who, color="secondary")])
    buttons = [_button("Allow", asked, approved=True), _button("Reject", asked, approved=False)]
    return Card(children=[Text(value=asked.description), Row(children=[*buttons])])


def _button(label: str, asked: k.ApprovalRequested, *, approved: bool) -> Any:
    payload = {"approvalId": asked.approval_id, "approved": approved}
    style: Literal["primary", "secondary"] = "primary" if approved else "secondary"
    action = ActionConfig(type=DECIDE, payload=payload)
    return Button(label=label, style=style, onClickAction=action)


# fmt: off
TABLE: dict[type[s.Step], Any] = {
    s.ThoughtBegan: Teller.thought_began,
    s.ThoughtGrew:  Teller.thought_grew,
    s.ThoughtEnded: Teller.thought_ended,
    s.TextBegan:    Teller.text_began,
    s.TextGrew:     Teller.text_grew,
    s.TextEnded:    Teller.text_ended,
    s.Said:         Teller.said,
    s.Called:       Teller.called,
    s.Asked:        Teller.asked,
    s.Decided:      Teller.decided,
    s.Answered:     Teller.answered,
    s.Ended:        Teller.ended,
    s.Failed:       Teller.failed,
}
# fmt: on


def items_of(record: reading.TurnRecord, thread_id: str) -> list[Any]:
    """A turn as items, in the order in which the stream added them. What is still open is as the
    stream left it: a tool that waits for an approval is there, too.
    """
    time = datetime.fromisoformat(record.asked_at)
    question = record.question
    place: dict[str, Any] = {"thread_id": thread_id, "created_at": time}
    content = c.UserMessageTextContent(text=question.content)
    found: dict[str, Any] = {
        question.message_id: c.UserMessageItem(
            id=question.message_id,
            content=[content],
            attachments=[attachment(file) for file in question.files],
            inference_options=c.InferenceOptions(),
            **place,
        )
    }
    teller = Teller(thread_id, lambda: datetime.fromisoformat(record.last_at))
    for step in record.steps:
        for event in teller.tell(step):
            if isinstance(event, c.ThreadItemAddedEvent):
                found.setdefault(event.item.id, event.item)
            elif isinstance(event, c.ThreadItemDoneEvent | c.ThreadItemReplacedEvent):
                found[event.item.id] = event.item
    return list(found.values())


def attachment(facts: dict[str, Any]) -> Any:
    return c.FileAttachment(id=facts["id"], name=facts["name"], mime_type=facts["mediaType"])
