"""The team that a newcomer meets: a supervisor, and agents for the ERP and for tasks."""

import ast
import operator
from collections.abc import Callable
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from turnlog.errors import ToolError
from turnlog.ports import Agent
from turnlog.tools.tool import tool

_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.USub: operator.neg,
}


@tool(writes=False)
def current_time() -> dict[str, str]:
    """The current date and time in UTC."""
    return {"utc": datetime.now(UTC).isoformat(timespec="seconds")}


@tool(writes=False)
def calculate(expression: str) -> dict[str, float | int]:
    """Compute an arithmetic expression of numbers, + - * / and brackets."""
    try:
        result = _value(ast.parse(expression[:500], mode="eval").body)
        number = float(result)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ToolError(f"{expression!r} is not an arithmetic expression.") from None
    except (ZeroDivisionError, OverflowError) as error:
        raise ToolError(f"{expression!r}: {error}.") from None
    is_whole = result.denominator == 1 and abs(result) < 2**63
    return {"result": int(result) if is_whole else number}


def _value(node: ast.AST) -> Fraction:
    match node:
        case ast.Constant(value=int() | float() as number):
            return Fraction(repr(number))  # as it is written: 0.1 is a tenth
        case ast.BinOp(op=op) if type(op) in _OPERATORS:
            result: Fraction = _OPERATORS[type(op)](_value(node.left), _value(node.right))
            return result
        case ast.UnaryOp(op=ast.USub()):
            return -_value(node.operand)
    raise ToolError("Only numbers, + - * / and brackets are understood.")


PROMPT = """\
You are the supervisor of a small team, and the first to answer the user. Others in the team have
the tools: hand over to the one whose description fits. If a question has parts for several of
them, hand each its part in the same answer; their answers come back to you, and you give the user
one answer made of them. Greetings, sums, the time and questions about the conversation you answer
yourself. Never invent a number or a name: who looks it up is in your team. Answer briefly.
"""


def agents(*workers: Agent) -> list[Agent]:
    """The supervisor answers where a session names none. A session that names one of the others
    is answered by that one alone."""
    supervisor = Agent(
        "supervisor",
        prompt=PROMPT,
        description="Routes to the others.",
        tools=[current_time, calculate],
        web_search=True,  # where the session's user switches it on
        hands_over_to=[worker.id for worker in workers],
    )
    return [supervisor, *workers]
