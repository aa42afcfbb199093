"""A question with its files: admitted, and as the event that its turn begins with."""

from collections.abc import Sequence

from msgspec import UNSET

from turnlog.events import kinds as k
from turnlog.pipeline.admission import Limits, admit, admit_files
from turnlog.pipeline.turn_state import new_id
from turnlog.ports import Attachments, File, Question


async def admitted_files(
    question: Question, limits: Limits, user_id: str, attachments: Attachments
) -> list[File]:
    """The question's files. Raises what the question is refused by: NotFound for a
    file that is not the user's, before anything else happens with it.
    """
    admit(question, limits)
    files = [await attachments.get(user_id, file_id) for file_id in question.file_ids]
    if files:
        admit_files(files, limits)
    return files


def sent(question: Question, files: Sequence[File]) -> k.UserMessageSent:
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
