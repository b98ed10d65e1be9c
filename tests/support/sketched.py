"""Reports whose figures are plotted and not drawn, which is most of the time of a small run."""

from contextlib import contextmanager
from unittest.mock import patch

from thesiskit.report.layout import Figure

ORIGINAL = {name: vars(Figure)[name] for name in ("write", "thumbnail", "image")}
SKETCH = b"<svg xmlns='http://www.w3.org/2000/svg'/>"


@contextmanager
def sketched():
    """Write a few bytes for each picture of a report; its data and its page are what they are."""

    def write(figure, outputs):
        for name in figure.files:
            with outputs.writing(name) as temporary:
                temporary.write_bytes(SKETCH)

    def thumbnail(figure, path):
        path.write_bytes(SKETCH)

    def image(figure):
        return f"data:image/svg+xml;utf8,{SKETCH.decode()}"

    with patch.multiple(Figure, write=write, thumbnail=thumbnail, image=image):
        yield


@contextmanager
def drawn():
    """Draw the pictures of reports, within `sketched`."""
    with patch.multiple(Figure, **ORIGINAL):
        yield
