"""Measured numbers in a file, so that a long measurement goes on where it was stopped."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..text import InputError


class Ledger:
    """Values by key, each a line of JSON that is written as soon as it is known; without a path they live as long as
    this.

    Raises `InputError` for a file that cannot be read or written, or holds something else.
    """

    def __init__(self, path: Path | None = None):
        self._path, self._values, self._subject = path, {}, ()
        if path is None:
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror}") from error
        for number, line in enumerate(lines, start=1):
            try:
                key, value = json.loads(line)
                self._values[json.dumps(key)] = value
            except (ValueError, TypeError) as error:
                raise InputError(
                    f"{path}, line {number}: expected [key, value] in JSON, found {line[:60]!r}"
                ) from error

    def of(self, *subject: str) -> Ledger:
        """The same values, and file, with what they are of before every key."""
        part = Ledger()
        part._path, part._values, part._subject = self._path, self._values, (*self._subject, *subject)
        return part

    def find(self, *key: Any, measure: Callable[[], Any]) -> Any:
        """The value of a key, measured if it is not there yet."""
        key = (*self._subject, *key)
        name = json.dumps(key)
        if name not in self._values:
            value = measure()
            if self._path is not None:
                try:
                    with self._path.open("a", encoding="utf-8") as file:
                        file.write(json.dumps([key, value]) + "\n")
                except OSError as error:
                    raise InputError(f"cannot write {self._path}: {error.strerror}") from error
            self._values[name] = value
        return self._values[name]
