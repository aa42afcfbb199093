"""What a docstring says about parameters reaches the model, in three styles."""

import pytest

from turnlog import ToolContext, tool
from turnlog.tools.signatures.docstrings import read

GOOGLE = """Find items.

    Looks everywhere.

    Args:
        text (str): Part of the name,
            in any case.
        limit: How many: at most.
        unknown: Not a parameter.

    Returns:
        The items.
    """
NUMPY = """Find items.

    Looks everywhere.

    Parameters
    ----------
    text : str
        Part of the name,
        in any case.
    limit : int, optional
        How many: at most.

    Returns
    -------
    list
        The items.
    """
SPHINX = """Find items.

    Looks everywhere.

    :param str text: Part of the name,
        in any case.
    :param limit: How many: at most.
    :type limit: int
    :returns: The items.
    """
SAID = {"text": "Part of the name, in any case.", "limit": "How many: at most."}


@pytest.mark.parametrize("docstring", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_parameters_are_read_and_the_rest_stays(docstring):
    text, parameters = read(docstring, ["text", "limit", "context"])
    assert parameters == SAID
    assert text.startswith("Find items.\n\nLooks everywhere.")
    assert "The items." in text and "Part of" not in text and ":type" not in text


def test_what_is_said_about_no_parameter_is_not_lost():
    assert "unknown: Not a parameter." in read(GOOGLE, ["text", "limit"]).text


@pytest.mark.parametrize("docstring", ["", None, "Args: none", "Find: items\n\nNote: x", "Args:"])
def test_a_docstring_without_parameters_stays_as_it_is(docstring):
    assert read(docstring, ["text"]) == ((docstring or "").strip(), {})


def test_the_schema_has_what_the_docstring_says_unless_the_hint_says_more():
    def find(text: str, context: ToolContext, limit: int = 3) -> str:
        return text

    find.__doc__ = GOOGLE.replace("unknown: Not a parameter.", "context: For whom.")
    made = tool(writes=False)(find)
    assert {n: p["description"] for n, p in made.spec.input_schema["properties"].items()} == SAID
    assert "For whom" not in made.spec.description
