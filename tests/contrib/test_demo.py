"""The team that ships: the supervisor routes, a session that names a worker stays with it."""

import pytest

from turnlog import Settings, create_app

pytestmark = pytest.mark.slow  # a sandbox of the ERP, and an MCP server


@pytest.fixture
async def demo():
    async with (app := create_app(settings=Settings(), store="memory:")):
        yield app


async def talk(app, *messages, agent=None):
    """For each message: who called which tool, who spoke last, and what the answer is."""
    session = await app.create_session("local", agent=agent)
    answers = []
    for message in messages:
        result = await app.run_turn(message, session_id=session.id)
        events = [(entry.envelope.agent.id, entry.event) for entry in result.events]
        calls = [(agent, event.tool_name) for agent, event in events if event.type == "tool_use"]
        answers.append((calls, events[-1][0], result.text))
    return answers


async def test_the_demo_is_a_supervisor_with_workers(demo):
    agents = [agent["id"] for agent in demo.config()["agents"]]
    assert agents == ["supervisor", "erp", "tasks", "knowledge"]
    assert (await demo.create_session("local")).agent_id == "supervisor"


async def test_the_supervisor_answers_small_things_and_routes_the_rest(demo):
    hello, added, balance = await talk(
        demo, "Hello", "Remind me to call Adatum", "What is the balance of Adatum?"
    )
    assert hello[:2] == ([], "supervisor")
    assert added[:2] == ([("tasks", "add_task")], "tasks")
    assert balance[:2] == ([("erp", "find_customer")], "erp")


async def test_two_workers_get_their_parts_of_one_question_at_the_same_time(demo):
    ((calls, last, text),) = await talk(demo, "show me my tasks and find the customer Adatum")
    assert sorted(calls) == [("erp", "find_customer"), ("tasks", "list_tasks")]
    assert last == "supervisor" and "no tasks" in text and "Adatum Corporation" in text


async def test_an_answer_to_what_a_worker_asked_back_goes_to_that_worker(demo):
    asked, added = await talk(demo, "add a task", "buy milk")
    assert asked[1:] == ("tasks", "What should the task be called?")
    assert added[0] == [("tasks", "add_task")] and "buy milk" in added[2]


async def test_a_session_that_names_a_worker_stays_with_it(demo):
    ((calls, last, text),) = await talk(demo, "show me my tasks", agent="erp")
    assert (calls, last) == ([], "erp") and "no tool" in text


async def test_the_knowledge_agent_answers_from_the_library_with_citations(demo):
    policy = [("# Hotels\nA night may cost 140 euros.", None)]
    await demo.library.add("local", "Travel policy", policy, source="text")
    await demo.library.library.indexed()
    ((calls, last, text),) = await talk(demo, "search the documents for the price of a hotel night")
    assert calls == [("knowledge", "search_documents")] and last == "knowledge"
    assert "A night may cost 140 euros." in text


async def test_the_web_is_searched_where_the_user_switches_it_on(demo):
    """The answer of the simulated Claude comes from its own few pages of the web."""
    session = await demo.create_session("local")
    question = "search the web for the capital of Norway"
    before = await demo.run_turn(question, session_id=session.id)
    await demo.change_session("local", session.id, web_search=True)
    after = await demo.run_turn(question, session_id=session.id)
    searches = [(await demo.store.get_session("local", session.id)).searches]
    assert searches == [1]
    assert before.text != after.text
