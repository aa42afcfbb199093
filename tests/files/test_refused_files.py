"""A file that the model's provider does not take ends one turn, not the session."""

import pytest

from turnlog.events.kinds import Error, UserMessageSent
from turnlog.projections.history.attachments import plan
from turnlog.simulator import Reply
from turnlog.simulator.script import failure
from turnlog.testing import made_files as made
from turnlog.testing import samples as s
from turnlog.testing.apps import scripted_app

MODEL = "claude-sonnet-5-5"
PDF = {"id": "p", "name": "p.pdf", "mediaType": "application/pdf", "size": 9, "pages": 1}
IMAGE = {
    "id": "i",
    "name": "i.png",
    "mediaType": "image/png",
    "size": 9,
    "dimensions": {"width": 9, "height": 9},
}
TEXT = {"id": "t", "name": "t.txt", "mediaType": "text/plain", "size": 9, "textLength": 9}
REFUSED = Error(error="Not accepted.", code="invalid_request", retryable=False)
OVERLOADED = Error(error="The model is overloaded.", code="overloaded", retryable=True)


def asked(*files):
    return UserMessageSent(message_id="m", content="?", files=list(files))


def forms(*turns):
    return [told.form for told in plan(s.log_of(*turns), MODEL)]


def test_what_was_refused_is_told_as_text_or_by_name_and_text_stays():
    assert forms([asked(PDF, IMAGE, TEXT)]) == ["pdf", "image", "text"]
    assert forms([asked(PDF, IMAGE, TEXT), REFUSED]) == ["pages", "name", "text"]
    assert forms([asked(PDF), OVERLOADED]) == ["pdf"]


def test_files_that_the_model_took_before_stay_as_they_were():
    assert forms([asked(IMAGE)], [asked(PDF), REFUSED], [asked(PDF)]) == ["image", "pages", "pdf"]


def test_where_a_question_without_files_is_refused_any_file_may_be_why():
    assert forms([asked(PDF)], [asked(IMAGE)], [asked(), REFUSED]) == ["pages", "name"]


@pytest.mark.parametrize("kind", ["invalid_request_error", "request_too_large"])
async def test_a_session_goes_on_after_its_file_was_refused(tmp_path, kind):
    (tmp_path / "birds.pdf").write_bytes(made.pdf("Geese fly."))
    refused = failure(kind, "messages.0.content.0: The PDF specified was not valid.")
    async with scripted_app(refused, Reply("They fly.")) as (app, sim):
        first = await app.run_turn("Do geese fly?", files=[tmp_path / "birds.pdf"])
        assert not first.success
        second = await app.run_turn("Well?", session_id=first.session_id)
        document = sim.requests[-1]["messages"][0]["content"][0]
    assert second.text == "They fly."
    assert document["source"] == {
        "type": "content",
        "content": [{"type": "text", "text": "Geese fly."}],
    }
