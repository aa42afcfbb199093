"""Citations are followed to the files that they name, before the answer is kept.

What is found is kept with the answer: a reload shows the same, also when a file is gone.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from turnlog.errors import BadInput, NotFound
from turnlog.events import kinds as k
from turnlog.events.content import Block, Citation
from turnlog.ports import Attachments, Batch, Hidden, Output
from turnlog.projections.citations import Row, Source, located, place_of

MOST = 200  # citations of one answer that are followed
Documents = Sequence[Source]


def documents_in(messages: Sequence[dict[str, object]], files: dict[int, Source]) -> list[Source]:
    """The documents of a prompt in the order in which the API counts them. `files`: by the
    identity of a block's source, which repairs leave as it is.
    """
    found: list[Source] = []
    for message in messages:
        content = message["content"]
        blocks: list[Block] = content if isinstance(content, list) else []
        for block in blocks:
            if block["type"] == "document":
                found.append(files.get(id(block.get("source")), Source("", "")))
    return found


async def followed(batch: Batch, documents: Documents, user_id: str, files: Attachments) -> Batch:
    """The same batch. An answer in it knows where its citations stand."""
    outputs = [each.event if isinstance(each, Hidden) else each for each in batch.outputs]
    message = next((each for each in outputs if isinstance(each, k.Message)), None)
    if message is None or not message.citations:
        return batch
    cited = [await _follow(c, documents, user_id, files) for c in message.citations[:MOST]]
    if not any(cited):
        return batch
    message = replace(message, cited=cited)
    return replace(batch, outputs=[_changed(each, message) for each in batch.outputs])


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
    citation: Citation, documents: Documents, user_id: str, files: Attachments
) -> Row:
    place = place_of(citation, documents)
    if place is None:
        return {}
    try:
        pages = await files.pages(user_id, place.file_id, place.pages)
        return located(citation, place, {page.page: page.text for page in pages})
    except BadInput:  # there is no such page
        return located(citation, place, None)
    except NotFound:  # deleted meanwhile, or of a library that the user reads and does not own
        return {}
