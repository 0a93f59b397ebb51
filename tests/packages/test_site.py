"""The site is built, no link in it is dead, and it works in a browser: Debian's headless Chromium, driven by Selenium.

A long test, run by name: `./dev docs --check`, which installs the browser.
"""

import functools
import http.server
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import quote

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / "tools" / "site"
sys.path.insert(0, str(TOOLS))

import links  # noqa: E402
import pages  # noqa: E402

PICTURES = ("digits", "heat", "speech", "ode", "perceptron", "iafs", "states")


@pytest.fixture(scope="module")
def site(note):
    """The folder of a site that was built just now."""
    done = subprocess.run([sys.executable, TOOLS / "build.py"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    counts = re.search(r"(\d+) pages, ([\d,]+) internal links, none dead", done.stdout)
    assert counts and int(counts[1]) > 80 and int(counts[2].replace(",", "")) > 5000, done.stdout
    note("site: " + done.stdout.splitlines()[-1])
    return ROOT / "build" / "site" / "html"


@pytest.fixture(scope="module")
def address(site):
    """Where the site is served, on the loopback interface."""
    handler = functools.partial(Quiet, directory=site)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    from selenium import webdriver

    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    assert program and driver, "Chromium is missing; ./dev docs --check installs it"
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for argument in ("headless=new", "disable-gpu", "disable-dev-shm-usage", "window-size=1400,1000", f"user-data-dir={tmp_path_factory.mktemp('browser')}"):
        options.add_argument(f"--{argument}")
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")  # Chromium refuses to run as root otherwise
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    made = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    made.set_page_load_timeout(300)
    yield made
    made.quit()


def complaints(browser):
    """What the browser's console says is wrong, such as a file that is missing."""
    return [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE" and "favicon" not in entry["message"]]


def shown(browser):
    """The pictures of the page: (address, width in pixels; 0 if it did not load)."""
    script = """
    const all = [...document.images];
    for (const image of all) image.loading = "eager";
    await Promise.all(all.map(image => image.decode().catch(() => null)));
    return all.map(image => [image.src, image.naturalWidth]);
    """
    return browser.execute_async_script("const done = arguments[0]; (async () => {" + script + "})().then(done)")


def wait(browser, condition):
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(browser, 120).until(condition)


def test_every_page_of_the_repository_is_there(site):
    for path in pages.tracked(ROOT):
        page = site / pages.page_of(path).with_suffix(".html")
        heading = re.search(r"^# (.+)$", (ROOT / path).read_text(), re.MULTILINE)[1]
        assert re.sub(r"[`*]|\W.*", "", heading) in page.read_text(), path


def test_the_references_have_every_public_name(site):
    text = {name: (site / f"reference/python/{name}.html").read_text() for name in pages.public_modules()}
    for module in text:
        if module == "rondel.torch":
            names = ["Function"]
        else:
            names = getattr(__import__(module, fromlist=["_"]), "__all__", [])
        for name in names:
            assert f'id="{module}.{name}"' in text[module] or f"{module}.{name}" in text, f"{module}.{name}"
    inner = ("backend", "deepx", "functions", "functions.onnx", "mdf", "network", "torch", "train")
    assert {"rondel", *(f"rondel.{name}" for name in inner)} <= set(text)
    assert 'id="rondel.InferenceSession.run"' in text["rondel"]
    headers = (site / "reference/cpp/rondel/session.html").read_text()
    for name in ("SessionOptions", "max_trips", "Session", "how_it_ran", "Stepper", "trace_passes"):
        assert name in headers, name
    assert "Many threads may run it at once" in text["rondel"] and "Safe to run from many threads at once" in headers


def test_no_page_loads_anything_from_elsewhere(site):
    loads = re.compile(r"""<(?:script|img|iframe)[^>]+src="(?:https?:)?//|<link[^>]+rel="stylesheet"[^>]+href="(?:https?:)?//""")
    assert not [page for page in site.rglob("*.html") if loads.search(page.read_text())]


def test_a_dead_link_is_found(tmp_path):
    (tmp_path / "a.html").write_text('<a href="b.html#here"></a><a href="b.html#gone"></a><img src="no.png"><a href="https://example.org/x"></a><a href="../up.html"></a>')
    (tmp_path / "b.html").write_text('<p id="here"></p>')
    count, checked, dead = links.dead_links(tmp_path)
    assert (count, checked) == (2, 4)
    assert dead == ["a.html: b.html#gone names an anchor that is not there", "a.html: there is no no.png", "a.html: there is no ../up.html"]


def test_the_first_page_in_a_browser(browser, address):
    browser.get(address + "/index.html")
    assert "Rondel" in browser.title and not complaints(browser)
    drawings = shown(browser)
    assert any("rondel.svg" in source for source, _ in drawings) and all(width > 0 for _, width in drawings), drawings
    links_shown = browser.execute_script("return [...document.querySelectorAll('.sidebar-tree a')].map(a => a.textContent.trim())")
    assert {"Tutorials", "Gallery", "Python", "C++"} <= set(links_shown), links_shown


def test_the_gallery_in_a_browser(browser, address):
    browser.get(address + "/gallery.html")
    found = {Path(source).stem: width for source, width in shown(browser)}
    assert {*PICTURES, "rondel", "loop_gradient"} <= set(found) and min(found.values()) > 100, found
    for name, text in (("session", "natively, as a whole"), ("loop", "state  x: f32[n]"), ("profile", "model_run")):
        table = browser.find_element("id", f"notebook-{name}")
        assert table.is_displayed() and text in table.text.replace("state x", "state  x"), name
    assert not complaints(browser)


def test_dark_and_light_in_a_browser(browser, address):
    browser.get(address + "/docs/loops.html")
    background = "return getComputedStyle(document.body).backgroundColor"
    found = {}
    for _ in range(3):  # the button goes round: as the system, light, dark
        theme = browser.execute_script("return document.body.dataset.theme")
        found[theme] = browser.execute_script(background)
        browser.execute_script("document.querySelector('.theme-toggle').click()")
    assert set(found) == {"auto", "light", "dark"} and found["light"] != found["dark"], found
    light, dark = (sum(map(int, re.findall(r"\d+", found[theme])[:3])) for theme in ("light", "dark"))
    assert light > 600 and dark < 200


@pytest.mark.parametrize("words, page", [("checkpoint", "docs/gradients.html"), ("how_it_ran", "reference/python/rondel.html"), ("Stepper", "reference/cpp/rondel/session.html")])
def test_search_in_a_browser(browser, address, words, page):
    browser.get(f"{address}/search.html?q={quote(words)}")
    hrefs = "return [...document.querySelectorAll('#search-results li a')].map(a => a.href)"
    found = wait(browser, lambda b: any(page in href for href in b.execute_script(hrefs)) and b.execute_script(hrefs))
    assert any(page in href for href in found)
    assert not complaints(browser)


@pytest.mark.parametrize("page", ["docs/tutorials/decoder", "docs/tour", "reference/python/rondel.functions.onnx", "reference/cpp/rondel/network/layers", "source/src/ops/elementwise/max.cpp"])
def test_pages_in_a_browser(browser, address, page):
    browser.get(f"{address}/{page}.html")
    assert browser.find_element("tag name", "h1").is_displayed()
    assert all(width > 0 for _, width in shown(browser)) and not complaints(browser)
