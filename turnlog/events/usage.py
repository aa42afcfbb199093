"""What the API reported, in the parts that it is billed by.

Most answers have one part. One that was compacted, advised or handed to another model lists
`iterations`, each with a model of its own; what the advisor and the compaction used is in no
other place of the report.

A report is kept as it came. What is counted of it is clamped: a provider that reports nonsense
must not cost anybody an answer.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple, TypeGuard

import msgspec

Reported = dict[str, Any]  # the usage object of the Messages API, as it was sent
MOST_TOKENS = 100_000_000  # of one kind in one part: no call comes near
MOST_SEARCHES = 1_000


class UsagePart(NamedTuple):
    """What one model used. `input_tokens` does not include what went through the cache."""

    kind: str  # message | compaction | advisor_message | fallback_message
    model: str
    input_tokens: int = 0
    output_tokens: int = 0
    write_5m_tokens: int = 0
    write_1h_tokens: int = 0
    read_tokens: int = 0
    thinking_tokens: int | None = None  # part of output_tokens; None where not reported
    web_searches: int = 0
    service_tier: str = "standard"
    geo: str = ""
    speed: str = "standard"

    @property
    def prompt_tokens(self) -> int:
        return self.input_tokens + self.write_5m_tokens + self.write_1h_tokens + self.read_tokens

    @property
    def total_tokens(self) -> int:
        return self.prompt_tokens + self.output_tokens


def parts_of(model: str, reported: Reported) -> tuple[UsagePart, ...]:
    """One part for each model call that the report lists; without a list, one for all of it.

    `model`: of a part that names none; "" where that does not matter.
    """
    report = msgspec.json.encode(reported)
    return _parts_of(model, report) if model else _read(report)


# An answer is counted, priced, billed and measured: its report is read once.
@lru_cache(maxsize=100)
def _parts_of(model: str, report: bytes) -> tuple[UsagePart, ...]:
    return tuple([part if part.model else part._replace(model=model) for part in _read(report)])


@lru_cache(maxsize=100)
def _read(report: bytes) -> tuple[UsagePart, ...]:
    """The same for a report as JSON. A part that names no model has none."""
    reported: Reported = msgspec.json.decode(report)
    iterations = [each for each in _list(reported.get("iterations")) if isinstance(each, dict)]
    parts = [_part(each, reported) for each in iterations or [reported]]
    answered = _last(parts)
    parts[answered] = parts[answered]._replace(**_beside(reported))
    return tuple(parts)


def _part(counts: Reported, reported: Reported) -> UsagePart:
    five_minutes, hour = _writes(counts)
    return UsagePart(
        kind=_word(counts, "type", "message"),
        model=_word(counts, "model", ""),
        input_tokens=_count(counts, "input_tokens"),
        output_tokens=_count(counts, "output_tokens"),
        write_5m_tokens=five_minutes,
        write_1h_tokens=hour,
        read_tokens=_count(counts, "cache_read_input_tokens"),
        service_tier=_word(reported, "service_tier", "standard"),
        geo=_word(reported, "inference_geo", ""),
        speed=_word(reported, "speed", "standard"),
    )


def _beside(reported: Reported) -> dict[str, Any]:
    """What is reported once for the whole answer: it is counted with the part that answered."""
    details = _table(reported, "output_tokens_details")
    known = _is_number(details.get("thinking_tokens"))
    return {
        "thinking_tokens": _count(details, "thinking_tokens") if known else None,
        "web_searches": searches_of(reported),
    }


def searches_of(reported: Reported) -> int:
    """How many web searches are billed."""
    if "server_tool_use" not in reported:
        return 0
    return _count(_table(reported, "server_tool_use"), "web_search_requests", MOST_SEARCHES)


def _last(parts: list[UsagePart]) -> int:
    answers = [n for n, part in enumerate(parts) if part.kind in ("message", "fallback_message")]
    return answers[-1] if answers else len(parts) - 1


def _writes(counts: Reported) -> tuple[int, int]:
    """Cache writes for five minutes and for an hour.

    The end of a stream gives the sum only, the start also which is which. Where the sum has
    grown since, the rest is taken to be of the one kind that there was.
    """
    split = _table(counts, "cache_creation")
    five_minutes = _count(split, "ephemeral_5m_input_tokens")
    hour = _count(split, "ephemeral_1h_input_tokens")
    known = counts.get("cache_creation_input_tokens") is not None
    total = _count(counts, "cache_creation_input_tokens") if known else five_minutes + hour
    hour = total if hour and not five_minutes else min(hour, total)
    return total - hour, hour


def _count(counts: Reported, name: str, most: int = MOST_TOKENS) -> int:
    """Absent, null, negative, fractions and nonsense count as nothing; too many as `most`."""
    value = counts.get(name)
    if type(value) is int and 0 <= value <= most:  # as it nearly always is
        return value
    return int(min(max(value, 0), most)) if _is_number(value) else 0


def _is_number(value: Any) -> TypeGuard[int | float]:
    if isinstance(value, float):
        return value.is_integer()
    return isinstance(value, int) and not isinstance(value, bool)


def _word(counts: Reported, name: str, default: str) -> str:
    value = counts.get(name)
    return value if isinstance(value, str) and value else default


def _table(counts: Reported, name: str) -> Reported:
    value = counts.get(name)
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> Iterator[Any]:
    return iter(value if isinstance(value, list) else ())
