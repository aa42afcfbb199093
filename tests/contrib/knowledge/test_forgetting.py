"""What is deleted from a library is gone from its files."""

from turnlog.contrib.knowledge.library import Library
from turnlog.contrib.knowledge.passages import Page

ALICE = "user:alice"


async def add(library, title, text):
    document = await library.add(ALICE, title, [Page(text)], source="text", by="test")
    await library.indexed()
    return document


def content(folder):
    return b"".join(path.read_bytes() for path in folder.iterdir()).lower()


async def test_what_is_deleted_is_in_no_file_any_more(tmp_path):
    async with Library(tmp_path, semantic=False) as library:
        await add(library, "Other", "The weather is fine.")
        document = await add(library, "Codes", "The code of the safe is xyzzyplugh.")
        await library.delete([ALICE], document.id)
        await library.indexed()
        assert await library.find([ALICE], "weather")
    assert b"weather" in content(tmp_path) and b"xyzzyplugh" not in content(tmp_path)


async def test_what_a_killed_process_has_deleted_is_forgotten_by_the_next_one(tmp_path):
    async with Library(tmp_path, semantic=False) as library:
        document = await add(library, "Codes", "The code of the safe is xyzzyplugh.")
        library._indexing.cancel()  # nobody tidies up any more
        await library.delete([ALICE], document.id)
    assert b"xyzzyplugh" in content(tmp_path)
    async with Library(tmp_path, semantic=False) as library:
        await library.indexed()
    assert b"xyzzyplugh" not in content(tmp_path)
