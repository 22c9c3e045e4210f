"""The text a demonstration runs on: a file of the user's, or Debian's public-domain King James Bible."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

BIBLE_RANGE = "gen1:1-gen50:26"  # Genesis, about 50,000 tokens: more than the model's context
VERSE_REFERENCE = re.compile(r"^\w+\d+:\d+ ", re.MULTILINE)  # "Ge1:1 " before each verse


class InputError(Exception):
    """Something the user can put right; the message says what is wrong and what would be right."""


def read_text(path: str | Path | None = None) -> tuple[str, str]:
    """Returns (text, what it is). Without a path: Genesis, one verse a line, verse numbers removed."""
    if path is None:
        return _read_bible(), "Genesis, King James Version (Debian package bible-kjv)"
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot read the text file {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"the text file {path} is not UTF-8: byte {error.start} cannot be decoded") from error
    return text, str(path)


def _read_bible() -> str:
    try:
        run = subprocess.run(["bible", "-f", BIBLE_RANGE], capture_output=True, text=True, check=True)
    except FileNotFoundError as error:
        raise InputError(
            "the program 'bible' is missing, which prints the default text: "
            "install it with 'apt-get install bible-kjv bible-kjv-text', or name your own text with --text FILE"
        ) from error
    except subprocess.CalledProcessError as error:
        raise InputError(
            f"'bible -f {BIBLE_RANGE}' failed with status {error.returncode}: {error.stderr.strip()}"
        ) from error
    return VERSE_REFERENCE.sub("", run.stdout)
