"""Modules beside turnlog.toml are found by the installed command; what is missing is named."""

import os
import sys

import pytest

from turnlog.cli import main

TOOLS = '''
from turnlog import tool

@tool(writes=False)
def get_customer(number: str) -> str:
    """Reads a customer."""
    return number

ALL = [get_customer]
'''


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A working folder that is not on the path, as for the installed command."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith(("TURNLOG_", "ANTHROPIC_"))]:
        monkeypatch.delenv(name)
    before = set(sys.modules)
    monkeypatch.setattr(sys, "path", [each for each in sys.path if each not in ("", os.getcwd())])
    (tmp_path / "customer_tools.py").write_text(TOOLS)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.startswith("customer_"):
            del sys.modules[name]


def listed(folder, capsys, tool, *argv):
    (folder / "turnlog.toml").write_text(f'[agents.sales]\nprompt = "x"\ntools = ["{tool}"]\n')
    code = main(["tools", *argv])
    return code, "".join(capsys.readouterr())


def test_tools_beside_the_file_are_found_by_the_installed_command(folder, capsys):
    code, shown = listed(folder, capsys, "customer_tools:get_customer")
    assert code == 0 and "sales  get_customer  reads" in shown


def test_a_misspelt_tool_is_told_which_there_are(folder, capsys):
    code, shown = listed(folder, capsys, "customer_tools:get_custmer")
    assert code == 2 and "circular" not in shown
    assert "'customer_tools' has no 'get_custmer'. Its tools are: get_customer, ALL." in shown


def test_a_misspelt_tool_of_the_module_of_the_app_is_no_circular_import(folder, capsys):
    app = f"{TOOLS}\nfrom turnlog import create_app\napp = create_app([])\n"
    (folder / "customer_app.py").write_text(app)
    code, shown = listed(folder, capsys, "customer_app:get_custmer", "customer_app:app")
    assert code == 2 and "circular" not in shown
    assert "Its tools are: get_customer, ALL." in shown


def test_a_misspelt_module_of_a_tool_is_told_which_files_there_are(folder, capsys):
    code, shown = listed(folder, capsys, "customer_tool:get_customer")
    assert code == 2 and "There is no module 'customer_tool'." in shown
    assert "has: customer_tools.py. Write module:name." in shown


def test_a_misspelt_module_of_an_app_is_told_which_files_there_are(capsys):
    assert main(["tools", "customer_apps:app"]) == 2
    error = capsys.readouterr().err
    assert "'customer_apps:app' cannot be loaded. There is no module 'customer_apps'." in error
    assert error.endswith("has: customer_tools.py.\n")


def test_a_module_that_imports_what_is_missing_is_not_called_missing(folder, capsys):
    (folder / "customer_app.py").write_text("import customer_gone\n")
    assert main(["tools", "customer_app:app"]) == 2
    error = capsys.readouterr().err
    assert "No module named 'customer_gone' (customer_app.py, line 1)" in error


def test_a_file_in_place_of_a_module_is_told_how_to_write_it(capsys):
    assert main(["tools", "./customer_app.py:app"]) == 2
    assert "Write its module: customer_app:app." in capsys.readouterr().err
