"""A question is admitted with its files, and becomes the event that its turn begins with.

Questions and texts are checked here, before anything happens.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import UNSET

from turnlog.errors import BadInput, TooLarge
from turnlog.events import kinds as k
from turnlog.events.content import Sampling
from turnlog.events.ids import new_id
from turnlog.ports import Attachments, File, Question, Session
from turnlog.ports.files import MOST_FILES
from turnlog.projections.history.attachments import too_much

LEAST_BUDGET, MOST_BUDGET = 1_000, 100_000
MOST_REQUEST_ID = 200
MOST_STOPS, MOST_STOP = 4, 200  # texts, characters of each
DEEPEST = 64  # levels of arguments


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a question and its answer may cost."""

    model: str
    max_tokens: int = 8192
    max_calls: int = 50
    max_characters: int = 200_000
    searches: int = 10  # on the web, in one session
    history_tokens: int = 150_000  # of one prompt: beyond, what came first is summarized


async def admitted_files(
    question: Question, limits: Limits, session: Session, attachments: Attachments
) -> list[File]:
    """The question's files. Raises what the question is refused by: NotFound for a
    file that is not the user's, before anything else happens with it.
    """
    _admit(question, limits)
    is_left_out = question.enable_thinking is None  # who says "off" may keep a budget
    if question.thinking_budget is not None and is_left_out and not session.thinking_enabled:
        raise BadInput(
            "'thinkingBudget' is for a message that thinks: add \"enableThinking\": true."
        )
    files = [await attachments.get(session.user_id, file_id) for file_id in question.file_ids]
    if files:
        _admit_together(files, limits)
    return files


def question_event(question: Question, files: Sequence[File]) -> k.UserMessageSent:
    """The event that a question begins its turn with."""
    return k.UserMessageSent(
        message_id=question.message_id or new_id(),
        content=question.message,
        files=[file.facts for file in files],
        file_details=[file.details for file in files],
        enable_thinking=question.enable_thinking,
        request_id=question.request_id,
        thinking_budget=question.thinking_budget,
        sampling=question.sampling or UNSET,
        client_tools=question.client_tools,
        roles=question.roles or UNSET,
    )


def _admit(question: Question, limits: Limits) -> None:
    """Refuse what cannot be asked, before anything happens."""
    _check_text(question.message, limits.max_characters)
    if question.thinking_budget is not None:
        check_budget(question.thinking_budget, "thinkingBudget")
    if question.sampling is not None:
        _check_sampling(question.sampling)
    if question.request_id is not None:
        _check_request_id(question.request_id)
    if question.file_ids:
        _check_file_ids(question.file_ids)


def _admit_together(files: Sequence[File], limits: Limits) -> None:
    """Refuse what no request can hold together."""
    if too_much([file.facts | file.details for file in files], limits.model):
        raise TooLarge("These files are too large to be sent in one message. Send fewer of them.")


def _check_file_ids(ids: Sequence[str]) -> None:
    if len(ids) > MOST_FILES:
        raise TooLarge(f"A message may have {MOST_FILES} files; this one has more.")


def _check_sampling(sampling: Sampling) -> None:
    if sampling.max_tokens is not None and sampling.max_tokens < 1:
        raise BadInput("The limit of tokens must be 1 or more.")
    if len(sampling.stop) > MOST_STOPS or any(not 0 < len(s) <= MOST_STOP for s in sampling.stop):
        raise BadInput(
            f"'stop' takes up to {MOST_STOPS} texts, each with 1 to {MOST_STOP} characters."
        )
    for text in sampling.stop:
        check_characters(text, "stop")
        if not text.strip():
            raise BadInput("'stop' must hold more than spaces.")


def _check_request_id(text: str) -> None:
    if not 0 < len(text) <= MOST_REQUEST_ID:  # an empty one would be the same for every message
        raise BadInput(f"'requestId' must have 1 to {MOST_REQUEST_ID} characters.")
    check_characters(text, "requestId")


def check_budget(tokens: int, name: str) -> None:
    if not LEAST_BUDGET <= tokens <= MOST_BUDGET:
        raise BadInput(f"{name!r} must be between {LEAST_BUDGET} and {MOST_BUDGET}.")


def _check_text(text: str, most: int) -> None:
    if not text.strip():
        raise BadInput("'message' is empty: say what you want to ask.")
    if len(text) > most:
        raise TooLarge(f"'message' has {len(text)} characters; the limit is {most}.")
    check_characters(text, "message")


def check_characters(text: str, name: str) -> None:
    """What no store can write: NUL, and halves of characters."""
    if "\0" in text:
        raise BadInput(f"{name!r} has a NUL character at position {text.index(chr(0))}.")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise BadInput(f"{name!r} has half a character at position {error.start}.") from None


def check_texts(value: Any, name: str) -> None:
    """The same for every text in a JSON value, its names included; and how deep it is nested."""
    left = [(value, 0)]
    while left:  # not by recursion, which ends somewhere else each time
        inner, depth = left.pop()
        if depth > DEEPEST:
            raise BadInput(f"{name!r} is nested deeper than {DEEPEST} levels.")
        match inner:
            case str():
                check_characters(inner, name)
            case dict():
                left += [(each, depth + 1) for each in (*inner, *inner.values())]
            case list():
                left += [(each, depth + 1) for each in inner]
