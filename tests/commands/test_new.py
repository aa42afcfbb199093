"""`turnlog new`: a project to begin from. test_wheel.py runs it."""

import pytest

from turnlog.cli import main


def test_the_project_is_written_with_its_name(tmp_path):
    assert main(["new", str(tmp_path / "My Help-Desk")]) == 0
    written = tmp_path / "My Help-Desk"
    assert {each.name for each in written.iterdir()} == {
        ".gitignore",
        "README.md",
        "assistant.py",
        "pyproject.toml",
        "tests",
        "turnlog.toml",
    }
    assert 'name = "my-help-desk"' in (written / "pyproject.toml").read_text()
    assert (written / "README.md").read_text().startswith("# my-help-desk\n")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [("there", "is there already"), ("---", "is no name for a project")],
)
def test_what_cannot_be_is_refused(name, sentence, tmp_path, capsys):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "file").touch()
    assert main(["new", str(tmp_path / name)]) == 2
    assert sentence in capsys.readouterr().err


def test_an_empty_folder_may_be_there(tmp_path):
    assert main(["new", str(tmp_path)]) == 0
