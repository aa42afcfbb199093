"""The endpoint of a Business Central, and the settings that describe it."""

import pytest

from turnlog.contrib.business_central.client.endpoint import Endpoint, endpoint_from
from turnlog.errors import ConfigError


def test_an_endpoint_hides_its_secret_and_quotes_its_names():
    place = Endpoint(tenant="a/b", client_id="c", client_secret="hidden", environment="x y")
    assert "hidden" not in repr(place)
    assert place.api.endswith("/v2.0/a%2Fb/x%20y/api/v2.0")


@pytest.mark.parametrize("url", ["http://example.com", "ftp://x", "nonsense", "https://", ""])
def test_an_endpoint_must_use_https(url):
    with pytest.raises(ConfigError, match="bc_base_url"):
        Endpoint(tenant="t", client_id="c", client_secret="s", base_url=url)


def test_without_settings_there_is_no_endpoint():
    assert endpoint_from({}) is None
    assert endpoint_from({"other_tenant": "t"}) is None


def test_settings_describe_an_endpoint():
    endpoint = endpoint_from({"bc_tenant": "t", "bc_client_id": "c", "bc_client_secret": "s"})
    assert (endpoint.tenant, endpoint.environment, endpoint.company) == ("t", "Production", None)
    assert endpoint.api.startswith("https://api.businesscentral.dynamics.com/v2.0/t/Production/")


def test_settings_that_describe_half_an_endpoint_are_refused():
    with pytest.raises(ConfigError, match="needs 'bc_client_secret' as well"):
        endpoint_from({"bc_tenant": "t", "bc_client_id": "c"})


def test_an_unknown_setting_is_refused_with_the_nearest_known_one():
    with pytest.raises(ConfigError, match="'bc_tennant'. Did you mean 'bc_tenant'"):
        endpoint_from({"bc_tennant": "t"})
