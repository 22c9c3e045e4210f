"""The text a demonstration runs on: a file of the user's, or Debian's public-domain King James Bible."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

GENESIS = "gen1:1-gen50:26"  # about 50,000 tokens: more than the model's context
LUKE = "luk1:1-luk24:53"  # about 34,000: what was chosen by Genesis is measured on it
BOOKS = {GENESIS: "Genesis", LUKE: "Luke"}
VERSE_REFERENCE = re.compile(r"^\w+\d+:\d+ ", re.MULTILINE)  # "Ge1:1 " before each verse


class InputError(Exception):
    """Something the user can put right; the message says what is wrong and what would be right."""


def read_text(path: str | Path | None = None, verses: str = GENESIS) -> tuple[str, str]:
    """Returns (text, what it is). Without a path: these verses, of one book, one a line, their numbers removed."""
    if path is None:
        return _read_bible(verses), f"{BOOKS[verses]}, King James Version (Debian package bible-kjv)"
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot read the text file {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"the text file {path} is not UTF-8: byte {error.start} cannot be decoded") from error
    return text, str(path)


def _read_bible(verses: str) -> str:
    try:
        run = subprocess.run(["bible", "-f", verses], capture_output=True, text=True, check=True)
    except FileNotFoundError as error:
        raise InputError(
            "the program 'bible' is missing, which prints the default text: "
            "install it with 'apt-get install bible-kjv bible-kjv-text', or name your own text with --text FILE"
        ) from error
    except subprocess.CalledProcessError as error:
        raise InputError(
            f"'bible -f {verses}' failed with status {error.returncode}: {error.stderr.strip()}"
        ) from error
    return VERSE_REFERENCE.sub("", run.stdout)
