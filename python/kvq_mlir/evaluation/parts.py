"""Finished parts of an evaluation on disk, so that one that was interrupted goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np


def digest(*items: object) -> str:
    """Of arrays by their bytes, of other things by their text."""
    found = hashlib.sha256()
    for item in items:
        if isinstance(item, np.ndarray):
            found.update(f"{item.dtype}{item.shape}".encode())
            found.update(np.ascontiguousarray(item))
        else:
            found.update(repr(item).encode())
        found.update(b"\0")
    return found.hexdigest()[:24]


class Parts:
    """A folder of JSON files, one for each part, named by what the part depends on."""

    def __init__(self, folder: Path, settings: str):
        self.folder, self.settings = folder, settings

    def _path(self, kind: str, key: str) -> Path:
        return self.folder / f"{kind}-{digest(self.settings, key)}.json"

    def has(self, kind: str, key: str) -> bool:
        return self._path(kind, key).exists()

    def get(self, kind: str, key: str, compute: Callable[[], dict]) -> dict:
        """The part, computed and written if it is not there. A file that is cut short is computed again."""
        path = self._path(kind, key)
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            pass
        found = compute()
        self.folder.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".tmp")
        unfinished.write_text(json.dumps(found), encoding="utf-8")
        os.replace(unfinished, path)
        return found
