"""Checks a built site: every internal link, picture, script and style leads to a file, and every anchor to an element."""

import os
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ADDRESSES = {"a": "href", "link": "href", "img": "src", "script": "src", "source": "src", "object": "data", "iframe": "src"}


class Page(HTMLParser):
    """The addresses that a page names, and its anchors."""

    def __init__(self, text):
        super().__init__()
        self.addresses, self.anchors = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.anchors.update(value for value in (attributes.get("id"), attributes.get("name")) if value)
        if address := attributes.get(ADDRESSES.get(tag, "")):
            self.addresses.append(address)


def dead_links(site):
    """(pages, internal links, [text of each dead one])."""
    site = Path(site)
    pages = {path: Page(path.read_text()) for path in sorted(site.rglob("*.html"))}
    dead, count = [], 0
    for path, page in pages.items():
        for address in page.addresses:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:  # external, or data:
                continue
            count += 1
            target = Path(os.path.normpath(path.parent / unquote(parts.path))) if parts.path else path
            where = path.relative_to(site)
            if not target.is_relative_to(site) or not target.is_file():
                dead.append(f"{where}: there is no {address}")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                dead.append(f"{where}: {address} names an anchor that is not there")
    return len(pages), count, dead
