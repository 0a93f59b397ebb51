"""The pages of the site: the repository's Markdown, pages for the files that it links to, and the references.

A page keeps its place: docs/loops.md becomes docs/loops.html. README.md becomes the first page, index.html.
"""

import importlib
import os
import re
import shutil
import subprocess
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote

LINK = re.compile(r"\]\(([^()\s]+)\)")
FENCE = re.compile(r" *(```+|~~~+)")
LANGUAGES = {".h": "cpp", ".cpp": "cpp", ".py": "python", ".pyi": "python", ".sh": "bash", ".deepx": "text", ".toml": "toml"}

NAVIGATION = {
    "Use": ["docs/tutorials", "docs/inside", "docs/custom_ops", "docs/network", "docs/deepx", "docs/functions", "docs/mdf", "docs/training", "docs/gradients", "docs/notebooks", "docs/onnxruntime", "examples", "gallery"],
    "Deploy": ["docs/wheels", "docs/cpp", "docs/ahead_of_time", "docs/export", "docs/processes", "docs/serving", "docs/scale"],
    "Reference": ["reference/python", "reference/cpp", "docs/ops", "docs/performance", "docs/loops", "docs/compatibility", "CHANGELOG"],
    "Inside": ["docs/tour", "docs/dependencies", "docs"],
}  # fmt: skip


def tracked(root):
    """The repository's Markdown files, by their paths in it."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"], cwd=root, check=True, capture_output=True, text=True
    )
    return sorted(Path(line) for line in listed.stdout.splitlines())


def page_of(path):
    """Where the page of a Markdown file is: "README.md" -> "index.md"."""
    return Path("index.md") if path == Path("README.md") else path


class Staging:
    """Copies pages from `root` to `folder`, with links that hold in the site."""

    def __init__(self, root, folder):
        self.root, self.folder = root, folder
        self.sources = set()  # files that are not Markdown, and that a page links to

    def add(self, path):
        text = self.linked(path, (self.root / path).read_text())
        if path == Path("README.md"):
            text += navigation(tracked(self.root))
        elif path.name == "README.md" and path.parent != Path("docs"):
            inner = sorted(page.stem for page in (self.root / path.parent).glob("*.md") if page.name != "README.md")
            text += contents(inner) if inner else ""
        write(self.folder / page_of(path), text)

    def linked(self, path, text):
        """The text of a page with its relative links changed; those in code stay as they are."""
        lines, fence = [], None
        for line in text.split("\n"):
            mark = FENCE.match(line)
            if fence is None and mark:
                fence = mark[1]
            elif fence is not None and mark and mark[1].startswith(fence):
                fence = None
            elif fence is None:
                line = LINK.sub(lambda found: f"]({self.target(path, found[1])})", line)
            lines.append(line)
        return "\n".join(lines)

    def target(self, page, link):
        """What a link of a page becomes. A link to nothing stays, so that the build refuses it."""
        name, mark, anchor = link.partition("#")
        if "://" in link or not name:
            return link
        found = Path(os.path.normpath(page.parent / unquote(name)))
        if (self.root / found / "README.md").is_file():
            found /= "README.md"
        if not (self.root / found).exists() or found.is_relative_to(".."):
            return link
        if found.suffix == ".md":
            place = page_of(found)
        elif found.suffix in (".svg", ".png", ".onnx"):  # pictures, and files to download
            place = found
            (self.folder / found).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.root / found, self.folder / found)
        else:
            place = Path("source") / f"{found}.md"
            self.sources.add(found)
        return os.path.relpath(place, page_of(page).parent) + mark + anchor

    def add_sources(self):
        """A page for each file that a page links to, with its text."""
        for path in sorted(self.sources):
            text = self.text_of(self.root / path)
            fence = "`" * (3 + max(map(len, re.findall("`+", text)), default=0))
            write(
                self.folder / "source" / f"{path}.md",
                f"---\norphan: true\n---\n\n# {path.name}\n\n`{path}`\n\n{fence}{LANGUAGES.get(path.suffix, 'text')}\n{text.rstrip()}\n{fence}\n",
            )

    def text_of(self, path):
        """A file's text, or the names of a folder's files."""
        return "\n".join(sorted(inner.name for inner in path.iterdir())) if path.is_dir() else path.read_text()


def navigation(pages):
    """The tables of contents under the first page: the pages by what they are for, then the READMEs of the folders."""
    parts = [(title, [entry_of(name, pages) for name in names]) for title, names in NAVIGATION.items()]
    placed = {entry for _, entries in parts for entry in entries}
    left = [page.with_suffix("") for page in pages if str(page.with_suffix("")) not in placed and page != Path("README.md")]
    parts[0][1].extend(str(page) for page in left if page.parent in (Path("docs"), Path()))
    parts.append(("Folders", [str(page) for page in left if page.name == "README"]))
    return "".join(contents(entries, f":caption: {title}\n") for title, entries in parts)


def entry_of(name, pages):
    """What a table of contents calls a page of NAVIGATION: a folder stands for its README."""
    if name.startswith("reference/"):
        return f"{name}/index"
    return f"{name}/README" if Path(name) / "README.md" in pages else name


def contents(entries, options=""):
    """A table of contents that only the sidebar shows."""
    return f"\n```{{toctree}}\n:hidden:\n{options}\n" + "\n".join(entries) + "\n```\n"


def public_modules():
    """The names of the public modules of the Python package, in order."""
    import rondel

    names, waiting = [], ["rondel"]
    while waiting:
        name = waiting.pop(0)
        names.append(name)
        try:
            module = importlib.import_module(name)
        except ImportError:  # torch is optional
            continue
        exported = [*getattr(module, "__all__", []), *(rondel._LAZY if name == "rondel" else [])]
        for inner in dict.fromkeys(exported):
            if inner in getattr(module, "_LAZY", ()) or isinstance(getattr(module, inner, None), ModuleType):
                waiting.append(f"{name}.{inner}")
    return names


def add_python_reference(folder):
    """A page for each public module."""
    names = public_modules()
    for name in names:
        write(folder / f"reference/python/{name}.rst", f"{name}\n{'=' * len(name)}\n\n.. automodule:: {name}\n")
    write(
        folder / "reference/python/index.md",
        "# Python\n\nEvery public module of the package, from its docstrings.\n\n```{toctree}\n:maxdepth: 1\n\n" + "\n".join(names) + "\n```\n",
    )


def add_cpp_reference(root, folder):
    """A page for each public header."""
    headers = sorted((root / "include").rglob("*.h"))
    names = [str(header.relative_to(root / "include")) for header in headers]
    for name in names:
        title = f"<{name}>"
        place = folder / "reference/cpp" / name.removesuffix(".h")
        write(place.with_suffix(".rst"), f"{title}\n{'=' * len(title)}\n\n.. doxygenfile:: {Path(name).name}\n   :sections: briefdescription detaileddescription innernamespace innerclass enum typedef func var define public-type public-attrib public-static-attrib public-func public-static-func\n")
    write(
        folder / "reference/cpp/index.md",
        "# C++\n\nThe public headers. `#include <rondel/session.h>` is enough to run a model.\n\n```{toctree}\n:maxdepth: 1\n\n"
        + "\n".join(name.removesuffix(".h") for name in names) + "\n```\n",
    )  # fmt: skip


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
