"""Pictures of the web UI for the documentation, small. `pytest --accept` writes them."""

import io
from pathlib import Path

from PIL import Image

FOLDER = Path(__file__).parent.parent.parent / "docs" / "pictures"
COLOURS = 256


async def take(page, name):
    """A picture of what is in view, without anything that moves."""
    await page.evaluate("document.fonts.ready")
    picture = Image.open(io.BytesIO(await page.screenshot(animations="disabled", caret="hide")))
    FOLDER.mkdir(exist_ok=True)
    few = picture.convert("RGB").quantize(
        COLOURS,
        method=Image.Quantize.MAXCOVERAGE,  # rare colours stay: a green dot is green
        dither=Image.Dither.NONE,
    )
    few.save(FOLDER / f"{name}.png", optimize=True)
