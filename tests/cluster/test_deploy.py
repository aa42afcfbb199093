"""The files in deploy/ name what exists: metrics, settings and paths."""

import json
import re
from pathlib import Path

import pytest

from turnlog.config.reading import ENVIRONMENT
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
    text = (DEPLOY / name).read_text()
    assert set(re.findall(r"\bTURNLOG_[A-Z_]+", text)) <= set(ENVIRONMENT)


def test_every_probe_asks_a_route_that_is_open():
    probed = re.findall(r"path: (/\w+)", (DEPLOY / "kubernetes.yaml").read_text())
    open_ones = {route.path for route in ROUTES if route.who == "none"}
    assert sorted(probed) == ["/healthz", "/readyz"] and set(probed) <= open_ones


def test_the_dashboard_is_json():
    panels = json.loads((DEPLOY / "grafana.json").read_text())["panels"]
    assert all(panel["targets"][0]["expr"] for panel in panels)
