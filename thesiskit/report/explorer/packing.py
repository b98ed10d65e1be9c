"""Arrays as text inside a page: little-endian, by byte planes, deflated, in base64.

The packed bytes are the length of a JSON text as 32 bits, that text in UTF-8, and the arrays one
after another, each as all its first bytes, then all its second bytes, and so on, which deflates far
better than numbers as they stand.  The JSON text has `arrays`, a list of [name, type, length].
"""

import base64
import json
import zlib
from typing import Any

import numpy as np

DIGITS = 12  # binary digits of the mantissa that a real number keeps: 1 part in 8,000
KINDS = {"u1": "<u1", "u2": "<u2", "u4": "<u4", "i4": "<i4", "f4": "<f4", "f8": "<f8"}


def pack(meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> str:
    """Return meta and arrays of one dimension as text.

    Whole numbers are exact and take as few bytes as they can; real ones are rounded by `rounded`,
    unless they are whole.
    """
    listed, planes = [], []
    for name, values in arrays.items():
        kind = _kind(values)
        ready = rounded(values) if kind == "f4" else values
        content = np.ascontiguousarray(ready, dtype=KINDS[kind])
        listed.append([name, kind, len(content)])
        size = content.itemsize
        planes.append(content.view(np.uint8).reshape(-1, size).T.tobytes())
    head = json.dumps(meta | {"arrays": listed}, ensure_ascii=False).encode("utf-8", "replace")
    whole = len(head).to_bytes(4, "little") + head + b"".join(planes)
    return base64.b64encode(zlib.compress(whole, 9)).decode()


def unpack(text: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return what `pack` was given."""
    whole = zlib.decompress(base64.b64decode(text))
    end = 4 + int.from_bytes(whole[:4], "little")
    meta = json.loads(whole[4:end])
    arrays = {}
    for name, kind, length in meta.pop("arrays"):
        size = length * np.dtype(KINDS[kind]).itemsize
        planes = np.frombuffer(whole[end : end + size], np.uint8)
        planes = planes.reshape(np.dtype(KINDS[kind]).itemsize, length)
        arrays[name] = np.ascontiguousarray(planes.T).reshape(-1).view(KINDS[kind])
        end += size
    return meta, arrays


def rounded(values: np.ndarray) -> np.ndarray:
    """Return real numbers as 32 bits of which only DIGITS of the mantissa are used."""
    bits = np.asarray(values, dtype="<f4").view(np.uint32).astype(np.uint64)
    drop = 23 - DIGITS
    kept = (bits + (1 << (drop - 1))) >> drop << drop
    return kept.astype(np.uint32).view("<f4")


def _kind(values: np.ndarray) -> str:
    """Return the smallest type that has whole numbers exactly; f4 of others."""
    if values.dtype.kind == "f":
        whole = len(values) and bool((np.floor(values) == values).all())
        return "f8" if whole else "f4"
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    if low < 0:
        return "i4"
    return "u1" if high < 2**8 else "u2" if high < 2**16 else "u4"
