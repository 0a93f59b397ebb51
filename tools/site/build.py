"""./dev docs: builds the site in build/site/html.

The pages are the repository's Markdown; the references come from the docstrings and the public headers; the pictures of the gallery
are drawn by the examples. A warning or a dead link fails the build.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

import gallery  # noqa: E402
import links  # noqa: E402
import pages  # noqa: E402


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="./dev docs", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=ROOT / "build/site", help="the folder to build in (build/site); the site is its html/")
    parser.add_argument("--redraw", action="store_true", help="draw all pictures again, also those that are there")
    options = parser.parse_args(arguments)
    os.chdir(ROOT)
    output = options.output.resolve()
    source, html = output / "source", output / "html"
    shutil.rmtree(source, ignore_errors=True)

    with Step("pictures of the gallery"):
        drawn = gallery.draw(ROOT, output / "pictures", options.redraw)
    with Step("pages and references"):
        stage(source, drawn)
    if not shutil.which("doxygen"):
        raise SystemExit("rondel: doxygen is missing; on Debian, ./dev docs installs it")
    with Step("C++ headers (doxygen)"):
        run(["doxygen", "-"], input=(HERE / "Doxyfile").read_text() + f"\nOUTPUT_DIRECTORY = {output / 'doxygen'}\n")
    with Step("HTML (Sphinx)"):
        shutil.rmtree(html, ignore_errors=True)
        run([sys.executable, "-m", "sphinx", "-q", "-E", "-W", "--keep-going", "-j", "auto", "-b", "html", "-c", HERE, "-d", output / "doctrees",
             "-D", f"breathe_projects.rondel={output / 'doxygen/xml'}", source, html])  # fmt: skip
    with Step("links"):
        count, checked, dead = links.dead_links(html)
    if dead:
        raise SystemExit("rondel: dead links:\n  " + "\n  ".join(dead))
    print(f"{count} pages, {checked:,} internal links, none dead: {os.path.relpath(html / 'index.html')}")


def stage(folder, pictures):
    """Writes the sources of the site."""
    staging = pages.Staging(ROOT, folder)
    for path in pages.tracked(ROOT):
        staging.add(path)
    staging.add_sources()
    pages.add_python_reference(folder)
    pages.add_cpp_reference(ROOT, folder)
    gallery.add_page(folder, pictures)


def run(command, **options):
    done = subprocess.run(list(map(str, command)), text=True, capture_output=True, **options)
    if done.returncode:
        raise SystemExit(f"\nrondel: {command[0]} failed:\n{done.stdout}{done.stderr}")


class Step:
    """Prints what is done, and the seconds that it took."""

    def __init__(self, text):
        self.text = text

    def __enter__(self):
        print(f"{'-- ' + self.text:62}", end="", flush=True)
        self.start = time.monotonic()

    def __exit__(self, kind, *_):
        if kind is None:
            print(f"{time.monotonic() - self.start:4.0f} s")


if __name__ == "__main__":
    main()
