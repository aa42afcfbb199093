"""How a state of the web UI looks: axe is silent, nothing scrolls sideways, and on `pytest
--accept` its pictures for the documentation are written, small.
"""

import io
from pathlib import Path

from PIL import Image
from web.browser import NARROW, WIDE, offences

FOLDER = Path(__file__).parent.parent.parent / "docs" / "pictures"
COLOURS = 256
PICTURED = {
    *("empty", "streaming", "thinking", "tools", "answer", "citation", "simulated"),
    *("approval", "edited", "elsewhere", "four-eyes", "doubt", "failed", "error", "stopped"),
    *("offline", "upload", "usage", "audit", "replay", "difference"),
}
LOOKS = [("light", WIDE), ("dark", WIDE), ("light", NARROW), ("dark", NARROW)]
# Of states whose parts are looked at elsewhere: both themes and both widths, once each.
FEW = [("light", WIDE), ("dark", NARROW)]


SIDEWAYS = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


async def check(one, name, request, *, among=LOOKS, phone=False):
    """Look at the page as it is. `phone`: its pictures on a phone are kept too."""
    accepted = request.config.getoption("--accept")
    for theme, (width, height) in LOOKS if accepted else among:
        await one.page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        await one.page.set_viewport_size({"width": width, "height": height})
        await one.page.evaluate("t => document.documentElement.dataset.theme = t", theme)
        await fits(one.page)
        assert await offences(one.page) == []
        if accepted and name in PICTURED and (phone or width == WIDE[0]):
            await take(one.page, f"{name}-{theme}" + ("-phone" if width < WIDE[0] else ""))
    await one.page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})


async def fits(page):
    """Nothing scrolls to the side, once the page has moved into its width."""
    await page.wait_for_function(f"() => ({SIDEWAYS})() === 0")


async def take(page, name):
    """A picture of what is in view, without anything that moves."""
    await page.evaluate("document.fonts.ready")
    picture = Image.open(io.BytesIO(await page.screenshot(animations="disabled", caret="hide")))
    FOLDER.mkdir(exist_ok=True)
    few = picture.convert("RGB").quantize(
        COLOURS,
        method=Image.Quantize.MAXCOVERAGE,  # rare colours stay: a green dot is green
        kmeans=2,  # and the colour of a wide panel is its own
        dither=Image.Dither.NONE,
    )
    few.save(FOLDER / f"{name}.png", optimize=True)
