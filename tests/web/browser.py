"""A real Chromium, and tabs of it that notice whatever a page must not do.

An installed Chromium is used; without one, the one that npm's `@sparticuz/chromium` carries.
"""

import asyncio
import re
import shutil
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import nodejs
from playwright.async_api import async_playwright

INSTALLED = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
WIDE, NARROW = (1280, 860), (390, 844)
PATIENCE = 120_000  # milliseconds until something never came
TRIES = 1200  # looks at a screen that should become another one
# Collects what the content policy refused.
WATCH = """
window.refused = [];
document.addEventListener("securitypolicyviolation", (event) =>
  window.refused.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
"""
# What is new in every run: times, and how long something took.
CHANGING = [
    (re.compile(r"\d+(\.\d+)? (ms|s)\b"), "N s"),
    (re.compile(r"\b\d\d:\d\d\b"), "HH:MM"),
    (re.compile(r"expires in [\dhmins ]+|expired"), "expires"),
]
# What one tab knows and another cannot.
ELSEWHERE = re.compile(r", in another window")


def steady(text):
    """Without what changes by itself."""
    for pattern, instead in CHANGING:
        text = pattern.sub(instead, text)
    return ELSEWHERE.sub("", text)


async def _carried():
    """The Chromium in the npm package. Its own arguments are for machines that are smaller than
    any of ours: all in one process, which crashes now and then, and without web security."""
    script = (
        "import(process.argv[1]).then(async ({default: c}) => "
        "console.log(await c.executablePath()))"
    )
    entry = nodejs.package("@sparticuz/chromium") / "build" / "index.js"
    process = await asyncio.create_subprocess_exec(
        nodejs.node(), "-e", script, str(entry), stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    return out.decode().strip()


@asynccontextmanager
async def chromium(*, carried=False):
    """The browser. `carried`: the one from npm, whatever is installed."""
    installed = next(filter(None, map(shutil.which, INSTALLED)), None)
    path = installed if installed and not carried else await _carried()
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, timeout=PATIENCE)
        try:
            yield browser
        finally:
            await browser.close()


@dataclass
class Tab:
    """One page of a browser, and what went wrong in it."""

    page: object
    url: str
    wrong: list[str] = field(default_factory=list)

    async def go(self, path="/"):
        await self.page.goto(self.url + path)
        await self.page.wait_for_selector("#root > *")

    async def follow(self, path):
        """As a link of the page does: the document stays."""
        script = "to => { history.pushState(null, '', to); dispatchEvent(new Event('popstate')); }"
        await self.page.evaluate(script, path)

    async def leave(self):
        await self.is_fine()
        await self.page.goto("about:blank")

    async def is_fine(self):
        """Nothing went wrong since the last time."""
        wrong = self.wrong + await self.page.evaluate("window.refused ?? []")
        self.wrong.clear()
        assert wrong == []

    @property
    def field(self):
        """Where a message is written."""
        return self.page.get_by_label("Message", exact=True)

    async def ask(self, text):
        await self.field.fill(text)
        await self.page.keyboard.press("Enter")

    async def asks_for_approval(self, path, text):
        """Go there and ask. The card, when it is there."""
        await self.go(path)
        await self.ask(text)
        card = self.page.locator(".approval")
        await card.wait_for()
        return card

    async def ended(self, turns=1):
        """Wait until this many turns have their last line."""
        rows = self.page.locator('.row[data-kind="footer"], .row[data-kind="ending"] .ending.bad')
        await rows.nth(turns - 1).wait_for()

    async def screen(self):
        """The conversation as roles, names, states and texts, without what changes by itself."""
        return steady(await self.page.locator(".column").aria_snapshot())

    async def rows(self, place=".column"):
        """The texts of the conversation's rows, also of those that nobody can press."""
        read = "rows => rows.map((row) => row.innerText)"
        texts = await self.page.locator(f"{place} .row").evaluate_all(read)
        return [" ".join(steady(text).split()) for text in texts]

    async def shows(self, expected):
        """The screen, once it is the expected one, or as it is in the end."""
        seen = await self.screen()
        for _ in range(TRIES):
            if seen == expected:
                break
            await self.page.wait_for_timeout(50)
            seen = await self.screen()
        return seen

    async def looks_like(self, other):
        """The screen, once it is that of the other tab, or as it is in the end."""
        for _ in range(TRIES):
            seen = await self.screen()
            if seen == await other.screen():
                break
            await self.page.wait_for_timeout(50)
        return seen


class House:
    """One address for the apps of several tests, one after the other: browsers keep its files."""

    def __init__(self):
        self.app = None

    async def __call__(self, scope, receive, send):
        await self.app(scope, receive, send)


@asynccontextmanager
async def tab(browser, url, *, theme="light", size=WIDE, **options):
    """A tab of a browser of its own. At the end nothing may have gone wrong in it."""
    context = await new_context(browser, theme=theme, size=size, **options)
    try:
        one = await new_tab(context, url)
        yield one
        await one.is_fine()
    finally:
        await context.close()


async def new_context(browser, *, theme="light", size=WIDE, **options):
    context = await browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        color_scheme=theme,
        timezone_id="UTC",
        locale="en-GB",
        **options,
    )
    context.set_default_timeout(PATIENCE)
    return context


async def new_tab(context, url):
    page = await context.new_page()
    one = Tab(page, url)
    page.on("pageerror", lambda error: one.wrong.append(f"error: {error}"))
    page.on("request", lambda request: _same_site(one, request.url))
    await page.add_init_script(WATCH)
    return one


def _same_site(one, address):
    if not address.startswith((one.url, "blob:", one.url.replace("http", "ws", 1))):
        one.wrong.append(f"asked for {address}")


async def offences(page):
    """What axe finds serious or critical."""
    if not await page.evaluate("'axe' in window"):
        source = (nodejs.package("axe-core") / "axe.min.js").read_text()
        await page.evaluate(f"() => {{ {source}; window.axe = axe; }}")
    found = await page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    return [
        (each["id"], [node["target"] for node in each["nodes"]][:3])
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
    ]
