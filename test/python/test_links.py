"""Links of README.md and docs/*.md lead somewhere, and rules that code names exist in docs/Semantics.md."""

import re
import unicodedata
from pathlib import Path

import pytest
from doc_blocks import PAGES, ROOT

LINK = re.compile(r"(?<!\!)\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
SOURCES = [
    path
    for folder in ("include", "lib", "python/kvq_mlir", "python/src", "tools", "test")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in (".cpp", ".h", ".td", ".py", ".mlir") and path.is_file()
]


def without_code(text: str) -> str:
    """Blocks and code within lines, whose brackets are no links, taken out."""
    text = re.sub(r"^ *```.*?^ *```", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", "`", text)


def links(page: Path) -> list[str]:
    return [a or b for a, b in LINK.findall(without_code(page.read_text(encoding="utf-8")))]


def anchors(page: Path) -> set[str]:
    """Those of headings, as GitHub and MkDocs make them, and of tags with a name."""
    text = re.sub(r"^ *```.*?^ *```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    found = set(re.findall(r'<a (?:id|name)="([^"]+)"', text))
    for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE):
        words = unicodedata.normalize("NFKD", heading).lower()
        found.add(re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", words).strip()))
    return found


def broken(page: Path) -> list[str]:
    """Links of a page to files or headings that do not exist; those to other sites are not looked at."""
    found = []
    for link in links(page):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if path and (not target.exists() or ROOT not in target.parents):
            found.append(link)
        elif anchor and anchor not in anchors(target):
            found.append(link)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links(page):
    assert broken(page) == []


def test_broken_links_are_found(tmp_path):
    page = ROOT / "docs" / "Semantics.md"
    assert "elements" in anchors(page)
    copy = tmp_path / "page.md"
    copy.write_text("[a](#there) [b](#missing) [c](missing.md) `[d](e)`\n# There\n")
    assert broken(copy) == ["#missing", "missing.md"]


def test_every_page_is_linked():
    """From README.md, over any number of pages."""
    seen, left = set(), [ROOT / "README.md"]
    while left:
        page = left.pop()
        if page in seen or page.suffix != ".md":
            continue
        seen.add(page)
        left += [(page.parent / link.partition("#")[0]).resolve() for link in links(page) if "://" not in link]
    assert set(PAGES) - seen == set()


# --- rules ----------------------------------------------------------------------------------------------------------------

RULE = re.compile(r"\bR([1-9]\d?)\b")


def defined() -> list[int]:
    return [int(n) for n in re.findall(r"^\*\*R(\d+)\.\*\*", (ROOT / "docs/Semantics.md").read_text(), re.MULTILINE)]


def test_rules_are_numbered_once():
    rules = defined()
    assert len(rules) == len(set(rules)) >= 40
    assert set(rules) == set(range(1, max(rules) + 1))


def test_rules_that_are_named_exist():
    named = {}
    for path in [*PAGES, *SOURCES]:
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            for number in RULE.findall(line) if "rule" in line.lower() or "(R" in line or ": R" in line else ():
                named.setdefault(int(number), path)
    assert len(named) >= 30
    assert {number: path for number, path in named.items() if number not in defined()} == {}
