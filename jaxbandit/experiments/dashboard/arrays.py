"""Arrays and their description as one compressed text, which the page unpacks."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping

import numpy as np

_LEVEL = 9  # of zlib


class ArrayStore:
    """Numbers for the page. Equal arrays are stored once.

    Each array's bytes are regrouped: the first bytes of all numbers, then the second bytes, and so on. Neighbouring
    numbers share their leading bytes, so the regrouped ones compress better.
    """

    def __init__(self) -> None:
        self._places: dict[tuple[str, bytes], int] = {}
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, values: np.ndarray, dtype: str = "<f8") -> dict[str, object]:
        """Store an array, and return its description: type, shape and the position of its first byte.

        Args:
            values: the numbers.
            dtype: "<f8", or "<f4" where seven digits suffice.
        """
        numbers = np.ascontiguousarray(values, np.dtype(dtype))
        planes = numbers.view(np.uint8).reshape(-1, numbers.itemsize).T.tobytes()
        place = self._places.get((dtype, planes))
        if place is None:
            place = self._places[dtype, planes] = self._size
            self._parts.append(planes)
            self._size += len(planes)
        return {"dtype": dtype, "shape": list(numbers.shape), "start": place}

    def text(self, description: Mapping[str, object]) -> str:
        """The arrays and a description as text in base64: the length of the description, its JSON, and the arrays."""
        words = json.dumps(description, ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode()
        content = len(words).to_bytes(4, "little") + words + b"".join(self._parts)
        return base64.b64encode(zlib.compress(content, _LEVEL)).decode()
