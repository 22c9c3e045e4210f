"""tools/docs builds the site, within a minute, with every page that there is; a link that leads nowhere fails it."""

import re
import shutil
import subprocess
import time

import pytest
from doc_blocks import PAGES, ROOT

MKDOCS = ROOT / ".venv-docs" / "bin" / "mkdocs"
CONFIG = ROOT / "tools" / "lib" / "site"

pytestmark = pytest.mark.skipif(not MKDOCS.exists(), reason="tools/docs and tools/check make .venv-docs")


def test_site():
    begin = time.monotonic()
    done = subprocess.run([ROOT / "tools" / "docs"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert time.monotonic() - begin < 60
    site = ROOT / "build" / "site"
    for page in PAGES:
        name = "index" if page.name == "README.md" else page.stem
        text = (site / f"{name}.html").read_text(encoding="utf-8")
        assert "<h1" in text and not re.search(r"^ *(<p>)?```", text, re.MULTILINE), page
    passes = (site / "reference" / "KVQPasses.html").read_text(encoding="utf-8")
    assert "kvq-fold-scales" in passes and "becomes" in passes
    assert "kvq.partial_attention" in (site / "reference" / "KVQDialect.html").read_text(encoding="utf-8")
    assert (site / "files" / "docs" / "examples" / "attend.py.txt").exists()


@pytest.mark.parametrize("link", ["[x](Missing.md)", "[x](Semantics.md#missing)", "[x](../lib/Missing.cpp)", "[x](#missing)"])
def test_broken_links_fail(link, tmp_path):
    """On a copy of what the site is made from."""
    for name in ("docs", "tools/lib/site", "build/docs"):
        shutil.copytree(ROOT / name, tmp_path / name)
    for page in [path for path in (ROOT / "docs").iterdir() if path.suffix == ".md"]:
        (tmp_path / "docs" / page.name).write_text(f"# {page.stem}\n")
    (tmp_path / "README.md").write_text("# kvq\n")
    build = [MKDOCS, "build", "--strict", "-f", tmp_path / "tools/lib/site/mkdocs.yml", "-d", tmp_path / "site"]
    # The titles alone have no links.
    for text, expected in (("", 0), (link, 1)):
        (tmp_path / "docs" / "Pairs.md").write_text(f"# Pairs\n{text}\n")
        done = subprocess.run(build, capture_output=True, text=True, check=False)
        assert done.returncode == expected, done.stdout + done.stderr
