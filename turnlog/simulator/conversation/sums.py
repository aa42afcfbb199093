"""Sums in exact decimals, and the time. What could mean two numbers is asked about."""

import ast
import operator
import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from .plans import Batch, Desk, Plan
from .tools import Ended
from .wording import failure

# fmt: off
SIGNS = {"plus": "+", "minus": "-", "times": "*", "multiplied by": "*", "divided by": "/",
         "x": "*", "×": "*", "÷": "/"}
OPERATORS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
}
UNCLEAR = (
    (r"\d,\d",                  "I cannot tell what the comma means"),
    (r"\b\d+([-/.])\d+\1\d+\b", "I cannot tell a date from a sum"),
    (r"%|percent\b",            "I know percent only as in “15% of 240”"),
)
# fmt: on
PERCENT = re.compile(r"([\d.]+) ?(?:%|percent) of ([\d.]+)", re.I)
SPOKEN = re.compile(rf"(?<=[\d)]) ?({'|'.join(SIGNS)}) ?(?=[-\d(.])", re.I)


def total(desk: Desk, sum: str) -> Plan:
    """By the tool for it, or by itself where none is offered."""
    expression = PERCENT.sub(r"\1 / 100 * \2", sum)
    expression = SPOKEN.sub(lambda match: f" {SIGNS[match[1].lower()]} ", expression)
    why = next((why for pattern, why in UNCLEAR if re.search(pattern, expression, re.I)), "")
    value = None if why else _value(expression)
    if value is None:
        why = why or "I know only numbers, + - * / and brackets"
        raise Ended(f"{why}, so I do not compute “{sum}”. Please write it like 12.5 + 3 * 1200")
    if "calculate" not in desk.tools:
        number = Decimal(value.numerator) / Decimal(value.denominator)
        about = "" if Fraction(number) == value else "about "
        return f"{sum} = {about}{number.normalize():f}."
    (done,) = yield Batch([desk.call("calculate", expression=expression)])
    result = done.value.get("result", done.text) if isinstance(done.value, dict) else done.text
    return failure(done) if done.failed else f"{sum} = {result}."


def _value(expression: str) -> Fraction | None:
    def value(node: ast.expr) -> Fraction:
        match node:
            case ast.Constant(value=int() | float()):
                return Fraction(ast.get_source_segment(expression, node) or "")
            case ast.BinOp(op=op) if type(op) in OPERATORS:
                return Fraction(OPERATORS[type(op)](value(node.left), value(node.right)))
            case ast.UnaryOp(op=ast.USub()):
                return -value(node.operand)
        raise ValueError(expression)

    try:
        return value(ast.parse(expression, mode="eval").body)
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError, MemoryError):
        return None


def time(desk: Desk) -> Plan:
    (done,) = yield Batch([desk.call("current_time")])
    utc = done.value.get("utc", done.text) if isinstance(done.value, dict) else done.text
    time = str(utc).replace("T", " ").replace("+00:00", " UTC")
    return failure(done) if done.failed else f"It is {time}."
