"""Settings: arguments win over the environment, and the environment over the file."""

import pytest

from turnlog import Agent, create_app
from turnlog.config import Settings, load, refuse_open_door
from turnlog.errors import ConfigError
from turnlog.stores.memory.store import MemoryStore
from turnlog.testing.apps import SECRET
from turnlog.transports.access.auth import Auth
from turnlog.transports.access.jwks import Issuer


@pytest.fixture
def file(tmp_path):
    return tmp_path / "turnlog.toml"


def test_every_setting_has_a_default(file):
    assert load({}, file) == Settings()


def test_settings_are_read_from_the_file(file):
    file.write_text('port = 9000\nmodel = "claude-opus-5-5"\ngrace = 1.5\n')
    settings = load({}, file)
    assert (settings.port, settings.model, settings.grace) == (9000, "claude-opus-5-5", 1.5)


def test_arguments_win_over_the_environment_and_it_over_the_file(file):
    file.write_text('port = 1\nhost = "one"\ndata = "one"\n')
    env = {"TURNLOG_PORT": "2", "TURNLOG_HOST": "two"}
    settings = load(env, file, port=3, host=None)
    assert (settings.port, settings.host, settings.data) == (3, "two", "one")


def test_keep_raw_is_off_by_default(file):
    assert load({}, file).keep_raw is False
    assert load({"TURNLOG_KEEP_RAW": "true"}, file).keep_raw is True
    file.write_text("keep_raw = true\n")
    assert load({}, file).keep_raw is True


def test_an_empty_variable_counts_as_unset(file):
    assert load({"TURNLOG_PORT": "", "ANTHROPIC_API_KEY": ""}, file) == Settings()


def test_a_key_switches_from_the_simulation_to_claude(file):
    assert load({}, file).simulated
    settings = load({"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "http://b"}, file)
    assert (settings.simulated, settings.api_key, settings.base_url) == (False, "k", "http://b")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("port = ", "cannot be read"),
        ("colour = 1", "unknown setting: 'colour'"),
        ("prot = 1", "unknown setting: 'prot'. Did you mean 'port'"),
        ('port = "many"', "'port' must be a whole number, not 'many'"),
        ("grace = []", "'grace' must be a number"),
        ("max_tokens = 1.5", "must be a whole number, not 1.5"),
        ('model = ["a"]', "'model' must be text in quotes, not \\['a'\\]"),
        ("data = {}", "'data' must be text in quotes"),
        ('mcp_agents = ["erp"]', "'mcp_agents' must be text in quotes"),
        ("knowledge_teams = {sales = 1}", "'knowledge_teams' must be text in quotes"),
    ],
)
def test_a_wrong_file_is_refused_with_the_reason(file, text, why):
    file.write_text(text)
    with pytest.raises(ConfigError, match=why):
        load({}, file)


def test_a_file_that_is_not_text_is_refused(file):
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="cannot be read"):
        load({}, file)


def test_a_variable_that_is_not_a_number_is_refused(file):
    with pytest.raises(ConfigError, match="'max_tokens' must be a whole number, not 'lots'"):
        load({"TURNLOG_MAX_TOKENS": "lots"}, file)


@pytest.mark.parametrize(
    "site", ["*", "erp.example", "https://erp.example/", "https://*.example", "https://ERP.example"]
)
def test_a_site_that_no_page_could_come_from_is_refused(file, site):
    with pytest.raises(ConfigError, match="'cors_origins' has sites as https://erp.example"):
        load({"TURNLOG_CORS_ORIGINS": f"https://good.example, {site}"}, file)


def test_sites_are_named_as_browsers_do(file):
    sites = "https://erp.example, http://localhost:3000,http://[::1]:8000, tauri://localhost"
    assert len(load({"TURNLOG_CORS_ORIGINS": sites}, file).origins) == 4


def test_a_limit_is_told_in_digits(file):
    with pytest.raises(ConfigError, match="between 1 and 1000000, not '-5'"):
        load({"TURNLOG_MAX_TOKENS": "-5"}, file)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (
            "TURNLOG_DATABSE_URL",
            "unknown setting: 'TURNLOG_DATABSE_URL'. Did you mean 'TURNLOG_DAT",
        ),
        ("TURNLOG_PORTS", "Did you mean 'TURNLOG_PORT'"),
        ("TURNLOG_XYZZY", "unknown setting: 'TURNLOG_XYZZY'.$"),
        ("TURNLOG_BUDGETS", "TURNLOG_BUDGETS is not read: write 'budgets' into turnlog.toml"),
    ],
)
def test_a_variable_that_nobody_reads_is_refused(file, name, why):
    with pytest.raises(ConfigError, match=why):
        load({name: "x"}, file)


def test_variables_of_others_and_those_that_the_file_refers_to_are_left_alone(file):
    file.write_text(
        '[mcp.crm]\nurl = "https://crm.example/mcp"\n'
        'headers = {authorization = "Bearer ${TURNLOG_CRM_TOKEN}"}\n'
    )
    env = {"TURNLOG_CRM_TOKEN": "t", "MY_TURNLOG_X": "x", "TURNLOG_BC_TENANT": "t", "PATH": "/"}
    assert load(env, file).mcp[0].headers == {"authorization": "Bearer t"}
    with pytest.raises(ConfigError, match="TURNLOG_CRM_TOKENS"):
        load(env | {"TURNLOG_CRM_TOKENS": "x"}, file)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_a_server_without_authentication_may_listen_on_loopback(host):
    refuse_open_door(Settings(host=host))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.com", ""])
def test_a_server_without_authentication_may_not_listen_elsewhere(host):
    with pytest.raises(ConfigError, match="loopback only"):
        refuse_open_door(Settings(host=host))


def test_a_server_with_a_good_secret_may_listen_everywhere():
    refuse_open_door(Settings(host="0.0.0.0", auth_secret=SECRET))


@pytest.mark.parametrize("name", ["auth_secret", "metrics_token"])
def test_a_short_secret_is_refused(name):
    with pytest.raises(ConfigError, match=f"{name.upper()} is too short"):
        refuse_open_door(Settings(**{name: "short"}))


def test_secrets_are_not_printed():
    settings = Settings(
        auth_secret=SECRET,
        api_key="sk-secret",
        metrics_token="mt-secret",
        contrib={"bc_client_secret": "bc-secret"},
    )
    assert SECRET not in repr(settings)
    assert "-secret" not in repr(settings)


def test_settings_of_contrib_are_carried_by_name(file):
    file.write_text('bc_tenant = "one"\nbc_company = "Mine"\n')
    settings = load({"TURNLOG_BC_TENANT": "two", "TURNLOG_BC_CLIENT_ID": ""}, file)
    assert settings.contrib == {"bc_tenant": "two", "bc_company": "Mine"}


def test_an_app_refuses_an_unknown_setting_of_contrib():
    with pytest.raises(ConfigError, match="'bc_tennant'. Did you mean 'bc_tenant'"):
        create_app([Agent("a")], settings=Settings(contrib={"bc_tennant": "t"}), store="memory:")


def test_who_may_send_more_messages_may_change_more(file):
    assert load({"TURNLOG_MESSAGES_A_MINUTE": "1000"}, file).most_writes == 5_000
    few = {"TURNLOG_MESSAGES_A_MINUTE": "1000", "TURNLOG_WRITES_A_MINUTE": "7"}
    assert load(few, file).most_writes == 7


def test_a_provider_opens_the_door():
    refuse_open_door(Settings(host="0.0.0.0", auth_issuer="https://id.example"))
    assert Auth(None, Issuer(name="https://id.example/")).required


@pytest.mark.parametrize(
    ("named", "why"),
    [
        ({"auth_issuer": "http://id.example"}, "'auth_issuer' must be https"),
        ({"auth_issuer": "https://"}, "'auth_issuer' must be https"),
        ({"auth_issuer": "http://["}, "'auth_issuer' must be https"),
        ({"auth_issuer": "x", "auth_jwks_url": "file:///k"}, "'auth_jwks_url' must be https"),
        ({"auth_jwks_url": "https://id.example/k"}, "needs 'auth_issuer'"),
        ({"auth_secret": SECRET, "auth_audience": "turnlog"}, "needs 'auth_issuer'"),
        ({"auth_secret": SECRET, "auth_issuer": "https://id.example"}, "not both"),
    ],
)
def test_half_a_provider_is_refused(named, why):
    with pytest.raises(ConfigError, match=why):
        refuse_open_door(Settings(**named))
    with pytest.raises(ConfigError, match=why):
        create_app(settings=Settings(**named), store=MemoryStore())


def test_a_time_of_a_key_that_is_not_there_is_refused():
    with pytest.raises(ConfigError, match="TURNLOG_SEAL_KEY_SINCE needs TURNLOG_SEAL_KEY"):
        refuse_open_door(Settings(seal_key_since="2026-11-18T09:00:00Z"))
