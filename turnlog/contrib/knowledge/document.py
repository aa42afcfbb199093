"""What is found in the documents of a library, and how much fits into one."""

import msgspec

MOST_DOCUMENTS = 2_000  # of one owner
MOST_PASSAGES = 250_000  # the same: some hundred megabytes of text
MOST_CHARACTERS = 20_000_000  # of one document


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
