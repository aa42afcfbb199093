"""What a graph streams, as batches. Modes: messages, tasks, custom; with subgraphs.

A message that a node returns is said by its agent. A model's call whose message no node returns,
and of which nothing was shown, is a decision of the graph, such as a route: it is kept and
billed, and not shown.
"""

from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from msgspec import UNSET

from turnlog.engines.langgraph.beginnings import Mark
from turnlog.engines.langgraph.calls import ModelCall
from turnlog.engines.langgraph.pauses import Interrupted, new_call_id
from turnlog.errors import EngineFailed
from turnlog.events import kinds as k
from turnlog.events.base import AgentRef, Event
from turnlog.events.content import writable
from turnlog.events.handovers import is_reserved
from turnlog.ports import Batch, CallStarted, Hidden, OpenCall, Output, SpeakerChanged

NOT_JSON = "The arguments were not a JSON object. Nothing was run."
BROKEN_OFF = "The model's answer broke off in the call of a tool."
DEEP = 4  # how far into a node's result messages are looked for


class Reading:
    """Reads the stream of one run."""

    def __init__(
        self,
        root: AgentRef,
        name: str,
        open_calls: dict[str, OpenCall],
        taken: Collection[str] = (),
        renamed: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """`root`: the agent that the graph is, whose nodes say that they belong to `name`.
        `taken`: ids that earlier calls have. `renamed`: ids of open calls, by those of the graph.
        """
        self._root = root
        self._name = name
        self._speaker = root
        self._writing: dict[str, ModelCall] = {}  # by the message's id
        self._done: set[str] = set()
        self._inputs: dict[str, Any] = {}  # of the nodes at work
        self._unsaid: list[str] | None = []  # results since the last message; None: an answer
        self._taken = {*taken, *open_calls}
        self.renamed = dict(renamed)
        self.open_calls = open_calls
        self.interrupts: dict[str, Interrupted] = {}

    def feed(self, namespace: tuple[str, ...], mode: str, payload: Any) -> Iterator[Batch]:
        if mode == "messages":
            message, about = payload
            if isinstance(message, AIMessage):
                yield from self._said(namespace, message, about)
            elif isinstance(message, ToolMessage):
                yield from self._answered(message)
        elif mode == "tasks" and "input" in payload:
            self._inputs[payload["id"]] = payload["input"]
        elif mode == "tasks":
            yield from self._task_over(payload)
        elif isinstance(payload, Mark):
            yield from self._begins(payload.tool_use_id)

    @property
    def is_at_work(self) -> bool:
        """Whether a node runs. While none does, the graph waits until its stream is read."""
        return bool(self._inputs)

    def rest(self) -> Iterator[Batch]:
        """The calls whose node said no end."""
        for call in list(self._writing.values()):
            yield from self._over(call, is_returned=True)

    def answer(self) -> Iterator[Batch]:
        """A turn ends with an answer. Where the graph gave none, its last results are the answer,
        as those of a tool with `return_direct` are.
        """
        if self._unsaid is not None:
            text = "\n\n".join(self._unsaid)
            yield from self._said((), AIMessage(text, id="turnlog-answer"), {})

    # what models say

    def _said(
        self, namespace: tuple[str, ...], message: AIMessage, about: dict[str, Any]
    ) -> Iterator[Batch]:
        key = message.id or ""
        if key in self._done:
            return
        call = self._writing.get(key)
        if call is None:
            call = ModelCall(key, self._agent(namespace, about), _task(about))
            yield from self._begun(call)
            self._writing[key] = call
            call.model = writable(str(about.get("ls_model_name") or ""))
            started = CallStarted(message_id="", model=call.model, reported={})
            yield Batch([started], call.agent, key)
        for event in call.add(message):
            yield Batch([event], call.agent, key)
        if type(message) is AIMessage:  # whole, and returned by a node
            yield from self._over(call, is_returned=True)

    def _begun(self, call: ModelCall) -> Iterator[Batch]:
        if call.agent != self._speaker and not self._writing:
            before, self._speaker = self._speaker, call.agent
            yield Batch([SpeakerChanged(to=call.agent)], before)

    def _agent(self, namespace: tuple[str, ...], about: dict[str, Any]) -> AgentRef:
        """By the name of the agent, or else by the node that the subgraph stands in."""
        node = namespace[0].partition(":")[0] if namespace else ""
        name = about.get("lc_agent_name") or node
        if not name or (not namespace and name == self._name):
            return self._root
        return AgentRef(id=name, name=name.replace("_", " ").title())

    def _over(self, call: ModelCall, *, is_returned: bool) -> Iterator[Batch]:
        """The call's message is whole. With it come the tools that it asks for."""
        del self._writing[call.key]
        self._done.add(call.key)
        for made in call.tool_calls.values():
            made.id = self._own_id(made.id)
        with_calls = is_returned and bool(call.calls)
        routes = with_calls and all(is_reserved(use.tool_name) for use in call.calls)
        is_hidden = not call.is_shown and (routes or not is_returned)
        if with_calls or not is_hidden:
            self._unsaid = [] if with_calls else None
        outputs: list[Output] = [
            Hidden(event=each) if is_hidden else each for each in call.ended(with_calls=with_calls)
        ]
        for use in call.calls if with_calls else ():
            hidden = is_reserved(use.tool_name)
            outputs.append(Hidden(event=use) if hidden else use)
            opened = OpenCall(call=use, agent=call.agent, hidden=hidden)
            if use.tool_use_id in call.unreadable:
                outputs.append(_result(opened, None, NOT_JSON))
            else:
                self.open_calls[use.tool_use_id] = opened
        yield Batch(outputs, call.agent, call.key)
        if with_calls and call.breaks_off:
            raise EngineFailed("stream_cut", BROKEN_OFF, retryable=True)

    def _own_id(self, theirs: str) -> str:
        """Some models number the calls of each answer anew: such an id gets one of ours."""
        own = theirs
        if theirs in self._taken:
            own = self.renamed[theirs] = new_call_id()
        self._taken.add(own)
        return own

    # what tools do

    def _begins(self, theirs: str | None) -> Iterator[Batch]:
        """A tool that begins was asked for, also where the node that asked runs it by itself."""
        for call in [each for each in self._writing.values() if each.asks_for(theirs)]:
            yield from self._over(call, is_returned=True)

    def _answered(self, message: ToolMessage) -> Iterator[Batch]:
        theirs = writable(message.tool_call_id)
        opened = self.open_calls.pop(self.renamed.get(theirs, theirs), None)
        if opened is not None:
            text = writable(str(message.text))
            self._unsaid = [*(self._unsaid or ()), text]
            failed = message.status == "error"
            given = _result(opened, None, text) if failed else _result(opened, text)
            yield Batch([given], opened.agent)

    # what nodes return

    def _task_over(self, payload: dict[str, Any]) -> Iterator[Batch]:
        task = payload["id"]
        given = self._inputs.pop(task, None)
        returned = {message.id for message in _messages(payload.get("result"))}
        for call in [each for each in self._writing.values() if each.task == task]:
            yield from self._over(call, is_returned=call.key in returned)
        for each in payload.get("interrupts") or ():
            if each["id"] not in self.interrupts:
                about = self._call_in(given)
                self.interrupts[each["id"]] = Interrupted(each["id"], each["value"], about)

    def _call_in(self, given: Any) -> k.ToolUse | None:
        """The call that a node works on, if it is one."""
        calls = given if isinstance(given, list) else [given]
        inside = [each.get("tool_call", each) for each in calls if isinstance(each, dict)]
        ids = [self.renamed.get(id, id) for each in inside if isinstance(id := each.get("id"), str)]
        opened = self.open_calls.get(ids[0]) if len(inside) == len(ids) == 1 else None
        return opened.call if opened else None


def _result(opened: OpenCall, value: str | None, error: str | None = None) -> Output:
    result: Event = k.ToolResult(
        tool_use_id=opened.call.tool_use_id,
        tool_name=opened.call.tool_name,
        result=value,
        success=error is None,
        duration=0,
        error=UNSET if error is None else error,
    )
    return Hidden(event=result) if opened.hidden else result


def _task(about: dict[str, Any]) -> str:
    """The id of the innermost node that the message comes from."""
    place = str(about.get("langgraph_checkpoint_ns") or "")
    return place.rpartition("|")[2].rpartition(":")[2]


def _messages(value: Any, deep: int = DEEP) -> Iterator[BaseMessage]:
    if isinstance(value, BaseMessage):
        yield value
    elif deep:
        inside = value.values() if isinstance(value, dict) else value
        for each in inside if isinstance(inside, list | tuple) or isinstance(value, dict) else ():
            yield from _messages(each, deep - 1)
