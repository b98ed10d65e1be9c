"""The data of the page of groups, as `pack` of thesiskit/report/explorer.py was given them."""

import base64
import json
import zlib
from typing import Any

import numpy as np


def unpack(text: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return what `pack` was given."""
    whole = zlib.decompress(base64.b64decode(text))
    end = 4 + int.from_bytes(whole[:4], "little")
    meta = json.loads(whole[4:end])
    arrays = {}
    for name, kind, length in meta.pop("arrays"):
        size = length * np.dtype(kind).itemsize
        planes = np.frombuffer(whole[end : end + size], np.uint8)
        planes = planes.reshape(np.dtype(kind).itemsize, length)
        arrays[name] = np.ascontiguousarray(planes.T).reshape(-1).view(f"<{kind}")
        end += size
    return meta, arrays
