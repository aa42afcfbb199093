"""An object storage that a real server serves."""

import logging
import secrets
import urllib.request

import pytest


@pytest.fixture(scope="module")
def s3_server():
    """moto's S3, on loopback, in a thread."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(s3_server, monkeypatch):
    """The name of an empty bucket; the environment says where it is."""
    name = f"bucket-{secrets.token_hex(8)}"
    urllib.request.urlopen(urllib.request.Request(f"{s3_server}/{name}", method="PUT")).close()
    environment = {
        "AWS_ENDPOINT_URL": s3_server,
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
    }
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
    return name
