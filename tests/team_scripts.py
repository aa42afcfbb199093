"""Random conversations of a team: who says, calls and hands over what, at each of its calls."""

from collections import Counter

from hypothesis import strategies as st

from turnlog import Agent, tool
from turnlog.events import kinds as k
from turnlog.simulator import Reply, ToolCall, failure

NAMES = ("supervisor", "erp", "tasks")
SECRET = "only-for-agents"  # stands in every reason of a hand-over: no user may see it
RAN = Counter()  # by tool


@tool(writes=False)
async def look() -> str:
    """Look."""
    return "seen"


@tool(writes=True, approval="never")
async def write(key: str) -> str:
    """Write, once for each key."""
    RAN[key] += 1
    return "written"


AGENTS = [
    Agent(
        name,
        prompt=f"You are {name}.",
        description=f"Knows {name}.",
        tools=[look, write],
        hands_over_to=[other for other in NAMES if other != name],
    )
    for name in NAMES
]
others = st.sampled_from(NAMES)
acts = st.one_of(
    st.tuples(st.sampled_from(["say", "look", "write", "say and look", "fail"])),
    st.tuples(st.sampled_from(["hand", "say and hand", "look and hand"]), others),
    st.tuples(st.just("hand to all")),
)
# By agent: what it does at its first call, its second, …; after that it answers.
plans = st.fixed_dictionaries({name: st.lists(acts, max_size=3) for name in NAMES})


class Team:
    """Answers as the plan says. One for each conversation."""

    def __init__(self, plan):
        self._plan = plan
        self._calls = Counter()
        self._made = 0

    def __call__(self, body):
        system = body["system"]
        text = system if isinstance(system, str) else system[0]["text"]
        me = text.removeprefix("You are ").removesuffix(".")
        number = self._calls[me]
        self._calls[me] += 1
        plan = self._plan[me]
        act, *to = plan[number] if number < len(plan) else ("say",)
        return self._reply(me, act, [name for name in to if name != me])

    def _reply(self, me, act, to):
        if act == "fail":
            return failure("invalid_request_error", "no")
        if act == "hand to all":
            to = [name for name in NAMES if name != me]
        says = [f"{me} speaks."] if "say" in act else []
        tools = [self._call("look")] if "look" in act else []
        tools += [self._call("write", key=f"{id(self)}-{self._made}")] if "write" in act else []
        reason = {"reason": f"{SECRET} {self._made}"}
        blocks = [*says, *tools, *(self._call(f"transfer_to_{name}", **reason) for name in to)]
        return Reply(*(blocks or [f"{me} has nobody to hand over to."]))

    def _call(self, name, **args):
        self._made += 1
        return ToolCall(name, args, f"toolu_{id(self)}_{self._made}")


def unanswered(log):
    """The agent of each call without a result. Every result must be of the agent that asked."""
    callers = {}
    for entry in log:
        match entry.event:
            case k.ToolUse(tool_use_id=call):
                callers[call] = entry.envelope.agent.id
            case k.ToolResult(tool_use_id=call):
                assert callers.pop(call) == entry.envelope.agent.id
    return callers
