"""Options of the suite."""

import hypothesis
import pytest

# For `make quick`: few examples where a test does not ask for more.
hypothesis.settings.register_profile("quick", max_examples=20)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--accept", action="store_true", help="write the tables of golden pages anew")
