"""The built web UI is served as it is, under a policy that lets nothing else in."""

import gzip
import re
import sys
from pathlib import Path

import httpx2
import pytest

from turnlog.testing.apps import is_problem, served
from turnlog.transports.http import site

sys.path.insert(0, str(Path(__file__).parent.parent.parent))
import hatch_build

pytestmark = pytest.mark.slow
BUDGET = 260_000  # bytes of the first load: scripts and styles with gzip, and the font
LAZY = 60_000  # bytes of whatever is loaded later


@pytest.fixture(autouse=True)
def is_built():
    assert hatch_build.is_up_to_date(), "run `make .venv/.site` in the project's folder"


@pytest.fixture
async def http():
    async with served() as server:
        yield server.http


@pytest.mark.parametrize("path", [*site.PLACES, site.EMBED])
async def test_every_place_of_the_page_is_the_same_document(http, path):
    response = await http.get(path.format(id="1"))
    assert (response.status_code, response.headers["content-type"][:9]) == (200, "text/html")
    assert 'id="root"' in response.text
    policy = response.headers["content-security-policy"]
    for rule in ("default-src 'none'", "script-src 'self'", "require-trusted-types-for 'script'"):
        assert rule in policy
    assert "unsafe" not in policy


ASKED_BY_A_BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@pytest.mark.parametrize("path", ["/nothing", "/s", "/sessions/1/2/3", "/api/nothing"])
async def test_a_wrong_address_is_the_page_for_browsers_and_a_problem_for_others(http, path):
    page = await http.get(path, headers={"accept": ASKED_BY_A_BROWSER})
    assert (page.status_code, page.headers["content-type"][:9]) == (404, "text/html")
    assert 'id="root"' in page.text
    assert page.headers["content-security-policy"] == site.policy()
    for accept in ("*/*", "application/json"):
        is_problem(await http.get(path, headers={"accept": accept}), 404, "not_found")


async def test_no_other_error_becomes_the_page(http):
    accept = {"accept": ASKED_BY_A_BROWSER}
    is_problem(await http.post("/nothing", headers=accept), 404, "not_found")
    is_problem(await http.delete("/api/sessions", headers=accept), 405, "method_not_allowed")
    is_problem(await http.get("/api/sessions/nothing", headers=accept), 404, "not_found")


async def test_where_no_page_was_built_a_wrong_address_is_a_problem(http, monkeypatch):
    monkeypatch.setattr(site, "built", dict)
    answer = await http.get("/nothing", headers={"accept": ASKED_BY_A_BROWSER})
    is_problem(answer, 404, "not_found")


async def test_only_sites_that_are_named_may_show_the_chat_in_a_frame():
    named = site.Site(["https://erp.example"])
    assert "frame-ancestors 'none'" in named._page
    assert "frame-ancestors 'self' https://erp.example;" in named._embedded


async def test_the_document_has_no_inline_script_and_no_address_of_others(http):
    text = (await http.get("/")).text
    assert re.findall(r"<script(?![^>]*src=)", text) == []
    assert re.findall(r"https?://", text) == []


async def test_assets_are_packed_once_and_kept_by_browsers(http):
    name = re.search(r"/assets/[\w.-]+\.js", (await http.get("/")).text)[0]
    response = await http.get(name)
    assert response.headers["content-encoding"] == "gzip"
    assert response.headers["cache-control"] == site.FOREVER
    plain = await http.get(name, headers={"accept-encoding": "identity"})
    assert plain.content == response.content
    assert (await http.get("/assets/nothing.js")).status_code == 404


def packed(path):
    file = site.built()[path]
    return len(file.body) if path.endswith(".woff2") else len(gzip.compress(file.body, 9))


def test_the_first_load_and_every_later_one_are_small():
    files = site.built()
    first = set(re.findall(r"/assets/[\w.-]+", files["/index.html"].body.decode()))
    first |= {path for path in files if path.endswith((".woff2", ".css"))}
    sizes = {path: packed(path) for path in files}
    assert sum(sizes[path] for path in first) + sizes["/theme.js"] <= BUDGET
    assert {p: n for p, n in sizes.items() if p not in first and n > LAZY} == {}


def test_no_built_file_is_from_elsewhere():
    pattern = rb"(?:src|href)=\"https?://|@import|cdn\."
    assert [path for path, file in site.built().items() if re.search(pattern, file.body)] == []


async def test_a_hostile_name_of_an_asset_finds_nothing(http):
    for name in ("..%2findex.html", "%2e%2e/index.html", ".sources"):
        url = httpx2.URL(str(http.base_url) + f"/assets/{name}")
        assert (await http.get(url)).status_code == 404
