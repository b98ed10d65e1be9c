"""Generators of random numbers: each purpose has its own, so that no choice depends on another."""

import hashlib
import json
from typing import Any

import numpy as np


def digest(value: Any) -> str:
    """Return a stable digest of anything JSON can hold."""
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def generator(seed: int, *purpose: Any) -> np.random.Generator:
    """Return the generator of one purpose."""
    code = bytes.fromhex(digest(purpose))
    spawn_key = np.frombuffer(code[:16], dtype=np.uint32).tolist()
    return np.random.Generator(
        np.random.PCG64DXSM(np.random.SeedSequence(seed, spawn_key=spawn_key))
    )
