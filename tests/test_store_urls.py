"""A store by its URL, for the app and for every command."""

import pytest

from turnlog import Agent, Settings, create_app
from turnlog.cli import main
from turnlog.config import load
from turnlog.errors import ConfigError, NotFound
from turnlog.stores.memory.store import MemoryStore
from turnlog.stores.sqlite.store import SqliteStore
from turnlog.stores.urls import STORES, open_store, store_at
from turnlog.testing import samples as s

REFUSED = {
    "mysql://root:secret@host/db": "'mysql' is no kind of store. There are: sqlite:FOLDER",
    "turnlog-data": "That is no URL. There are: sqlite:FOLDER, postgresql://HOST/NAME, memory:",
    "": "That is no URL",
    "sqlite:": "is named by its folder: sqlite:FOLDER",
    "sqlite:///turnlog-data": "sqlite:FOLDER, or sqlite:/absolute/FOLDER",
    "memory:x": "has no name",
    "postgresql:turnlog": "named as postgresql://USER:PASSWORD@HOST/NAME",
}


@pytest.mark.parametrize(("url", "why"), REFUSED.items(), ids=[url or "none" for url in REFUSED])
def test_what_is_no_store_is_refused_in_a_sentence(url, why):
    with pytest.raises(ConfigError, match=why) as refused:
        store_at(url)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("url", ["memory:", "sqlite:some/folder", "sqlite:/abs/folder"])
def test_a_store_knows_its_url(url):
    assert store_at(url).url == url


def test_the_url_of_a_store_has_no_secret():
    store = store_at("postgresql://me:secret@host:5433/db?sslmode=require")
    assert store.url == "postgresql://host:5433/db"


def test_every_scheme_has_a_row():
    assert set(STORES) == {"sqlite", "memory", "postgresql"}


async def test_an_absolute_and_a_relative_url_are_the_same_place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    async with open_store("sqlite:data") as store:
        await store.create_session(s.new_session())
    async with open_store(f"sqlite:{tmp_path / 'data'}", read_only=True) as store:
        assert await store.session_ids() == ["s"]


def test_a_folder_may_have_any_name(tmp_path, capsys):
    folder = str(tmp_path / "a b?mode=rw#c%20d")
    assert main(["migrate", "--data", folder]) == 0
    assert main(["verify", "--data", folder]) == 0
    assert capsys.readouterr().out.endswith("0 sessions, 0 events: ok\n")


async def test_a_store_in_memory_is_nothing_to_look_at():
    with pytest.raises(NotFound, match="ends with its process"):
        async with open_store("memory:", read_only=True):
            pass


# the app


def test_an_app_takes_a_store_its_url_or_what_the_settings_say(tmp_path):
    def store_of(settings=None, **given):
        return create_app([Agent("a")], settings=settings or Settings(), **given).store

    mine = MemoryStore()
    assert store_of(store=mine) is mine
    assert isinstance(store_of(store="memory:"), MemoryStore)
    assert isinstance(store_of(), SqliteStore)
    assert store_of(Settings(data="x")).url == "sqlite:x"
    assert store_of(Settings(data="x", database_url="sqlite:y")).url == "sqlite:y"
    assert store_of(Settings(database_url="memory:")).url == "memory:"


def test_the_environment_names_the_store(tmp_path):
    env = {"TURNLOG_DATABASE_URL": "sqlite:elsewhere", "TURNLOG_DATA": "here"}
    assert load(env, tmp_path / "none.toml").store_url == "sqlite:elsewhere"
    assert load({"TURNLOG_DATA": "here"}, tmp_path / "none.toml").store_url == "sqlite:here"


# commands


@pytest.fixture
def in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TURNLOG_DATABASE_URL", f"sqlite:{tmp_path / 'named'}")


@pytest.mark.parametrize("command", [["verify"], ["bill"], ["migrate"]], ids=lambda c: c[0])
def test_a_command_uses_the_store_of_the_settings(in_folder, tmp_path, command):
    assert main(["migrate"]) == 0
    assert (tmp_path / "named" / "turnlog.db").exists()
    assert main(command) == 0
    assert not (tmp_path / "turnlog-data").exists()


@pytest.mark.parametrize("command", ["serve", "verify", "bill", "migrate"])
def test_two_places_for_one_database_are_refused(in_folder, tmp_path, command, capsys):
    """Who verifies a copy must not be told about another database."""
    assert main([command, "--data", str(tmp_path / "copy")]) == 2
    assert "Leave one out" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_store_stops_the_start(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TURNLOG_DATABASE_URL", "mongodb://host")
    assert main(["serve"]) == 2
    assert "'mongodb' is no kind of store" in capsys.readouterr().err
