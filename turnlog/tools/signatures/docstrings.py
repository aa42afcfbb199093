"""What a docstring says about parameters: in the styles of Google, NumPy and Sphinx."""

import inspect
import re
from collections.abc import Callable, Collection
from typing import NamedTuple

_GOOGLE = re.compile(r"^(?:Args|Arguments|Parameters|Params):\s*$")
_NUMPY = re.compile(r"^(?:Parameters|Other Parameters)\s*$")
_UNDERLINE = re.compile(r"^-{3,}\s*$")
_HEADING = re.compile(r"^[A-Z][\w ]*:\s*$")
_ITEM = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")
_NUMPY_ITEM = re.compile(r"^\*{0,2}(\w+)\s*(?::.*)?$")
_SPHINX = re.compile(r"^:(?:param|parameter|arg|argument)\s+(?:[^:]*\s)?\*{0,2}(\w+)\s*:\s*(.*)$")
_SPHINX_TYPE = re.compile(r"^:(?:type)\s+\w+\s*:")


class Documented(NamedTuple):
    """A docstring without what it says about parameters, and that, by their names."""

    text: str
    parameters: dict[str, str]


def read(docstring: str | None, names: Collection[str]) -> Documented:
    """Only what is said about these names is taken out; everything else stays in the text."""
    lines = inspect.cleandoc(docstring or "").splitlines()
    found: dict[str, str] = {}
    kept: list[str] = []
    at = 0
    while at < len(lines):
        reader = _reader(lines, at)
        if reader is None:
            kept.append(lines[at])
            at += 1
            continue
        rest, section, at = reader(lines, at, names)
        kept += rest
        found |= section
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()
    return Documented(text, {name: text for name, text in found.items() if text})


Reader = Callable[[list[str], int, Collection[str]], tuple[list[str], dict[str, str], int]]


def _reader(lines: list[str], at: int) -> Reader | None:
    line = lines[at]
    following = lines[at + 1] if at + 1 < len(lines) else ""
    if _NUMPY.match(line) and _UNDERLINE.match(following):
        return _numpy
    if _GOOGLE.match(line) and following.startswith((" ", "\t")):
        return _google
    return _sphinx if _SPHINX.match(line) or _SPHINX_TYPE.match(line) else None


def _google(
    lines: list[str], at: int, names: Collection[str]
) -> tuple[list[str], dict[str, str], int]:
    """Items are indented once, what goes on deeper."""
    end = _end(lines, at + 1, lambda line: not line.startswith((" ", "\t")))
    body = inspect.cleandoc("\n" + "\n".join(lines[at + 1 : end])).splitlines()
    found, others = _items(body, _ITEM, names)
    return ([lines[at], *(f"    {line}" for line in others)] if others else []), found, end


def _numpy(
    lines: list[str], at: int, names: Collection[str]
) -> tuple[list[str], dict[str, str], int]:
    """An item stands at the margin, its text is indented below."""
    end = at + 2
    while end < len(lines):
        if end + 1 < len(lines) and _UNDERLINE.match(lines[end + 1]):
            break
        end += 1
    found, others = _items(lines[at + 2 : end], _NUMPY_ITEM, names)
    return ([*lines[at : at + 2], *others] if others else []), found, end


def _sphinx(
    lines: list[str], at: int, names: Collection[str]
) -> tuple[list[str], dict[str, str], int]:
    item = _SPHINX.match(lines[at])
    end = _end(lines, at + 1, lambda line: not line.startswith((" ", "\t")))
    if item is None or item[1] not in names:
        is_type = _SPHINX_TYPE.match(lines[at])
        return ([] if is_type else lines[at:end]), {}, end
    return [], {item[1]: _joined([item[2], *lines[at + 1 : end]])}, end


def _items(
    body: list[str], item: re.Pattern[str], names: Collection[str]
) -> tuple[dict[str, str], list[str]]:
    """What is said about the names, and the lines about anything else."""
    found: dict[str, list[str]] = {}
    others: list[str] = []
    current: list[str] = others
    for line in body:
        match = item.match(line)
        if match and match[1] in names:
            first = match[2] if match.re.groups > 1 else ""
            current = found.setdefault(match[1], [first])
        elif match and not line.startswith((" ", "\t")):
            current = others
            others.append(line)
        elif line.strip() or current is not others:
            current.append(line)
    return {name: _joined(lines) for name, lines in found.items()}, others


def _end(lines: list[str], at: int, is_outside: Callable[[str], bool]) -> int:
    while at < len(lines) and not (lines[at].strip() and is_outside(lines[at])):
        at += 1
    return at


def _joined(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())
