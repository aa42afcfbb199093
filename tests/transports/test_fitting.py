"""What does not fit in a request is told with what would."""

import pytest

from turnlog.errors import did_you_mean
from turnlog.testing.apps import is_problem, served


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"mesage": "Hi"}, "unknown field `mesage`. Did you mean 'message'? There are: message, "),
        ({"message": "Hi", "zzz": 1}, "unknown field `zzz`. There are: message, fileIds, "),
        ({"message": "Hi", "onBusy": "queue"}, "Allowed are: 'enqueue', 'reject'."),
        ({"message": 5}, "Expected `str`, got `int` - at `$.message`."),
    ],
)
async def test_a_body_that_does_not_fit_is_told_what_would(body, sentence):
    async with served() as server:
        path = f"/api/sessions/{await server.session()}/messages"
        refused = await server.http.post(path, json=body)
        is_problem(refused, 400, "bad_input")
        assert sentence in refused.json()["detail"]


def test_a_name_of_a_million_characters_is_compared_with_none():
    assert did_you_mean("x" * 100, ["x" * 101])
    assert not did_you_mean("x" * 101, ["x" * 101])


async def test_a_misspelt_query_parameter_is_refused_with_the_right_name():
    async with served() as server:
        refused = await server.http.get("/api/sessions?limt=3")
        is_problem(refused, 400, "bad_input")
        hint = "There is no query parameter 'limt' here. Did you mean 'limit'?"
        assert refused.json()["detail"] == hint


@pytest.mark.parametrize("query", ["_=1763377200", "t=1", "utm_source=x", "limit=3&v=2"])
async def test_a_query_parameter_of_somebody_else_is_left_alone(query):
    async with served() as server:
        assert (await server.http.get(f"/api/sessions?{query}")).status_code == 200
