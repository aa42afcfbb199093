"""Where notices may go: configured addresses, signed, and no private ones unless allowed."""

import socket
from ipaddress import ip_address

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from turnlog.config import load
from turnlog.errors import ConfigError
from turnlog.webhooks import addresses, signature
from turnlog.webhooks.endpoint import Endpoint, endpoints

SECRET = signature.new_secret()


def endpoint(**more):
    return Endpoint(**{"name": "crm", "url": "https://example.com/hook", "secret": SECRET, **more})


# signatures


def signed(keys, body=b'{"a":1}', id="msg_1", at=None):
    import time

    return signature.headers(keys, id, int(time.time()) if at is None else at, body)


def test_others_can_verify_what_is_signed():
    assert Webhook(SECRET).verify(b'{"a":1}', signed(endpoint().keys)) == {"a": 1}


@pytest.mark.parametrize("change", ["body", "id", "time", "secret"])
def test_what_was_changed_is_not_verified(change):
    headers, body = signed(endpoint().keys), b'{"a":1}'
    other = Webhook(signature.new_secret() if change == "secret" else SECRET)
    if change == "body":
        body = b'{"a":2}'
    elif change == "id":
        headers["webhook-id"] = "msg_2"
    elif change == "time":
        headers["webhook-timestamp"] = str(int(headers["webhook-timestamp"]) + 1)
    with pytest.raises(WebhookVerificationError):
        other.verify(body, headers)


def test_an_old_message_is_not_taken_again():
    with pytest.raises(WebhookVerificationError):
        Webhook(SECRET).verify(b'{"a":1}', signed(endpoint().keys, at=1_600_000_000))


def test_two_secrets_hold_while_they_are_exchanged():
    old, new = signature.new_secret(), signature.new_secret()
    headers = signed(endpoint(secret=[new, old]).keys)
    for secret in (old, new):
        assert Webhook(secret).verify(b'{"a":1}', headers) == {"a": 1}


# settings

WRONG = {
    "ftp": {"url": "ftp://example.com"},
    "no host": {"url": "https://"},
    "port": {"url": "https://example.com:x/"},
    "no url": {"url": "example.com"},
    "plain": {"url": "http://example.com"},
    "password": {"url": "https://me:secret@example.com"},
    "loopback": {"url": "https://127.0.0.1/hook"},
    "link-local": {"url": "https://169.254.169.254/latest/meta-data"},
    "mapped": {"url": "https://[::ffff:10.0.0.1]/"},
    "short secret": {"secret": "whsec_c2hvcnQ="},
    "no prefix": {"secret": SECRET.removeprefix("whsec_")},
    "no secret": {"secret": []},
    "event": {"events": ["approval.requestd"]},
    "no events": {"events": []},
    "name": {"name": "../x"},
}


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
def test_what_cannot_be_an_endpoint_is_refused_at_the_start(change):
    with pytest.raises(ConfigError, match="webhooks"):
        endpoint(**change)


def test_endpoints_come_from_the_file_with_secrets_from_the_environment(tmp_path):
    file = tmp_path / "turnlog.toml"
    file.write_text(
        '[webhooks.crm]\nurl = "https://example.com/hook"\nsecret = "${HOOK_SECRET}"\n'
        'events = ["turn.ended"]\n'
    )
    (found,) = load({"HOOK_SECRET": SECRET}, file).webhooks
    assert (found.secrets, found.events) == ([SECRET], ["turn.ended"])
    assert SECRET not in repr(found)
    with pytest.raises(ConfigError, match="HOOK_SECRET"):
        load({}, file)


def test_an_unknown_word_is_refused():
    with pytest.raises(ConfigError, match="unknown setting: 'uri'"):
        endpoints({"crm": {"uri": "https://example.com", "secret": SECRET}}, {})


# addresses

PRIVATE = """
    127.0.0.1 10.1.2.3 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1 0.0.0.0 224.0.0.1
    255.255.255.255 240.0.0.1 192.0.2.1 198.18.0.1 ::1 :: fe80::1 fc00::1 fd12::1 ff02::1 fec0::1
    ::ffff:127.0.0.1 ::ffff:10.0.0.1 64:ff9b::7f00:1 64:ff9b::a00:1 2002:7f00:1:: 2002:a00:1::
    ::127.0.0.1 2001:db8::1 2001:0:1:2::3
"""
PUBLIC = "8.8.8.8 1.1.1.1 2606:4700:4700::1111 64:ff9b::808:808 ::ffff:8.8.8.8"


@pytest.mark.parametrize("address", PRIVATE.split())
def test_private_and_special_addresses_are_not_public(address):
    assert not addresses.is_public(ip_address(address))


@pytest.mark.parametrize("address", PUBLIC.split())
def test_addresses_of_the_internet_are(address):
    assert addresses.is_public(ip_address(address))


@pytest.mark.parametrize("host", ["localhost", "127.1", "2130706433", "0x7f000001"])
async def test_a_name_that_leads_here_is_refused(host):
    try:
        socket.getaddrinfo(host, 80)
    except socket.gaierror:  # a system that takes no such number leads nowhere anyway
        return
    with pytest.raises(addresses.Refused):
        await addresses.addresses_of(host, 80, allow_private=False)
    assert await addresses.addresses_of(host, 80, allow_private=True)
