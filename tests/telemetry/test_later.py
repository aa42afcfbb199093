"""Lines that wait for others for a moment: their order, their turns, and what does not wait."""

import io
import logging
import subprocess
import sys
import time
from threading import Thread

from logged_lines import lines, written
from raw_server import LIMIT, until

from turnlog.telemetry import logs
from turnlog.telemetry.later import Later

OURS = logging.getLogger("turnlog.tests")


def waiting(to, form="json"):
    """Log lines as `turnlog serve` writes them."""
    return logs.set_up(form, "info", content=False, to=to, at_once=False)


def messages(to):
    return [line["message"] for line in lines(to)]


async def test_lines_come_by_themselves_in_their_order_without_the_loop():
    with written() as to:
        waiting(to)
        for n in range(3):
            OURS.info(f"line {n}")
        assert to.getvalue() == ""
        await until(lambda: to.getvalue())
        assert messages(to) == ["line 0", "line 1", "line 2"]
        OURS.info("another")
        await until(lambda: "another" in to.getvalue())


def test_a_warning_does_not_wait_and_what_came_before_stands_before_it():
    with written() as to:
        waiting(to)
        OURS.info("first")
        OURS.warning("second")
        assert messages(to) == ["first", "second"]


def test_a_line_with_values_of_others_does_not_wait():
    with written() as to:
        waiting(to)
        OURS.info("%d things", 3)
        assert messages(to) == ["3 things"]


def test_each_line_keeps_its_own_turn_whoever_writes_it():
    with written() as to:
        waiting(to)
        OURS.info("of nobody")
        with logs.belonging_to("s", "one"):
            OURS.info("of one")
        with logs.belonging_to("s", "two"):
            OURS.warning("of two")
    assert [line.get("turn_id") for line in lines(to)] == [None, "one", "two"]


def test_a_line_that_cannot_be_made_takes_no_other_with_it(capsys):
    with written() as to:
        handler = waiting(to)
        OURS.info("first")
        OURS.info("second", extra={"facts": 3})
        OURS.info("third")
        handler.flush()
    assert messages(to) == ["first", "third"]
    assert "second" in capsys.readouterr().err


def test_what_waits_is_written_when_the_program_ends():
    program = (
        "import logging; from turnlog.telemetry import logs;"
        "logs.set_up('text', 'info', content=False, at_once=False);"
        "logging.getLogger('turnlog.x').info('the last line')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "the last line" in done.stderr


def test_a_stream_that_is_closed_stops_nobody(capsys):
    to = io.StringIO()
    with written():
        handler = waiting(to)
        OURS.info("first")
        to.close()
        handler.flush()
        OURS.info("second")
        handler.flush()
    assert "closed file" in capsys.readouterr().err


def interrupted(keep, finalize):
    """Keep a line, and have a finalizer run in the middle: the collector of garbage runs it
    wherever it likes, here as soon as the line is there."""
    finalizers = [finalize]

    def look(frame, event, function):
        if event == "c_return" and function.__name__ == "append" and finalizers:
            finalizers.pop()()

    sys.setprofile(look)
    try:
        keep()
    finally:
        sys.setprofile(None)
    assert not finalizers


async def test_a_finalizer_that_logs_while_a_line_is_kept_stops_no_line():
    written = []
    later = Later(written.extend)
    interrupted(lambda: later.add("first"), lambda: later.add("of the finalizer"))
    await until(lambda: written == ["first", "of the finalizer"])


def test_a_finalizer_that_warns_while_a_line_is_kept_waits_for_nobody_who_waits_for_it():
    written = []
    later = Later(written.extend)
    writer = Thread(target=later.now, daemon=True)

    def warn():
        writer.start()
        while writer.is_alive() and later._order.acquire(blocking=False):
            later._order.release()
            time.sleep(0.001)
        later.now("warning")  # while another thread writes, or is done

    keeper = Thread(target=interrupted, args=(lambda: later.add("first"), warn), daemon=True)
    keeper.start()
    keeper.join(LIMIT)
    assert (keeper.is_alive(), written) == (False, ["first", "warning"])
