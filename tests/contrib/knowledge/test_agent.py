"""The knowledge agent: what it says rests on a document, and says on which."""

from turnlog.contrib.knowledge.agent import knowledge_agent
from turnlog.contrib.knowledge.shelves import Shelves
from turnlog.events import kinds as k
from turnlog.simulator import Reply, Text, ToolCall
from turnlog.testing.apps import scripted_app

POLICY = "# Hotels\nA night may cost 140 euros.\n\n# Cars\nTake the train."
CITED = {
    "type": "search_result_location",
    "source": "file:f1",
    "title": "Travel › Hotels",
    "cited_text": "A night may cost 140 euros.",
    "search_result_index": 0,
    "start_block_index": 0,
    "end_block_index": 1,
}


async def test_results_are_sources_that_the_model_can_cite():
    script = (
        Reply(ToolCall("search_documents", {"query": "hotel night"})),
        Reply(Text("140 euros.", (CITED,))),
    )
    shelves = Shelves(None)
    options = {"agents": [knowledge_agent(shelves)], "connections": [shelves]}
    async with scripted_app(*script, **options) as (app, sim):
        await shelves.add("local", "Travel", [(POLICY, None)], source="file:f1")
        await shelves.add("bob", "Secret", [("A night may cost 900 euros.", None)], source="f2")
        await shelves.library.indexed()
        result = await app.run_turn("What may a hotel cost?")
    (told,) = sim.requests[-1]["messages"][-1]["content"]
    block = told["content"][0]
    assert block["type"] == "search_result" and block["citations"] == {"enabled": True}
    assert (block["source"], block["title"]) == ("file:f1", "Travel › Hotels")
    assert block["content"] == [{"type": "text", "text": "A night may cost 140 euros."}]
    assert "900" not in str(told)
    message = [e.event for e in result.events if isinstance(e.event, k.Message)][-1]
    (citation,) = message.citations
    assert citation["source"] == "file:f1"
    assert message.content[citation["start"] : citation["end"]] == "140 euros."


async def test_nothing_found_is_told_in_words():
    script = (
        Reply(ToolCall("search_documents", {"query": "hotel"})),
        Reply("The documents do not tell."),
    )
    shelves = Shelves(None)
    options = {"agents": [knowledge_agent(shelves)], "connections": [shelves]}
    async with scripted_app(*script, **options) as (app, sim):
        result = await app.run_turn("What may a hotel cost?")
    (told,) = sim.requests[-1]["messages"][-1]["content"]
    assert told["content"] == [{"type": "text", "text": "Nothing was found."}]
    assert result.success
