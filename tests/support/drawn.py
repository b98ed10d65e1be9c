"""Find what a reader cannot read in a figure: text outside the canvas, overlaps, tiny panels.

Everything is measured on a drawn canvas, at the size at which a page shows the figure.
"""

import re
from contextlib import contextmanager, nullcontext
from itertools import combinations
from unittest.mock import patch

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from sketched import sketched

from thesiskit.report.layout import Figure

PIXELS = 96  # of an inch, in browsers
PAGE = 952  # pixels: a figure that is wider is shown smaller
LEAST_PANEL, LEAST_LETTERS = 220, 8.5  # pixels, points
SLACK = 1.0  # pixels by which boxes of letters may touch, as their corners are empty
SENTENCE = re.compile(r"[.!?](?= [A-Z]|$)")
GAP = 2.0  # pixels between words of one line


def defects(figure) -> list[str]:
    """Return a line for each defect of a figure; the list is empty where there is none."""
    drawn = FigureCanvasAgg(figure)
    figure.dpi = PIXELS
    texts: list[Text] = []
    original = Text.draw

    def draw(text, renderer):
        if text.get_visible() and text.get_text().strip():
            texts.append(text)
        return original(text, renderer)

    with patch.object(Text, "draw", draw):
        drawn.draw()
    texts = list(dict.fromkeys(texts))
    boxes = {text: _box(text, drawn.get_renderer()) for text in texts}
    canvas, shown = figure.bbox, min(1, PAGE / figure.bbox.width)
    found = []
    for text, box in boxes.items():
        words = text.get_text().replace("\n", " ")
        if not (
            canvas.x0 - SLACK <= box.x0 and box.x1 <= canvas.x1 + SLACK
            and canvas.y0 - SLACK <= box.y0 and box.y1 <= canvas.y1 + SLACK
        ):  # fmt: skip
            found.append(f"outside the canvas: {words!r}")
        if shown * text.get_fontsize() < LEAST_LETTERS and text.get_text()[0] != "$":
            found.append(f"letters of {shown * text.get_fontsize():.1f} points")
    for (one, first), (other, second) in combinations(boxes.items(), 2):
        if _overlap(first, second):
            found.append(f"overlapping: {one.get_text()!r} and {other.get_text()!r}")
    for axes in figure.axes:
        if axes.get_visible():
            found += _of_panel(axes, boxes, shown)
    return list(dict.fromkeys(found))


def _of_panel(axes, boxes, shown) -> list[str]:
    """Return the defects of one panel: its size, and letters on what it shows."""
    found, lines = [], [line for line in axes.lines if line.get_visible()]
    place = axes.get_subplotspec()
    if place is not None:
        width = shown * axes.figure.bbox.width / place.get_gridspec().ncols
    if place is not None and width < LEAST_PANEL:
        found.append(f"a panel of {width:.0f} pixels: {axes.get_title()!r}")
    marked = [line for line in lines if line.get_marker() not in ("", "None", None)]
    values = [np.unique(np.asarray(line.get_xdata(), float)) for line in marked]
    series = [line for line in marked if line.get_linestyle() != "None"]
    if series and len(np.unique(np.concatenate(values))) == 1:
        found.append(f"a panel of one point: {axes.get_title()!r}")
    legend = axes.get_legend()
    if legend and any(_meets(line, legend.get_window_extent()) for line in lines):
        found.append(f"a legend on data: {axes.get_title()!r}")
    for text in axes.texts:
        if text in boxes and not text.get_bbox_patch():
            centre = np.mean(boxes[text].get_points(), axis=0)
            for points in map(_points, marked):
                apart = points[np.hypot(*(points - centre).T) > 4]  # else it is the mark's own name
                if any(boxes[text].contains(*point) for point in apart):
                    found.append(f"letters on points: {text.get_text()!r}")
    return found


def _points(line) -> np.ndarray:
    """Return the points of a line that are drawn, in pixels."""
    points = line.get_transform().transform(line.get_xydata().astype(float))
    return points[np.isfinite(points).all(axis=1)]


def _meets(line, box: Bbox) -> bool:
    path = line.get_path().transformed(line.get_transform())
    return path.intersects_bbox(box, filled=False) or any(box.contains(*p) for p in _points(line))


def _box(text, renderer) -> Bbox:
    """Return the box of a text without the arrow or the frame that may belong to it."""
    return Text.get_window_extent(text, renderer)


def _overlap(one: Bbox, other: Bbox) -> bool:
    width = min(one.x1, other.x1) - max(one.x0, other.x0)
    height = min(one.y1, other.y1) - max(one.y0, other.y0)
    return width > -GAP and height > SLACK


@contextmanager
def watched(*, printed=True):
    """Collect the defects of all figures that reports write, and the figures by their names.

    Unless they are printed, they are laid out and looked at, and the page has sketches of them.
    """
    found: list[str] = []
    figures = {}

    def write(figure, outputs):
        figures[figure.name] = figure.canvas
        if not printed:  # laid out once, as `Figure.write` does
            figure.canvas.dpi = PIXELS
            figure.canvas.get_layout_engine().execute(figure.canvas)
            figure.canvas.set_layout_engine("none")
        found.extend(f"{figure.name}: {defect}" for defect in defects(figure.canvas))
        if len(SENTENCE.findall(figure.caption)) > 2:
            found.append(f"{figure.name}: a caption of more than two sentences: {figure.caption}")
        return original(figure, outputs)

    with nullcontext() if printed else sketched():
        original = Figure.write
        with patch.object(Figure, "write", write):
            yield found, figures
