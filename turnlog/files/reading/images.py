"""Images: upright, without metadata, and no larger than a model reads."""

import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

from PIL import Image, ImageOps, UnidentifiedImageError

from turnlog.files.reading.refusal import Refused

FORMATS = ("JPEG", "PNG", "GIF", "WEBP")
MOST_PIXELS = 50_000_000
LARGEST_SIDE = 30_000
FEW_COLORS = 256  # of drawings and screenshots
MOST_BYTES = 3_500_000  # of what a model is given: 5 MB in base64 are too many
QUALITY = 85
Answer = dict[str, Any]


def read(path: Path, into: Path, media_type: str, fit: int) -> Answer:
    """Write `model`, an image that fits into a square of `fit` pixels, and say what it is."""
    with _opened(path) as image:
        if Image.MIME.get(image.format or "") != media_type:
            raise Refused("The file is not the kind of image that it begins like.")
        frames = int(getattr(image, "n_frames", 1))
        facts = {"format": str(image.format), "mode": image.mode, "frames": frames}
        width, height = image.size
        if _is_turned(image):
            width, height = height, width
        is_jpeg, few = image.format == "JPEG", _has_few_colors(image)
        fitted = _fitted(image, fit)
    model_type = _write(fitted, into / "model", is_jpeg, few)
    return {
        "width": width,
        "height": height,
        "modelType": model_type,
        "modelSize": (into / "model").stat().st_size,
        "metadata": facts,
    }


def thumbnail(path: Path, into: Path, width: int) -> Answer:
    """Write `thumbnail`, so many pixels wide at most."""
    with _opened(path) as image:
        return write_thumbnail(_fitted(image, width), into)


def write_thumbnail(image: Image.Image, into: Path) -> Answer:
    if image.mode == "RGB":
        image.save(into / "thumbnail", "JPEG", quality=80)
        return {"mediaType": "image/jpeg"}
    image.save(into / "thumbnail", "PNG")
    return {"mediaType": "image/png"}


class _opened:
    """The image, with everything that can be wrong with it told as Refused."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> Image.Image:
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        Image.MAX_IMAGE_PIXELS = MOST_PIXELS
        try:
            self._image = Image.open(self._path, formats=FORMATS)
        except Exception as error:
            raise _explained(error) from error
        width, height = self._image.size
        if width * height > MOST_PIXELS or max(width, height) > LARGEST_SIDE:
            raise Refused(f"The image has {width} × {height} pixels, which is too many.")
        return self._image

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._image.close()
        if isinstance(error, Exception) and not isinstance(error, Refused | MemoryError):
            raise _explained(error) from error


def _explained(error: Exception) -> Refused:
    if isinstance(error, Image.DecompressionBombError | Image.DecompressionBombWarning):
        return Refused("The image has too many pixels.")
    if isinstance(error, UnidentifiedImageError):
        return Refused("The file is not an image that can be read.")
    return Refused("The image is damaged: it cannot be read to its end.")


def _is_turned(image: Image.Image) -> bool:
    """Whether its camera was held upright: EXIF orientations 5 to 8."""
    try:
        return image.getexif().get(0x0112) in (5, 6, 7, 8)
    except Exception:  # broken EXIF is as good as none
        return False


def _fitted(image: Image.Image, fit: int) -> Image.Image:
    """Upright, in RGB or RGBA, without anything but pixels."""
    if image.format == "JPEG":
        share = min(fit / max(image.size), 1.0)
        wanted = (int(image.width * share), int(image.height * share))
        image.draft("RGB", wanted)  # decoded at a half, a quarter or an eighth of its size
    image.seek(0)
    image.load()
    with suppress(Exception):  # broken EXIF is as good as none
        ImageOps.exif_transpose(image, in_place=True)
    transparent = image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info
    mode = "RGBA" if transparent else "RGB"
    plain = image if image.mode == mode else image.convert(mode)
    plain.thumbnail((fit, fit), Image.Resampling.LANCZOS, reducing_gap=2.0)
    bare = Image.new(plain.mode, plain.size)
    bare.paste(plain)
    return bare


def _has_few_colors(image: Image.Image) -> bool:
    if image.format == "JPEG" or image.width * image.height > 4_000_000:
        return image.mode in ("1", "P")
    return image.convert("RGBA").getcolors(FEW_COLORS) is not None


def _write(image: Image.Image, path: Path, is_jpeg: bool, few_colors: bool) -> str:
    """PNG for text, line art and what is transparent; JPEG where PNG would be larger."""
    if not is_jpeg:
        image.save(path, "PNG", compress_level=4)
        size = path.stat().st_size
        if few_colors and size <= MOST_BYTES:
            return "image/png"
        jpeg = path.with_name("model.jpg")
        _as_jpeg(image, jpeg)
        if size <= jpeg.stat().st_size and size <= MOST_BYTES:
            return "image/png"
        jpeg.replace(path)
        return "image/jpeg"
    _as_jpeg(image, path)
    return "image/jpeg"


def write_small(image: Image.Image, path: Path, most: int) -> None:
    """As JPEG, with fewer bytes: first of less quality, then of half the size."""
    while True:
        for quality in (75, 50, 30):
            image.save(path, "JPEG", quality=quality)
            if path.stat().st_size <= most:
                return
        image = image.reduce(2)


def _as_jpeg(image: Image.Image, path: Path) -> None:
    if image.mode == "RGBA":  # what is transparent becomes white
        white = Image.new("RGB", image.size, "white")
        white.paste(image, mask=image.getchannel("A"))
        image = white
    for quality in (QUALITY, 60, 30):
        image.save(path, "JPEG", quality=quality)
        if path.stat().st_size <= MOST_BYTES:
            return
