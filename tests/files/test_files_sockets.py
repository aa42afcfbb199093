"""Files over Socket.IO: the same rules as over HTTP, told in the answer to the message."""

import pytest

from turnlog.simulator import Reply
from turnlog.testing.apps import SECRET, scripted_app
from turnlog.testing.tabs import serve_sockets, tab
from turnlog.tokens import mint

pytestmark = pytest.mark.slow  # a process reads the files


async def test_a_file_that_is_not_the_users_begins_no_turn(tmp_path):
    (tmp_path / "notes.txt").write_bytes(b"The key is under the mat.")
    async with (
        scripted_app(Reply("Under the mat."), auth_secret=SECRET) as (app, sim),
        serve_sockets(app) as url,
    ):
        session = (await app.create_session("ann")).id
        theirs = await app.files.add("bob", session, tmp_path / "notes.txt")
        mine = await app.files.add("ann", session, tmp_path / "notes.txt")
        asked = {"sessionId": session, "message": "Where is the key?"}
        async with tab(url, auth={"token": mint(SECRET, "ann")}) as ann:
            for file_id in (theirs.id, "nowhere"):
                refused = await ann.ask("chat:message", asked | {"fileIds": [file_id]})
                assert (refused["ok"], refused["error"]["code"]) == (False, "not_found")
                assert refused["error"]["detail"] == f"There is no file {file_id!r}."
            assert (sim.requests, await app.store.read("ann", session)) == ([], [])
            await ann.ask("session:join", {"sessionId": session})
            answer = await ann.ask("chat:message", asked | {"fileIds": [mine.id]})
            assert answer["ok"] is True
            shown = await ann.until("complete")
        (sent,) = [each for each in shown if each["type"] == "user_message_sent"]
        assert [file["id"] for file in sent["files"]] == [mine.id]
