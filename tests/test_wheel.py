"""The wheel: all that is needed is in it, and a project of somebody's own runs on it."""

import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
    subprocess.run([*build, "-w", str(folder), str(ROOT)], check=True)
    (built,) = folder.glob("turnlog-*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    """A new environment with the wheel; what it requires is borrowed from this one."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps"]
    subprocess.run([*pip, wheel], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    # By a path that is looked at last, and without the editable turnlog of this environment.
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin"


def test_the_wheel_has_code_sql_pages_and_nothing_of_the_tests(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {
        "turnlog/cli.py",
        "turnlog/py.typed",
        "turnlog/stores/sqlite/queries.sql",
        "turnlog/commands/project/assistant.py",
        "turnlog/site/index.html",
    } <= names
    assert {name.split("/")[0] for name in names} == {
        "turnlog",
        next(name for name in names if ".dist-info" in name).split("/")[0],
    }


def test_a_project_of_ones_own_runs_on_the_wheel_alone(environment, tmp_path):
    def run(*command):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    where = run(environment / "python", "-c", "import turnlog; print(turnlog.__file__)")
    assert where.startswith(str(environment.parent))
    run(environment / "turnlog", "new", "desk")
    tests = run(environment / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "desk")
    assert "4 passed" in tests
