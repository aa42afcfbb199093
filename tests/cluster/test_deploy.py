"""The files in deploy/ name what exists: metrics, settings and paths."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from turnlog.config import Settings
from turnlog.config.reading import ENVIRONMENT
from turnlog.stores.postgres.migrations import LONGEST
from turnlog.telemetry.metrics import Metrics
from turnlog.transports.http.routes import ROUTES

DEPLOY = Path(__file__).parent.parent.parent / "deploy"


@pytest.mark.parametrize("name", ["alerts.yaml", "grafana.json"])
def test_every_metric_that_is_named_exists(name):
    text = (DEPLOY / name).read_text()
    named = set(re.findall(r"turnlog_[a-z0-9_]+", text))
    there = set(re.findall(r"# TYPE (\S+)", Metrics().page()))
    assert named and {re.sub("_(bucket|sum|count)$", "", each) for each in named} <= there


@pytest.mark.parametrize("name", ["compose.yaml", "kubernetes.yaml"])
def test_every_setting_that_is_named_exists(name):
    named = set(re.findall(r"\bTURNLOG_[A-Z_]+", (DEPLOY / name).read_text()))
    assert named and named <= set(ENVIRONMENT)


def test_every_probe_asks_a_route_that_is_open():
    probed = re.findall(r"path: (/\w+)", (DEPLOY / "kubernetes.yaml").read_text())
    open_ones = {route.path for route in ROUTES if route.who == "none"}
    assert set(probed) == {"/healthz", "/readyz"} <= open_ones


def test_a_node_that_brings_a_large_database_up_to_date_is_not_killed_meanwhile():
    """It does not listen before: a killed migration is undone, and begins again."""
    pods, image = ((DEPLOY / name).read_text() for name in ("kubernetes.yaml", "Dockerfile"))
    (seconds, times), (minutes,) = (
        re.findall(r"startupProbe: .*periodSeconds: (\d+), failureThreshold: (\d+)", pods)[0],
        re.findall(r"--start-period=(\d+)m", image),
    )
    assert int(seconds) * int(times) == int(minutes) * 60 >= 2 * LONGEST


def test_no_conversation_and_no_secret_of_a_checkout_comes_into_an_image():
    left_out = set((DEPLOY / "Dockerfile.dockerignore").read_text().splitlines())
    assert {Settings().data, "turnlog.toml", ".env*", ".git", ".venv*"} <= left_out


def test_the_dashboard_is_json():
    panels = json.loads((DEPLOY / "grafana.json").read_text())["panels"]
    assert panels and all(panel["targets"][0]["expr"] for panel in panels)


@pytest.mark.parametrize("name", ["compose.yaml", "kubernetes.yaml"])
def test_several_nodes_share_the_files_of_their_users(name):
    """Or what one of them has received, the next one does not find."""
    text = (DEPLOY / name).read_text()
    (place,) = re.findall(r"file:(/[\w/]+)", text)
    assert f"mountPath: {place}}}" in text or f"volumes: [files:{place}]" in text
    assert place in (DEPLOY / "Dockerfile").read_text()  # made there, for the user who runs it


@pytest.mark.parametrize("extra", ["cluster", "langgraph", "s3"])
def test_the_image_has_what_its_settings_may_name(extra):
    """The Dockerfile installs the pins of requirements/run.txt, and nothing else."""
    names = ("pyproject.toml", "requirements/run.txt", "Makefile", "docs/scale.md")
    project, pins, makefile, page = ((DEPLOY.parent / name).read_text() for name in names)
    needed = tomllib.loads(project)["project"]["optional-dependencies"][extra]
    pinned = set(re.findall(r"^([a-z0-9-]+)==", pins, re.M))
    assert {re.match(r"[\w-]+", each)[0] for each in needed} <= pinned
    assert f"--extra {extra}" in makefile  # `make lock` keeps it
    assert f"`{extra}`" in page


def test_a_node_that_stops_gets_the_time_that_its_turns_need():
    grace = Settings().grace
    told = {
        "compose.yaml": r"stop_grace_period: (\d+)s",
        "kubernetes.yaml": r"terminationGracePeriodSeconds: (\d+)",
    }
    for name, pattern in told.items():
        (seconds,) = re.findall(pattern, (DEPLOY / name).read_text())
        assert int(seconds) >= 2 * grace, name
