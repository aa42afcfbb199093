"""Documents in scripts that leave no space between two words."""

import pytest

from turnlog.contrib.knowledge.library import Library
from turnlog.contrib.knowledge.passages import Page
from turnlog.contrib.knowledge.places.postgres import PostgresPlace
from turnlog.stores.postgres.store import PostgresStore

UNSPACED = {
    "Chinese": (
        "退款须在三十天内申请，超过期限不予受理。",
        "退款期限",
        "客户可以选择快递或者自取。",
    ),
    "Japanese": ("返品は三十日以内に申請してください。", "返品の申請", "配送は翌日に行われます。"),
    "Thai": ("ลูกค้าขอคืนเงินได้ภายในสามสิบวัน", "คืนเงิน", "เราจัดส่งสินค้าในวันถัดไป"),
    "a letter said twice": ("担当は佐々木です。", "佐々木", "時々休みます。"),
    "beside numbers": ("型番ABC-77の保証は2年です。", "ABC-77の保証", "型番ABC-78は生産終了です。"),
}


async def finds(place, text, query, other):
    async with Library(place) as library:
        for title, content in (("wanted", text), ("other", other)):
            await library.add("user:alice", title, [Page(content)], source="text:", by="alice")
        await library.indexed()
        found = await library.find(["user:alice"], query, by="words")
    assert found and (found[0].title, found[0].text) == ("wanted", text)


@pytest.mark.parametrize(("text", "query", "other"), UNSPACED.values(), ids=UNSPACED)
async def test_words_are_found_where_no_space_is_between_them(tmp_path, text, query, other):
    await finds(tmp_path, text, query, other)


@pytest.mark.slow
@pytest.mark.parametrize(("text", "query", "other"), UNSPACED.values(), ids=UNSPACED)
async def test_the_same_in_postgres(database, text, query, other):
    store = PostgresStore(database)
    await store.open()
    try:
        await finds(PostgresPlace(store), text, query, other)
    finally:
        await store.close()
