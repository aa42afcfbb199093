"""`clients/typescript`, run by Node as it is, over connections that break."""

import asyncio
import json
import subprocess
from pathlib import Path

import nodejs
import pytest
from cutting_proxy import cutting_proxy

from turnlog.simulator import Reply, ToolCall
from turnlog.testing import event_types, invariants
from turnlog.testing import made_files as made
from turnlog.testing.apps import served
from turnlog.testing.office import office

pytestmark = pytest.mark.slow

CLIENT = Path(__file__).parents[2] / "clients" / "typescript"
SCRIPT = Path(__file__).parents[1] / "node" / "turnlog_client.mjs"


async def run(*args):
    process = await asyncio.create_subprocess_exec(
        *(nodejs.node(), SCRIPT, CLIENT / "src" / "index.ts", *args),
        stdout=subprocess.PIPE,
        limit=2**24,
    )
    output, _ = await process.communicate()
    assert process.returncode == 0
    return json.loads(output)


def test_it_has_no_wrong_types():
    tsc = nodejs.package("typescript") / "bin" / "tsc"
    command = [nodejs.node(), tsc, "--project", CLIENT, "--noEmit"]
    checked = subprocess.run(command, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout


def test_npm_pack_makes_what_the_package_promises(tmp_path):
    package = json.loads((CLIENT / "package.json").read_text())
    compiler = nodejs.package("typescript")
    there = json.loads((compiler / "package.json").read_text())["version"]
    assert package["devDependencies"] == {"typescript": there}  # or `npm pack` finds no tsc
    command = [nodejs.node(), compiler / "bin" / "tsc", "-p", CLIENT, "--outDir", tmp_path / "dist"]
    subprocess.run(command, check=True)
    assert all((tmp_path / file).is_file() for file in package["exports"]["."].values())


def test_it_knows_every_event():
    source = (CLIENT / "src" / "events.ts").read_text()
    assert all(f'  type: "{name}";' in source for name in event_types.SHOWN)


@pytest.mark.parametrize("cuts", [[], [900, 1500, 3000]])
async def test_an_answer_survives_broken_connections(cuts):
    story = " ".join(str(n) for n in range(300))
    async with served(Reply(story, chunk=10, delay=0.001)) as server:
        session = await server.session()
        port = server.http.base_url.port
        async with cutting_proxy(port, cuts) as (url, left):
            seen = await run(url, session, "Count")
        assert not left
        assert server.sim.accepted == 1
        assert invariants.broken(seen["events"], seen["kept"]) == []


@pytest.mark.parametrize("name", ["a.png", "b.pdf", "c.csv"])
async def test_a_question_comes_with_a_file(name, tmp_path):
    contents = {"a.png": made.picture("PNG", (20, 20)), "b.pdf": made.pdf("Dear Sir"),
                "c.csv": b"name,amount\nBob,3\n"}  # fmt: skip
    (tmp_path / name).write_bytes(contents[name])
    async with served(Reply("I see.")) as server:
        session = await server.session()
        seen = await run(str(server.http.base_url), session, "Look", str(tmp_path / name))
        assert [file["name"] for file in seen["kept"][0]["files"]] == [name]
        assert seen["events"][-1]["type"] == "complete"


@pytest.mark.parametrize(("decision", "paid"), [("approve", [("Bob", 2)]), ("reject", [])])
async def test_a_person_decides(decision, paid):
    async with office(Reply(ToolCall("pay", {"amount": 3})), Reply("Done.")) as bureau:
        session = await bureau.session()
        seen = await run(str(bureau.http.base_url), session, "Pay", decision)
        assert bureau.world.paid == paid
        assert seen["events"][-1]["type"] == "complete"


async def test_a_number_that_javascript_cannot_hold_is_given_back_as_it_came():
    beyond = 9007199254740993
    pays = Reply(ToolCall("pay", {"amount": beyond}))
    async with office(pays, Reply("Done.")) as bureau:
        session = await bureau.session()
        seen = await run(str(bureau.http.base_url), session, "Pay", "same")
        assert bureau.world.paid == [("Eve", beyond)]
        (asked,) = [each for each in seen["events"] if each["type"] == "approval_requested"]
        assert asked["args"]["amount"] == beyond
