"""The agents that a newcomer meets: an assistant with every tool there is, the ERP, the tasks."""

import ast
import operator
from collections.abc import Callable
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from turnlog.contrib.tasks.agent import TASKS
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
You are a helpful assistant with tools for the user's tasks, for their ERP (Microsoft Dynamics 365
Business Central), for the time and for sums. Use them where they help: look things up before you
speak about them, and never invent a number or a name. Answer briefly.
"""


def agents(erp: Agent) -> list[Agent]:
    """The first one answers where a session names none."""
    tools = [current_time, calculate, *erp.tools]
    return [Agent("assistant", prompt=PROMPT, tools=tools, mcp=TASKS.mcp), erp, TASKS]
