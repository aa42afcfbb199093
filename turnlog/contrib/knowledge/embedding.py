"""The meaning of texts as vectors, where the extra `semantic` is installed.

The weights come in the wheel of `wordllama`, so nothing is fetched. They were derived from the
token embeddings of published models, Llama 2 among them: read their licence before you ship them.
"""

from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

SIZE = 256  # numbers of a vector


def is_installed() -> bool:
    return find_spec("wordllama") is not None and find_spec("numpy") is not None


@cache
def _model() -> Any:
    import wordllama

    # Its loader looks for a folder that the wheel does not have, unless it is told where it is.
    folder = Path(wordllama.__file__).parent
    return wordllama.WordLlama.load(cache_dir=folder, disable_download=True)


def vectors(texts: Sequence[str]) -> list[bytes]:
    """A vector of length one for each text, as bytes of 32-bit floats."""
    embedded = _model().embed(list(texts), norm=True)
    return [row.astype("float32").tobytes() for row in embedded]


def nearest(query: bytes, known: bytes, most: int) -> list[tuple[int, float]]:
    """The places of the vectors that are nearest to the query, best first, with how near."""
    import numpy

    if not known:
        return []
    matrix = numpy.frombuffer(known, dtype="float32").reshape(-1, SIZE)
    scores = matrix @ numpy.frombuffer(query, dtype="float32")
    best = numpy.argpartition(-scores, min(most, len(scores)) - 1)[:most]
    return [(int(at), float(scores[at])) for at in best[numpy.argsort(-scores[best])]]
