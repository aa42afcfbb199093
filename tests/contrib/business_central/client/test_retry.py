"""When a request to Business Central is sent again."""

import pytest

from turnlog.contrib.business_central.client.retry import LONGEST_PAUSE, pause

PAUSES = [  # method, status, Retry-After, which try -> seconds
    ("GET", 429, "2", 1, 2.0),
    ("POST", 429, "2", 1, 2.0),
    ("GET", 503, None, 1, 0.5),
    ("GET", 503, None, 3, 2.0),
    ("GET", 503, "nonsense", 1, 0.5),
    ("GET", 503, "Mon, 01 Jan 2001 00:00:00 GMT", 1, 0.0),
    ("GET", 429, "-5", 1, 0.0),
    ("GET", 429, "nan", 1, 0.5),
    ("GET", 429, "inf", 1, 0.5),
    ("GET", 429, str(LONGEST_PAUSE + 1), 1, None),
    ("GET", 429, "1", 4, None),
    ("POST", 503, "1", 1, None),
    ("PATCH", 504, "1", 1, None),
    ("GET", 500, "1", 1, None),
    ("GET", 200, None, 1, None),
]


@pytest.mark.parametrize(("method", "status", "retry_after", "tries", "wait"), PAUSES)
def test_the_pause_before_the_next_try(method, status, retry_after, tries, wait):
    assert pause(method, status, retry_after, tries) == wait
