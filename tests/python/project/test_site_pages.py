"""The sidebar of the site has every page of the repository: Sphinx ends `./dev docs` otherwise. (tests/packages/test_site.py builds the site.)"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools" / "site"))

import pages  # noqa: E402

MADE = {"gallery", "reference/python/index", "reference/cpp/index"}  #: when the site is built


def test_every_page_has_a_place_in_the_sidebar():
    tracked = pages.tracked(ROOT)
    listed = {line for line in pages.navigation(tracked).splitlines() if line and line[0] not in "`:"}
    of_folders = {page for page in tracked if page.parent not in (Path(), Path("docs")) and page.parent / "README.md" in tracked}
    left = [str(page) for page in tracked if str(page.with_suffix("")) not in listed and page not in of_folders]
    assert left == ["README.md"]
    assert listed - {str(page.with_suffix("")) for page in tracked} == MADE
