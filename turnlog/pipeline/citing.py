"""Citations are followed to their sources, before the answer is kept.

What is found is kept with the answer: a reload shows the same, also when a file is gone.
"""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from turnlog.errors import BadInput, NotFound, TooLarge, TurnlogError
from turnlog.events import kinds as k
from turnlog.events.content import Block, Citation
from turnlog.ports import Attachments, Batch, Hidden, Output
from turnlog.projections.citations import Row, Source, Sources, judged, located, place_of

MOST = 200  # citations of one answer that are followed


def sources_in(messages: Sequence[dict[str, object]], files: dict[int, Source]) -> Sources:
    """What a prompt has that can be cited. `files`: by the identity of a block's source, which
    repairs leave as it is.
    """
    documents: list[Source] = []
    others: list[Block] = []
    for block in (block for message in messages for block in _blocks(message["content"])):
        if block["type"] == "document":
            documents.append(files.get(id(block.get("source")), Source("", "")))
        elif block["type"] == "tool_result":
            others += _blocks(block.get("content"))
        else:
            others.append(block)
    return Sources(documents).plus(others)


def _blocks(content: object) -> list[Block]:
    return content if isinstance(content, list) else []


async def followed(
    batch: Batch,
    sources: Callable[[], Sources] | None,
    found: Sequence[Block],
    user_id: str,
    files: Attachments,
) -> Batch:
    """The same batch. An answer in it knows whether its citations hold, and where they stand.

    `sources`: what its agent was given when it was asked; None: that is not known. `found`: what
    searches have found since.
    """
    message = _answer_in(batch)
    if message is None or not message.cites:
        return batch
    known = sources and sources().plus([*found, *message.blocks])  # it may have searched itself
    cited = [await _follow(c, known, user_id, files) for c in message.citations[:MOST]]
    if not any(cited):
        return batch
    message = replace(message, cited=cited)
    return replace(batch, outputs=[_changed(each, message) for each in batch.outputs])


def can_be_followed(batch: Batch) -> bool:
    """Whether there is an answer in it that has citations."""
    message = _answer_in(batch)
    return message is not None and message.cites


def _answer_in(batch: Batch) -> k.Message | None:
    for output in batch.outputs:
        match output:
            case (k.Message() as message) | Hidden(event=k.Message() as message):
                return message
    return None


def _changed(output: Output, message: k.Message) -> Output:
    match output:
        case k.Message():
            return message
        case k.CitationsFound():
            return replace(output, citations=message.citations)
        case Hidden(event=k.Message()):
            return replace(output, event=message)
    return output


async def _follow(
    citation: Citation, sources: Sources | None, user_id: str, files: Attachments
) -> Row:
    place = place_of(citation, sources.documents if sources else ())
    if place is None:
        return judged(citation, sources) if sources else {}
    try:
        pages = await files.pages(user_id, place.file_id, place.pages)
        return located(citation, place, {page.page: page.text for page in pages})
    except TooLarge:  # too long to look through
        return {}
    except BadInput:  # there is no such page
        return located(citation, place, None)
    except NotFound:  # deleted meanwhile, or of a library that the user reads and does not own
        is_found = citation.get("type") == "search_result_location"
        return judged(citation, sources) if sources and is_found else {}
    except TurnlogError:  # its bytes cannot be read now: the answer is kept all the same
        return {}
