"""The thread that writes to SQLite, and who may look meanwhile."""

import asyncio
import sqlite3
import threading
from contextlib import closing

import pytest

from turnlog.errors import NotStored
from turnlog.stores.sqlite.writer import Writer


@pytest.fixture
def place(tmp_path):
    """A database with one table, and how to connect to it."""

    def connect():
        return sqlite3.connect(tmp_path / "db", isolation_level=None, check_same_thread=False)

    with closing(connect()) as db:
        db.execute("CREATE TABLE numbers (n INTEGER PRIMARY KEY)")
    return connect


@pytest.fixture
def writer(place):
    writer = Writer(place())
    yield writer
    writer.close()


def write(n):
    return lambda db: db.execute("INSERT INTO numbers VALUES (?)", [n]).lastrowid


def written(place):
    with closing(place()) as db:
        return [n for (n,) in db.execute("SELECT n FROM numbers ORDER BY n")]


async def grouped(writer, *jobs):
    """Give the jobs while the writer is held up, so that they are one group."""
    entered, gate = threading.Event(), threading.Event()
    holding = asyncio.ensure_future(writer.run(lambda db: (entered.set(), gate.wait())))
    await asyncio.to_thread(entered.wait)
    waiting = asyncio.gather(*map(writer.run, jobs), return_exceptions=True)
    await asyncio.sleep(0)  # all jobs are given now
    gate.set()
    await holding
    return await waiting


async def test_jobs_that_wait_share_one_commit(writer, place):
    commits = []
    await writer.run(lambda db: db.set_trace_callback(commits.append))
    commits.clear()
    assert await grouped(writer, *map(write, range(10))) == [*range(10)]
    assert commits.count("COMMIT") == 2  # the one that held them up, and theirs
    assert written(place) == [*range(10)]


async def test_a_job_that_fails_harms_none_of_its_neighbors(writer, place):
    def fails(db):
        write(7)(db)
        raise RuntimeError("no")

    one, error, taken, two = await grouped(writer, write(1), fails, write(1), write(2))
    assert (one, two) == (1, 2)
    assert str(error) == "no"
    assert isinstance(taken, sqlite3.IntegrityError)
    assert written(place) == [1, 2]


@pytest.mark.parametrize("ending", [SystemExit, KeyboardInterrupt, asyncio.CancelledError])
@pytest.mark.parametrize("halfway", [False, True])
async def test_a_writer_goes_on_after_a_job_that_wanted_to_end_it(writer, place, ending, halfway):
    def ends(db):
        if halfway:
            write(7)(db)
        raise ending("enough")

    outcomes = []

    async def told(job):
        try:
            outcomes.append(await writer.run(job))
        except BaseException as error:  # uncaught, it would end the loop
            outcomes.append(type(error))

    async with asyncio.timeout(10):
        await asyncio.gather(*map(told, [write(1), ends, write(2)]))
        assert outcomes == [1, ending, 2]
        assert await writer.run(write(3)) == 3
    assert written(place) == [1, 2, 3]


async def test_a_job_that_reads_beyond_the_end_leaves_nobody_without_an_answer(writer, place):
    async with asyncio.timeout(10):
        one, error, two = await grouped(writer, write(1), lambda db: next(iter(())), write(2))
    assert (one, two) == (1, 2)
    assert isinstance(error, RuntimeError) and isinstance(error.__cause__, StopIteration)
    assert written(place) == [1, 2]


async def test_a_group_is_carried_out_again_only_where_a_job_has_failed_halfway(writer, place):
    runs = []

    def refused(db):
        runs.append("refused")
        raise RuntimeError("no")

    def halfway(db):
        write(7)(db)
        refused(db)

    await grouped(writer, write(1), refused, write(2))
    assert runs == ["refused"]  # it had written nothing: there was nothing to undo
    assert written(place) == [1, 2]
    await grouped(writer, write(3), halfway, write(4))
    assert runs == ["refused"] * 3
    assert written(place) == [1, 2, 3, 4]


async def test_jobs_of_a_group_need_no_way_back_of_their_own(writer, place):
    statements = []
    await writer.run(lambda db: db.set_trace_callback(statements.append))
    await grouped(writer, *map(write, range(3)))
    assert not [each for each in statements if "SAVEPOINT" in each]


async def test_a_transaction_that_sqlite_gave_up_keeps_nothing_of_the_others(writer, place):
    await writer.run(
        lambda db: db.execute(
            "CREATE TRIGGER gives_up BEFORE INSERT ON numbers WHEN NEW.n = 7"
            " BEGIN SELECT RAISE(ROLLBACK, 'no'); END"
        )
    )
    outcomes = await grouped(writer, write(1), write(7), write(2))
    assert [type(outcome) for outcome in outcomes] == [sqlite3.IntegrityError] * 3
    assert written(place) == []


async def test_a_commit_that_fails_is_told_to_all_and_keeps_nothing(writer, place):
    def ends_the_transaction(db):
        db.execute("ROLLBACK")

    outcomes = await grouped(writer, write(1), ends_the_transaction, write(2))
    assert [type(outcome) for outcome in outcomes] == [sqlite3.OperationalError] * 3
    assert written(place) == []


async def test_a_writer_goes_on_after_a_commit_that_failed(writer, place):
    with pytest.raises(sqlite3.OperationalError):
        await writer.run(lambda db: db.execute("COMMIT"))
    assert await writer.run(write(3)) == 3
    assert written(place) == [3]


async def test_a_database_that_is_locked_is_told_and_later_written_to(writer, place):
    await writer.run(lambda db: db.execute("PRAGMA busy_timeout = 0"))
    with closing(place()) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(NotStored):
            await writer.run(write(1))
        other.execute("ROLLBACK")
    assert await writer.run(write(2)) == 2
    assert written(place) == [2]


async def test_a_database_that_cannot_be_written_is_told_to_all(writer, place):
    await writer.run(lambda db: db.execute("PRAGMA query_only = ON"))
    jobs = asyncio.gather(*map(writer.run, [write(1), write(2)]), return_exceptions=True)
    assert {type(outcome) for outcome in await jobs} == {NotStored}
    assert written(place) == []


async def test_a_full_disk_is_no_bug_and_the_operator_reads_why(writer, place, caplog):
    def fill(db):
        (pages,) = db.execute("PRAGMA page_count").fetchone()
        db.execute(f"PRAGMA max_page_count = {pages}")

    await writer.run(fill)
    with pytest.raises(NotStored, match="Try again later"):
        await writer.run(lambda db: db.execute("CREATE TABLE more AS SELECT zeroblob(100000) AS z"))
    assert "SQLITE_FULL" in caplog.text


async def test_who_is_cancelled_stops_waiting_and_the_job_is_done(writer, place):
    gate = threading.Event()
    holding = asyncio.ensure_future(writer.run(lambda db: gate.wait()))
    waiting = asyncio.ensure_future(writer.run(write(1)))
    await asyncio.sleep(0)  # both are given now
    waiting.cancel()
    gate.set()
    await holding
    await writer.run(write(2))
    assert waiting.cancelled()
    assert written(place) == [1, 2]


async def test_what_was_given_is_written_before_the_writer_closes(place):
    writer = Writer(place())
    waiting = asyncio.gather(*(writer.run(write(n)) for n in range(20)))
    await asyncio.sleep(0)  # all jobs are given now
    await asyncio.to_thread(writer.close)
    assert await waiting == [*range(20)]


async def test_nobody_comes_in_behind_the_last_one_and_waits_for_ever(place, monkeypatch):
    """The writer closes, in another thread, while a job is on its way in."""
    writer = Writer(place())
    loop = asyncio.get_running_loop()
    make = loop.create_future

    def make_meanwhile():
        closing = threading.Thread(target=writer.close)
        closing.start()
        closing.join()
        return make()

    monkeypatch.setattr(loop, "create_future", make_meanwhile)
    with pytest.raises(RuntimeError, match="the store is closed"):
        await asyncio.wait_for(writer.run(write(1)), 5)


def count(db):
    return db.execute("SELECT count(*) FROM numbers").fetchone()[0]


async def test_a_look_sees_what_is_on_disk_and_waits_for_nobody(place, writer):
    entered, gate = threading.Event(), threading.Event()
    job = asyncio.ensure_future(writer.run(lambda db: (write(1)(db), entered.set(), gate.wait())))
    try:
        await asyncio.to_thread(entered.wait)
        with closing(place()) as other:
            assert writer.look(count, lambda read: f"elsewhere {read(other)}") == "elsewhere 0"
    finally:
        gate.set()
    await job
    assert writer.look(count, lambda read: "elsewhere") == 1


async def test_nobody_looks_at_a_transaction_that_was_left_open(place):
    db = place()
    writer = Writer(db)
    db.execute("BEGIN")
    write(1)(db)
    assert writer.look(count, lambda read: "elsewhere") == "elsewhere"
    db.execute("ROLLBACK")
    assert writer.look(count, lambda read: "elsewhere") == 0
    await asyncio.to_thread(writer.close)
    assert writer.look(count, lambda read: "elsewhere") == "elsewhere"
