"""Citations lead to a file, a page and a place in its text. One that does not hold is marked."""

import pytest

from turnlog import Agent, SearchResult, SearchResults, tool
from turnlog.errors import NotStored
from turnlog.events import kinds as k
from turnlog.projections.citations import Place, Source, Sources, judged, located, place_of
from turnlog.simulator import Reply, Text, ToolCall
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.testing import made_files as made
from turnlog.testing.apps import SECRET, as_user, client_of, is_problem, scripted_app

FILES = [Source("a", "a.pdf"), Source("b", "b.txt")]


def cite(kind, text="x", index=1, **place):
    return {"type": kind, "cited_text": text, "document_index": index, **place}


@pytest.mark.parametrize(
    ("citation", "place"),
    [
        (
            cite("page_location", start_page_number=2, end_page_number=3),
            Place("b", "b.txt", 2, 2),
        ),
        (
            cite("page_location", start_page_number=2, end_page_number=5),
            Place("b", "b.txt", 2, 4),
        ),
        (
            cite("content_block_location", start_block_index=0, end_block_index=1),
            Place("b", "b.txt", 1, 1),
        ),
        (
            cite("content_block_location", start_block_index=3, end_block_index=6),
            Place("b", "b.txt", 4, 6),
        ),
        (
            cite("char_location", start_char_index=4, end_char_index=9),
            Place("b", "b.txt", 1, 1, 4, 9),
        ),
        (
            {"type": "search_result_location", "source": "file:c-1#page=7", "title": "c.pdf"},
            Place("c-1", "c.pdf", 7, 7),
        ),
        ({"type": "search_result_location", "source": "https://example.com"}, None),
        ({"type": "web_search_result_location", "url": "https://example.com"}, None),
        (cite("page_location", index=9, start_page_number=2, end_page_number=3), None),
        (cite("page_location", index=None, start_page_number=2, end_page_number=3), None),
        (cite("page_location", start_page_number="2", end_page_number=3), None),
        (cite("something_new"), None),
    ],
)
def test_every_kind_names_a_place(citation, place):
    assert place_of(citation, FILES) == place


PAGES = {2: "Ducks\nswim in ponds.  Geese", 3: "fly south."}


@pytest.mark.parametrize(
    ("words", "file", "verified"),
    [
        ("swim in ponds.", {"page": 2, "start": 6, "end": 20}, True),
        ("Ducks swim in ponds.", {"page": 2, "start": 0, "end": 20}, True),
        ("fly south.", {"page": 3, "start": 0, "end": 10}, True),
        ("Geese fly south.", {"page": 2, "endPage": 3}, True),
        ("Swans sing.", {"page": 2, "endPage": 3}, False),
        ("ducks swim", {"page": 2, "endPage": 3}, False),
        (" ", {"page": 2, "endPage": 3}, None),
    ],
)
def test_words_are_looked_for_on_the_pages_that_are_named(words, file, verified):
    place = Place("a", "a.pdf", 2, 3)
    found = located({"cited_text": words}, place, PAGES)
    assert found == {"fileId": "a", "file": {"name": "a.pdf", **file}, "verified": verified}


def test_a_range_of_characters_must_hold_the_words():
    text = {1: "The pond is deep."}
    place = Place("a", "a.txt", 1, 1, 4, 8)
    assert located({"cited_text": "pond"}, place, text)["verified"] is True
    assert located({"cited_text": "deep"}, place, text)["verified"] is False
    beyond = Place("a", "a.txt", 1, 1, 400, 800)
    assert located({"cited_text": "pond"}, beyond, text)["verified"] is False


def test_of_a_scan_nobody_can_tell_and_a_page_that_is_not_there_does_not_hold():
    place = Place("a", "a.pdf", 1, 1)
    assert located({"cited_text": "x"}, place, {1: " "})["verified"] is None
    assert located({"cited_text": "x"}, place, None)["verified"] is False


def page(number, words, index=0):
    place = {"start_page_number": number, "end_page_number": number + 1}
    return cite("page_location", words, index, document_title="birds.pdf", **place)


FOUND = [
    {
        "type": "search_result",
        "source": "wiki/1",
        "content": [{"text": "Turn the green"}, {"text": "wheel to the left."}],
    },
    {"type": "web_search_tool_result", "content": [{"url": "https://example.com/a"}]},
    {"type": "web_search_tool_result", "content": {"error_code": "max_uses_exceeded"}},
]


def of_wiki(text, start=0, end=2, source="wiki/1"):
    blocks = {"start_block_index": start, "end_block_index": end}
    return {"type": "search_result_location", "source": source, "cited_text": text, **blocks}


@pytest.mark.parametrize(
    ("citation", "row"),
    [
        (of_wiki("the green wheel"), {"verified": True}),
        (of_wiki("wheel to", 1, 2), {"verified": True}),
        (of_wiki("wheel to", 0, 1), {"verified": False}),
        (of_wiki("the red wheel"), {"verified": False}),
        (of_wiki("wheel to", 7, 9), {"verified": False}),
        (of_wiki("wheel to", None, None), {"verified": False}),
        (of_wiki("the green wheel", source="wiki/2"), {"verified": False}),
        ({"type": "web_search_result_location", "url": "https://example.com/a"}, {}),
        ({"type": "web_search_result_location", "url": "https://other.com"}, {"verified": False}),
        (
            cite("page_location", index=9, start_page_number=2, end_page_number=3),
            {"verified": False},
        ),
        (cite("page_location", start_page_number="2", end_page_number=3), {"verified": False}),
        (cite("char_location", index=2, start_char_index=0, end_char_index=1), {}),
        (cite("something_new"), {}),
    ],
)
def test_what_leads_into_no_file_is_held_against_what_the_model_was_given(citation, row):
    assert judged(citation, Sources([*FILES, Source("", "")]).plus(FOUND)) == row


async def test_what_a_tool_found_is_held_against_the_answer_in_this_turn_and_later_ones():
    @tool(writes=False)
    async def search_wiki(query: str) -> SearchResults:
        """Find pages of the wiki."""
        return SearchResults([SearchResult("wiki/1", "Printers", ["Turn the green wheel."])])

    true, false = of_wiki("the green wheel", 0, 1), of_wiki("the red wheel", 0, 1)
    script = (
        Reply(ToolCall("search_wiki", {"query": "wheel"})),
        Reply(Text("Green.", (true,)), Text(" Red.", (false,))),
        Reply(Text("Green, I said.", (true,)), Text(" Red, too.", (false,))),
    )
    async with scripted_app(*script, agents=[Agent("a", prompt="Hm.", tools=[search_wiki])]) as (
        app,
        _,
    ):
        first = await app.run_turn("Which wheel?")
        second = await app.run_turn("Again?", session_id=first.session_id)
    for turn in (first, second):
        (answer,) = [e.event for e in turn.events if isinstance(e.event, k.Message)][-1:]
        assert [c["verified"] for c in answer.citations] == [True, False]


async def test_an_answer_is_kept_where_its_sources_cannot_be_read(tmp_path, monkeypatch):
    (tmp_path / "birds.pdf").write_bytes(made.pdf("Ducks swim."))
    reply = Reply(Text("They swim.", (page(1, "Ducks swim."),)))
    async with scripted_app(reply) as (app, _):

        async def away(*args):
            raise NotStored("The storage of files does not answer.")

        monkeypatch.setattr(app.files, "pages", away)
        turn = await app.run_turn("What do they do?", files=[tmp_path / "birds.pdf"])
    assert turn.success and turn.text == "They swim."


async def test_a_cited_answer_is_the_same_live_after_a_reload_and_in_both_routes(tmp_path):
    (tmp_path / "birds.pdf").write_bytes(made.pdf("Ducks swim.", "Geese fly."))
    reply = Reply(
        Text("They say: "),
        Text("geese fly", (page(2, "Geese fly."), page(9, "Geese fly."))),
        Text(", swans sing.", (page(1, "Swans sing."),)),
    )
    async with (
        scripted_app(reply, Reply("Hm."), store=SqliteStore(tmp_path), auth_secret=SECRET) as (
            app,
            _,
        ),
        client_of(app, headers=as_user("ann")) as http,
    ):
        path = tmp_path / "birds.pdf"
        turn = await app.run_turn("What do they do?", user_id="ann", files=[path])
        (file,) = await app.files.page("ann", limit=1)
        (live,) = [e.event for e in turn.events if e.event.type == "message"]
        (found,) = [e.event for e in turn.events if e.event.type == "citations_found"]
        reloaded = (await http.get(f"/api/sessions/{turn.session_id}/messages")).json()["events"][1]
        assert found.citations == live.citations == reloaded["citations"]
        told = {"name": "birds.pdf"}
        assert {c["fileId"] for c in live.citations} == {file.id}
        assert [(c["file"], c["verified"]) for c in live.citations] == [
            (told | {"page": 2, "start": 0, "end": 10}, True),
            (told | {"page": 9}, False),
            (told | {"page": 1}, False),
        ]
        text = reloaded["content"]
        words = [text[c["start"] : c["end"]] for c in reloaded["citations"]]
        assert words == ["geese fly", "geese fly", ", swans sing."]

        of_message = (await http.get(f"/api/messages/{turn.message_id}/citations")).json()
        of_session = (await http.get(f"/api/sessions/{turn.session_id}/citations")).json()
        assert of_message == of_session
        first = of_message["citations"][0]
        assert (first["file_id"], first["page"], first["start_char"], first["end_char"]) == (
            file.id, 2, 0, 10,
        )  # fmt: skip
        assert (first["kind"], first["cited_text"], first["verified"]) == (
            "page_location", "Geese fly.", True,
        )  # fmt: skip
        pages = f"/api/files/{file.id}/pages"
        source = (await http.get(pages, params={"pages": "2"})).json()["pages"][0]["text"]
        assert source[0:10] == first["cited_text"]

        other = await app.run_turn("And?", user_id="ann", session_id=turn.session_id)
        assert (await http.get(f"/api/messages/{other.message_id}/citations")).json() == {
            "citations": []
        }
        bob = as_user("bob")
        for route in (
            f"messages/{turn.message_id}",
            "messages/unknown",
            f"sessions/{turn.session_id}",
        ):
            response = await http.get(f"/api/{route}/citations", headers=bob)
            is_problem(response, 404, "not_found")
