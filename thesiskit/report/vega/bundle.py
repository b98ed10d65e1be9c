"""What a page carries of others: the JavaScript library that draws figures, and pictures."""

import base64
import io
import os
from contextlib import suppress
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

from thesiskit.errors import ResultsError
from thesiskit.files import read_text, replacing

BEGIN, END = "(() => {", "})();"  # of a script that defines nothing by itself
COLOURS = 128  # of a picture in a page; the PNG file has all


@lru_cache(maxsize=1)
def library() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as a script; "" where vl-convert is not installed.

    It defines `vegaEmbed` and nothing else.  `pip install "thesiskit[explore]"` installs it.  To
    bundle it takes a second, and so it is kept in the user's folder of caches.
    """
    try:
        import vl_convert
    except ImportError:
        return ""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    kept = Path(base, "thesiskit", f"vega-{version('vl-convert-python')}.js")
    with suppress(OSError, UnicodeDecodeError):
        script = read_text(kept)
        if script.startswith(BEGIN) and script.endswith(END):
            return script
    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    # it stands in the page: nothing in it may look like the end of the script
    script = BEGIN + bundle.replace("</script", r"<\/script").replace("<!--", r"<\!--") + END
    if kept.is_absolute():  # elsewhere there is no such folder
        with suppress(ResultsError), replacing(kept) as temporary:
            temporary.write_text(script, encoding="utf-8")
    return script


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
