"""Documents of a library, and what is found in them."""

import msgspec

MOST_DOCUMENTS = 2_000  # of one owner
MOST_CHARACTERS = 20_000_000  # of one document


class Document(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A document in somebody's library."""

    id: str
    owner: str  # "user:alice" or "team:sales"
    title: str
    source: str  # "file:ID" where it was uploaded
    state: str  # waiting | ready | failed
    done: int  # passages that are indexed, of `passages`
    passages: int
    error: str | None
    added_at: str
    added_by: str


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A passage that answers a question, and where it stands."""

    passage_id: int
    document_id: str
    title: str
    source: str
    heading: str
    page: int | None
    text: str

    @property
    def place(self) -> str:
        """For a citation: the source, and its page where it has pages."""
        return f"{self.source}#page={self.page}" if self.page else self.source
