"""The connection to the API: what goes along with every request, and through which proxy."""

import anthropic
import pytest

from turnlog.engines.claude.connection import Api

API, OWN = "https://api.anthropic.com", "http://127.0.0.1:9"


@pytest.mark.parametrize(
    ("url", "bypass", "proxy"),
    [
        (None, "", "http://proxy:3128"),
        (API, "", "http://proxy:3128"),
        (API, "api.anthropic.com", None),
        (OWN, "", None),  # no proxy leads to this machine
    ],
)
def test_the_environment_names_the_proxy(monkeypatch, url, bypass, proxy):
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    monkeypatch.setenv("HTTP_PROXY", "http://proxy:3128")
    monkeypatch.setenv("NO_PROXY", bypass)
    monkeypatch.setenv("no_proxy", bypass)
    assert Api("k", url, 1.0)._proxy == proxy


def test_the_key_and_the_version_are_sent_as_the_sdk_sends_them():
    sdk = anthropic.Anthropic(api_key="k")
    told = {name.lower(): value for name, value in (sdk.default_headers | sdk.auth_headers).items()}
    headers = Api("k", None, 1.0)._headers
    for name in ("authorization", "anthropic-version", "content-type"):
        assert headers[name] == told[name], name
    assert Api("k", None, 1.0)._base_url == str(sdk.base_url).rstrip("/")


def test_custom_headers_go_along(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Team: one\nnonsense\nX-Site:two")
    headers = Api("k", API, 1.0)._headers
    assert headers | {"X-Team": "one", "X-Site": "two"} == headers
