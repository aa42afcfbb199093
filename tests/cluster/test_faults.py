"""Nothing is lost, doubled or made up, whatever breaks: see faults.py."""

import os
import secrets
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from faults import FAULTS, Place, check, perform, place

COUNT = int(os.environ.get("FAULTS", "300"))  # fewer, to run it in parts


async def suffer(folder, count, capsys, seed, faults=FAULTS, *, patient=0, **how):
    with capsys.disabled():
        print(f"\nfaults: seed {seed}")
    async with place(folder, **how) as where:
        people, done = await perform(where, count, seed, faults, patient=patient)
        found = await check(where, people)
    with capsys.disabled():
        print(f"faults: {dict(done)}; {dict(found)}")
    assert sum(done.values()) == count and found["acknowledged"] > 0


@pytest.mark.slow
async def test_each_fault_once(tmp_path, capsys):
    await suffer(tmp_path, len(FAULTS), capsys, seed=1)


@pytest.mark.soak
async def test_three_hundred_faults(tmp_path, capsys):
    await suffer(tmp_path, COUNT, capsys, seed=secrets.randbits(32), patient=2)


@pytest.mark.soak
async def test_nobody_who_only_watches_waits_in_vain(tmp_path, capsys):
    """They stay with a stream until it shows the end, or says that they should reload."""
    faults = (Place.cut_redis, Place.cut_redis, Place.kill_redis, Place.kill_node)
    await suffer(tmp_path, 30, capsys, secrets.randbits(32), faults, patient=4)


@pytest.mark.soak
async def test_masters_of_a_redis_cluster_are_killed_again_and_again(tmp_path, capsys):
    faults = (Place.kill_master, Place.kill_master, Place.kill_node)
    await suffer(tmp_path, 20, capsys, secrets.randbits(32), faults, patient=2, shards=True)


@pytest.mark.soak
async def test_a_replica_takes_over_again_and_again(tmp_path, capsys):
    others = (Place.kill_postgres, Place.hang_node, Place.cut_postgres)
    faults = (*[Place.replace_postgres] * 4, *others)
    await suffer(tmp_path, 20, capsys, secrets.randbits(32), faults, replica=True)


@pytest.mark.soak
async def test_the_disk_of_postgresql_is_full_again_and_again(tmp_path, capsys):
    """Where that cannot be mounted, because the user is not root, this fails and says so."""
    with small_disk() as disk:
        faults = (Place.fill_disk, Place.kill_node)
        await suffer(tmp_path, 20, capsys, secrets.randbits(32), faults, disk=disk)


@contextmanager
def small_disk():
    """Where the user of PostgreSQL finds it."""
    disk = Path(tempfile.mkdtemp(prefix="turnlog-disk-"))
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=700m,mode=755", "tmpfs", disk], check=True)
    disk.chmod(0o755)
    try:
        yield disk
    finally:
        subprocess.run(["umount", "-l", disk], check=True)
        disk.rmdir()
