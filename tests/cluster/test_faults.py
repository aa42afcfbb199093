"""Nothing is lost, doubled or made up, whatever breaks: see faults.py."""

import secrets

import pytest
from faults import FAULTS, check, perform, place


async def suffer(folder, count, capsys, seed):
    with capsys.disabled():
        print(f"\nfaults: seed {seed}")
    async with place(folder) as where:
        people, done = await perform(where, count, seed)
        found = await check(where, people)
    with capsys.disabled():
        print(f"faults: {dict(done)}; {dict(found)}")
    assert sum(done.values()) == count and found["acknowledged"] > 0


@pytest.mark.slow
async def test_each_fault_once(tmp_path, capsys):
    await suffer(tmp_path, len(FAULTS), capsys, seed=1)


@pytest.mark.soak
async def test_three_hundred_faults(tmp_path, capsys):
    await suffer(tmp_path, 300, capsys, seed=secrets.randbits(32))
