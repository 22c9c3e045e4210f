"""Blocks of commands and of Python in README.md and docs/*.md, and what is said of them.

A block is run as it stands unless a comment right before it says otherwise: `<!-- not run: why -->`, or
`<!-- long: why -->` for what `tools/check --full` alone runs. `<!-- output -->` before a block without a language has what
the block before it prints.
"""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
COMMENT = re.compile(r"<!-- (not run|long|output)(?:: (.*))? -->")
FENCE = re.compile(r"^( *)```(\S*)\s*$")


@dataclass
class Block:
    page: Path
    line: int  # of its fence, from 1
    language: str
    text: str
    mark: str  # of the comment before it: "not run", "long", "output" or none
    reason: str
    output: str | None = None  # what it has to print

    @property
    def name(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def is_run(self) -> bool:
        return self.language in ("sh", "python")


def _comment(lines: list[str], end: int) -> tuple[str, str]:
    """The mark and the reason of the comment that ends right before line `end`, which may have several lines."""
    begin = end
    while begin > 0 and lines[begin - 1].strip():
        begin -= 1
        if lines[begin].lstrip().startswith("<!--"):
            match = COMMENT.fullmatch(" ".join(line.strip() for line in lines[begin:end]))
            return (match[1], match[2] or "") if match else ("", "")
    return "", ""


def blocks_of(page: Path) -> list[Block]:
    lines = page.read_text(encoding="utf-8").splitlines()
    found: list[Block] = []
    at = 0
    while at < len(lines):
        fence = FENCE.match(lines[at])
        if fence:
            end = next(i for i in range(at + 1, len(lines)) if lines[i].strip() == "```")
            text = "".join(line[len(fence[1]) :] + "\n" for line in lines[at + 1 : end])
            block = Block(page, at + 1, fence[2], text, *_comment(lines, at))
            if block.mark == "output":
                found[-1].output = text
            found.append(block)
            at = end
        at += 1
    return found


BLOCKS = {page: blocks_of(page) for page in PAGES}
