"""Pages that are one file each and need no network: a model's graph, and a profile. They follow the reader's choice of dark or light."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<script type="application/json" id="data">{data}</script>
<script>
{script}</script>
</body>
</html>
"""


def page(title: str, script: str, data: Any) -> str:
    """A page that shows `data` (what JSON can hold) with a script of this folder."""
    # In a script element, "<" could begin a tag that ends it.
    inside = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    scripts = "".join((_HERE / name).read_text(encoding="utf-8") for name in ("common.js", script))
    style = (_HERE / "page.css").read_text(encoding="utf-8")
    return _PAGE.format(title=html.escape(title), style=style, data=inside, script=scripts)
