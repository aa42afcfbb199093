"""The sandbox keeps its data in a folder: what was created is there after a crash."""

import json

import pytest

from turnlog.contrib.business_central import BusinessCentral, sandbox_folder
from turnlog.contrib.business_central.sandbox.ledger import FILE
from turnlog.errors import ToolError


async def customers(folder):
    """What the tools see, after a start in this folder."""
    async with BusinessCentral(folder=folder) as bc:
        found = await bc.find("customers", select=["id", "number", "displayName"], limit=100)
        return {
            row["displayName"]: (row["id"], row["number"], row["@odata.etag"]) for row in found.rows
        }


async def created(folder, *names):
    async with BusinessCentral(folder=folder) as bc:
        return [await bc.create("customers", {"displayName": name}) for name in names]


async def test_what_was_created_is_there_after_a_restart_as_it_was(tmp_path):
    before = await customers(tmp_path)
    one, two = await created(tmp_path, "Duck Ltd.", "Goose Ltd.")
    after = await customers(tmp_path)
    assert after == await customers(tmp_path)
    assert after.keys() - before.keys() == {"Duck Ltd.", "Goose Ltd."}
    assert after["Duck Ltd."] == (one["id"], one["number"], one["@odata.etag"])
    assert {name: after[name] for name in before} == before


async def test_refused_requests_change_no_ids(tmp_path):
    async with BusinessCentral(folder=tmp_path) as bc:
        with pytest.raises(ToolError):
            await bc.create("customers", {"displayName": "x", "number": "x" * 100})
        made = await bc.create("customers", {"displayName": "Duck Ltd."})
        changed = await bc.change(f"customers({made['id']})", made["@odata.etag"], {"city": "Ulm"})
    async with BusinessCentral(folder=tmp_path) as bc:
        found = await bc.get(f"customers({made['id']})")
    assert (found["city"], found["@odata.etag"]) == ("Ulm", changed["@odata.etag"])
    assert found["lastModifiedDateTime"] == changed["lastModifiedDateTime"]


async def test_a_line_that_a_crash_cut_off_is_left_out(tmp_path):
    await created(tmp_path, "Duck Ltd.", "Goose Ltd.")
    ledger = tmp_path / FILE
    ledger.write_bytes(ledger.read_bytes()[:-20])
    assert (await customers(tmp_path)).keys() & {"Duck Ltd.", "Goose Ltd."} == {"Duck Ltd."}
    await created(tmp_path, "Swan Ltd.")
    assert "Swan Ltd." in await customers(tmp_path)


async def test_the_ledger_holds_no_token_and_is_private(tmp_path):
    await created(tmp_path, "Duck Ltd.")
    raw = (tmp_path / FILE).read_text()
    assert "earer" not in raw and "authorization" not in raw.lower()
    assert [set(json.loads(line)) for line in raw.splitlines()][0] == {"at"}
    assert (tmp_path / FILE).stat().st_mode & 0o077 == 0


def test_a_sandbox_beside_a_store_in_memory_stays_in_memory(tmp_path):
    assert sandbox_folder("memory:", "x") is None
    assert sandbox_folder(f"sqlite:{tmp_path}", "x") == tmp_path
    assert str(sandbox_folder("postgresql://x", "data")) == "data"
