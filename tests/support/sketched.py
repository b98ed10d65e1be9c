"""Reports whose figures are plotted and not drawn, which is most of the time of a small run."""

import hashlib
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np

from thesiskit.report.layout import Figure

ORIGINAL = {name: vars(Figure)[name] for name in ("write", "thumbnail", "image")}


def sketch(figure) -> bytes:
    """Return a picture without lines, in which is a digest of all that a figure shows."""
    words, shown = [figure.name], []
    for axes in figure.canvas.axes:
        words += [axes.get_title(), axes.get_xlabel(), axes.get_ylabel()]
        words += [text.get_text() for text in axes.texts]
        shown += [line.get_xydata() for line in axes.lines]
        shown += [patch.get_verts() for patch in axes.patches]
        shown += [image.get_array() for image in axes.images]
        for collection in axes.collections:
            shown += [collection.get_offsets(), *(path.vertices for path in collection.get_paths())]
    digest = hashlib.sha256("\n".join(words).encode())
    for values in shown:
        digest.update(np.ascontiguousarray(values, float).tobytes())
    desc = f"<desc>{digest.hexdigest()}</desc>"
    return f"<svg xmlns='http://www.w3.org/2000/svg'>{desc}</svg>".encode()


@contextmanager
def sketched():
    """Write sketches in place of the pictures of a report; its data and its page are complete."""

    def write(figure, outputs):
        for name in figure.files:
            with outputs.writing(name) as temporary:
                temporary.write_bytes(sketch(figure))

    def thumbnail(figure, path):
        path.write_bytes(sketch(figure))

    def image(figure):
        return f"data:image/svg+xml;utf8,{sketch(figure).decode()}"

    with patch.multiple(Figure, write=write, thumbnail=thumbnail, image=image):
        yield


@contextmanager
def drawn(*, printed=True):
    """Draw the pictures of reports, within `sketched`; unless printed only those of the page."""
    with patch.multiple(Figure, **(ORIGINAL if printed else {"image": ORIGINAL["image"]})):
        yield
