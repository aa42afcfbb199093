"""Every block of code in the README and the documentation runs.

The blocks of a page run in their order, in one folder. A comment right before a block says what a
reader takes for granted (`<!-- run first` and lines of the block's language), or why the block
cannot run in a test (`<!-- not run: the reason -->`).
"""

import ast
import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import nodejs
import pytest
import yaml

from turnlog.config import load
from turnlog.prices import PriceBook
from turnlog.testing.server import serving

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
# These are printed, not typed; the tests of what prints them compare them.
SHOWN = {"", "text", "replay", "export", "sentences", "transcript"}
BLOCK = re.compile(
    r"(?:<!-- (?P<note>run first|not run:)(?P<said>(?:(?!-->).)*)-->\n+)?"
    r"^```(?P<language>\w*)\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
SECRETS = {
    "CRM_TOKEN_SECRET": "s" * 32,
    "PAGER_SECRET": "whsec_" + "c2VjcmV0" * 4,
}  # what the settings of a page take from the environment


class Block(NamedTuple):
    language: str
    code: str
    before: str  # what runs first
    reason: str | None  # why it does not run
    line: int


def blocks(page):
    text = page.read_text()
    for match in BLOCK.finditer(text):
        said = (match["said"] or "").strip()
        yield Block(
            language=match["language"],
            code=match["code"],
            before=said if match["note"] == "run first" else "",
            reason=said if match["note"] == "not run:" else None,
            line=text.count("\n", 0, match.start("code")),
        )


SERVER = "http://127.0.0.1:8000"  # what the pages call the reader's own


def run_python(block, page):
    """As a module; one that begins with its file's name can be imported by the next one."""
    if SERVER in block.code:
        asyncio.run(run_awaiting(block, page))
        return
    named = re.match(r"# (\w+\.py)\n", block.code)
    if named:
        (page.folder / named[1]).write_text(block.code)
    exec(compile(block.before, "before", "exec"), page.names)
    exec(compile("\n" * block.line + block.code, str(page.path), "exec"), page.names)
    for name in re.findall(r"^async def (test_\w+)\(\)", block.code, re.MULTILINE):
        asyncio.run(page.names[name]())


async def run_awaiting(block, page):
    """As a notebook would run it, beside a server."""
    async with serving(page.folder, "", env={"ANTHROPIC_API_KEY": ""}) as server:
        source = f"{block.before}\n{block.code}".replace(SERVER, server.url)
        source = source.replace("asyncio.run(main())", "await main()")  # a loop runs already
        code = compile(source, str(page.path), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        running = eval(code, page.names)
        if running is not None:
            await running


def run_toml(block, page):
    """As settings, or as a price book. What they name is made by shell commands."""
    subprocess.run(["bash", "-euc", block.before], cwd=page.folder, check=True)
    file = page.folder / "block.toml"
    file.write_text(block.code)
    if "[[price]]" in block.code:
        PriceBook.of(str(file))
    else:
        load(env=SECRETS, file=file)


async def run_beside_server(command, page):
    async with serving(page.folder, "", env={"ANTHROPIC_API_KEY": ""}) as server:
        process = await asyncio.create_subprocess_exec(
            *command(server.url),
            cwd=page.folder,
            env={
                **os.environ,
                "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
                "TURNLOG_DATA": str(page.folder / "data"),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        said, _ = await process.communicate()
        assert process.returncode == 0, said.decode()


def run_sh(block, page):
    venv = page.folder / ".venv"
    if not venv.exists():
        venv.symlink_to(Path(sys.executable).parent.parent)

    def command(url):
        script = f"{block.before}\n{block.code}".replace(SERVER, url)
        return ["bash", "-euo", "pipefail", "-c", script]

    asyncio.run(run_beside_server(command, page))


def run_js(block, page):
    modules = page.folder / "node_modules"
    if not modules.exists():
        modules.symlink_to(nodejs.FOLDER / "node_modules")

    def command(url):
        script = f"{block.before}\n{block.code}".replace(SERVER, url)
        (page.folder / "block.mjs").write_text(script)
        return [nodejs.node(), "block.mjs"]

    asyncio.run(run_beside_server(command, page))


RUN = {
    "python": run_python,
    "toml": run_toml,
    "sh": run_sh,
    "js": run_js,
    "json": lambda block, page: json.loads(block.code),
    "yaml": lambda block, page: list(yaml.safe_load_all(block.code)),
}


class Page(NamedTuple):
    path: Path
    folder: Path
    names: dict


@pytest.mark.slow
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_the_code_of_a_page_runs(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("TURNLOG_DATA", str(tmp_path / "of-python"))
    before = set(sys.modules)
    page = Page(path, tmp_path, {"__name__": "__main__"})
    try:
        for block in blocks(path):
            if block.language not in SHOWN and block.reason is None:
                RUN[block.language](block, page)
    finally:
        for name in set(sys.modules) - before:  # modules that the page wrote
            if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
                del sys.modules[name]


def test_a_block_that_does_not_run_says_why():
    silent = [f"{p.name}:{b.line}" for p in PAGES for b in blocks(p) if b.reason == ""]
    assert silent == []


def test_every_language_is_known():
    unknown = {
        f"{page.name}:{block.line} {block.language}"
        for page in PAGES
        for block in blocks(page)
        if block.language not in SHOWN | RUN.keys() and block.reason is None
    }
    assert unknown == set()
