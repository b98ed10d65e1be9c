"""What a page carries of others: the JavaScript library that draws figures, and pictures."""

import base64
import io
from functools import lru_cache
from pathlib import Path

COLOURS = 128  # of a picture in a page; the PNG file has all


@lru_cache(maxsize=1)
def library() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as a script; "" where vl-convert is not installed.

    It defines `vegaEmbed` and nothing else.  `pip install "thesiskit[explore]"` installs it.
    """
    try:
        import vl_convert
    except ImportError:
        return ""
    script = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    # it stands in the page: nothing in it may look like the end of the script
    return f"(() => {{{script}}})();".replace("</script", r"<\/script").replace("<!--", r"<\!--")


def picture(file: Path) -> str:
    """Return a PNG file in base64, with fewer colours, which makes it smaller."""
    from PIL import Image

    with Image.open(file) as image:
        few = image.convert("RGB").quantize(
            COLOURS, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE
        )
    found = io.BytesIO()
    few.save(found, format="PNG")
    return base64.b64encode(min(found.getvalue(), file.read_bytes(), key=len)).decode()
