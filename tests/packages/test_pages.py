"""The pages of `rondel inspect --html` and `rondel run --profile`, looked at and clicked through in a browser (Debian's chromium)."""

import shutil

import numpy as np
import onnx
import onnx.parser
import pytest

from rondel import profiling
from rondel_cli.main import main

webdriver = pytest.importorskip("selenium.webdriver")
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

LOOPS = """
<ir_version: 10, opset_import: ["" : 21]>
main (float[n] x, int64 most) => (float[n] y, float[k] worst) <float half = {0.5}> {
  [first] a = Abs (x)
  [outer] y, worst = Loop (most, , a) <body = body (int64 i, bool go, s) => (bool on, t, m) {
    on = Identity (go)  u = Cast <to = 8> (s)  v = Cast <to = 1> (u)
    [inner] t = Loop (most, , v) <body = deep (int64 j, bool run, p) => (bool stay, q) {
      stay = Identity (run)  [halved] h = Mul (p, half)  q = Add (h, x) }>
    m = ReduceMax <keepdims = 0> (t)
  }>
}"""


@pytest.fixture(scope="module", params=["light", "dark"])
def browser(request):
    if not shutil.which("chromium") or not shutil.which("chromedriver"):
        pytest.skip("needs Debian's chromium and chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    # --no-sandbox: as root, chromium does not start otherwise. It opens our own files only.
    for flag in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1300,900"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    made = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    made.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": request.param}]})
    made.scheme = request.param
    yield made
    made.quit()


def opened(browser, path):
    browser.get_log("performance")
    browser.get(path.as_uri())
    assert_quiet(browser)
    return browser


def assert_quiet(browser):
    """No error in the console, and nothing was read but the page."""
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
    asked = [entry["message"] for entry in browser.get_log("performance") if "Network.requestWillBeSent\"" in entry["message"]]
    assert all('"url":"file:' in message for message in asked), asked


def brightness(browser):
    colour = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    return sum(int(x) for x in colour[colour.index("(") + 1 : -1].split(",")[:3]) / 3


def assert_dark_and_light(browser):
    """The page has the colours that the reader's system asks for, and its button gives the others."""
    dark = browser.scheme == "dark"
    assert (brightness(browser) < 60) == dark and (brightness(browser) > 200) == (not dark)
    browser.find_element(By.ID, "theme").click()
    assert (brightness(browser) > 200) == dark and (brightness(browser) < 60) == (not dark)


def node(browser, name):
    return browser.find_element(By.CSS_SELECTOR, f'.item.node[data-name="{name}"]')


def names(browser):
    return {e.get_attribute("data-name") for e in browser.find_elements(By.CSS_SELECTOR, ".item.node")}


def texts(browser, selector):
    return browser.execute_script("return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)", selector)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def graph(folder):
    onnx.save(onnx.parser.parse_model(LOOPS), folder / "loops.onnx")
    assert main(["inspect", str(folder / "loops.onnx"), "--html", str(folder / "graph.html")]) == 0
    return folder / "graph.html"


@pytest.fixture(scope="module")
def profile(folder, graph):
    arguments = ["run", str(folder / "loops.onnx"), "-i", "x=random:f32[40]", "-i", "most=30", "--repeat", "5"]
    assert main([*arguments, "--profile", str(folder / "profile.html")]) == 0
    return folder / "profile.html"


# ---- graphs ---------------------------------------------------------------------------------------------


def test_boxes_open_and_close(browser, graph):
    opened(browser, graph)
    assert {"first", "outer", "inner", "halved"} <= names(browser), "a small graph begins open"
    assert {"f32[n]", "i64[]", "bool[]", "str[n]"} <= set(texts(browser, ".type"))
    assert {"state s", "stack m", "trip i", "from outside: x"} <= set(texts(browser, ".port text:not(.type)"))
    browser.execute_script("arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true}))", node(browser, "inner"))
    assert "halved" not in names(browser) and node(browser, "inner").get_attribute("aria-expanded") == "false"
    node(browser, "inner").send_keys(Keys.ENTER)
    assert "halved" in names(browser), "the enter key opens it again"
    browser.find_element(By.ID, "close").click()
    assert names(browser) == {"first", "outer"}
    browser.find_element(By.ID, "open").click()
    assert "halved" in names(browser)
    assert_quiet(browser)


def test_boxes_hold_their_nodes_and_nodes_do_not_overlap(browser, graph):
    opened(browser, graph)
    boxes = {name: node(browser, name).find_element(By.TAG_NAME, "rect").rect for name in ("first", "outer", "inner", "halved")}
    inside = lambda a, b: b["x"] <= a["x"] and b["y"] <= a["y"] and a["x"] + a["width"] <= b["x"] + b["width"] and a["y"] + a["height"] <= b["y"] + b["height"]
    assert inside(boxes["inner"], boxes["outer"]) and inside(boxes["halved"], boxes["inner"])
    assert boxes["first"]["y"] + boxes["first"]["height"] < boxes["outer"]["y"], "what is read is above"


def test_a_node_tells_what_it_is(browser, graph):
    opened(browser, graph)
    node(browser, "first").click()
    said = browser.find_element(By.ID, "details").text
    assert "node 'first' (Abs)" in said and "x: f32[n]" in said and "a: f32[n]" in said
    field = browser.find_element(By.ID, "search")
    field.send_keys("halved")
    assert browser.find_element(By.ID, "count").text == "1 found"
    field.send_keys(Keys.ENTER)
    assert "node 'halved' (Mul)" in browser.find_element(By.ID, "details").text
    assert "found" in node(browser, "halved").get_attribute("class") and "chosen" in node(browser, "halved").get_attribute("class")
    field.clear()
    field.send_keys("outer", Keys.ENTER)
    said = browser.find_element(By.ID, "details").text
    assert "a trip count from data" in said and "step by step, for shapes as declared: node 'u' (Cast) makes text" in said
    assert_quiet(browser)


def test_the_graph_is_dark_and_light(browser, graph):
    assert_dark_and_light(opened(browser, graph))


def test_the_wheel_zooms_and_dragging_moves(browser, graph):
    opened(browser, graph)
    before = node(browser, "first").rect
    drawing = browser.find_element(By.ID, "drawing")
    ActionChains(browser).move_to_element_with_offset(drawing, -400, 250).click_and_hold().move_by_offset(40, 30).release().perform()
    moved = node(browser, "first").rect
    assert abs(moved["x"] - before["x"] - 40) < 3 and abs(moved["y"] - before["y"] - 30) < 3
    browser.execute_script("arguments[0].dispatchEvent(new WheelEvent('wheel', {deltaY: -200, clientX: 100, clientY: 100}))", drawing)
    assert node(browser, "first").rect["width"] > 1.3 * before["width"]
    browser.find_element(By.ID, "fit").click()
    assert node(browser, "first").rect["width"] < 1.3 * before["width"]


def test_a_graph_of_a_thousand_nodes_can_be_used(browser, folder):
    """Chains that join and part, with edges from the first node to many others."""
    rng = np.random.default_rng(0)
    nodes, made = [], ["x"]
    for k in range(1000):
        inputs = [made[-1], made[int(rng.integers(max(0, len(made) - 5), len(made)))] if k % 3 else "x"]
        nodes.append(onnx.helper.make_node("Add", inputs, [f"t{k}"], name=f"layer{k}"))
        made.append(f"t{k}")
    f = lambda name: onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["batch", 16])
    onnx.save(onnx.helper.make_model(onnx.helper.make_graph(nodes, "g", [f("x")], [f("t999")]), opset_imports=[onnx.helper.make_opsetid("", 21)]), folder / "large.onnx")
    assert main(["inspect", str(folder / "large.onnx"), "--html", str(folder / "large.html")]) == 0
    opened(browser, folder / "large.html")
    assert len(names(browser)) == 1000
    field = browser.find_element(By.ID, "search")
    field.send_keys("layer777", Keys.ENTER)
    shown, window = node(browser, "layer777").rect, browser.find_element(By.ID, "drawing").rect
    assert window["y"] < shown["y"] < window["y"] + window["height"] and window["x"] < shown["x"] < window["x"] + window["width"]
    node(browser, "layer777").click()
    assert "node 'layer777' (Add)" in browser.find_element(By.ID, "details").text
    assert_quiet(browser)


# ---- profiles -------------------------------------------------------------------------------------------


def test_a_profile_shows_nodes_times_and_reasons(browser, profile):
    opened(browser, profile)
    rows = texts(browser, "#dearest tbody tr")
    assert any("node 'outer' (Loop)" in row and "step by step" in row for row in rows), rows
    assert any("node 'inner' (Loop)" in row for row in rows)
    (reason,) = [row for row in texts(browser, "#how tbody tr") if "'outer'" in row]
    assert "node 'u' (Cast) makes text; strings run step by step" in reason
    assert "5 runs" in browser.find_element(By.ID, "summary").text
    assert browser.find_element(By.CSS_SELECTOR, "#memory path").get_attribute("d").count("L") > 2
    assert {"tiers"} <= set(texts(browser, "#timeline text"))


def test_rows_and_spans_can_be_clicked(browser, profile):
    opened(browser, profile)
    browser.find_element(By.CSS_SELECTOR, "#dearest tr[data-name=\"node 'outer' (Loop)\"]").click()
    assert browser.find_element(By.ID, "facts").text.startswith("node 'outer' (Loop): 5 recorded")
    chosen = browser.find_elements(By.CSS_SELECTOR, "#timeline .chosen")
    assert len(chosen) == 5
    browser.execute_script("arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true}))", chosen[0])
    assert "trips: 30 · tier: step by step" in browser.find_element(By.ID, "facts").text
    assert_quiet(browser)


def test_the_timeline_zooms(browser, profile):
    opened(browser, profile)
    widths = "return [...document.querySelectorAll('#timeline rect.run')].map(e => Number(e.getAttribute('width')))"
    before = max(browser.execute_script(widths))
    chart = browser.find_element(By.ID, "timeline")
    browser.execute_script("const box = arguments[0].getBoundingClientRect(); arguments[0].dispatchEvent("
                           "new WheelEvent('wheel', {deltaY: -1200, clientX: box.right - 5, clientY: box.top + 30}))", chart)  # fmt: skip
    browser.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
    assert max(browser.execute_script(widths)) > 2 * before
    assert_quiet(browser)


def test_the_profile_is_dark_and_light(browser, profile):
    assert_dark_and_light(opened(browser, profile))


def test_a_profile_of_200000_spans_can_be_opened(browser, folder):
    """Browsers limit the arguments of a call."""
    tracks = [{"ph": "M", "name": "thread_name", "tid": 1, "args": {"name": "thread 1"}}]
    spans = [{"ph": "X", "cat": "trip", "name": "trip", "ts": 2 * k, "dur": 1, "tid": 1, "args": {}} for k in range(200_000)]
    memory = [{"ph": "C", "name": "memory", "ts": 2 * k, "args": {"bytes": 1024 * (k % 9)}} for k in range(200_000)]
    (folder / "long.html").write_text(profiling.profile_html([*tracks, *spans, *memory], "long"))
    opened(browser, folder / "long.html")
    assert "At most 8.0 KiB" in browser.find_element(By.CSS_SELECTOR, "main").text
    assert 100 < len(browser.find_elements(By.CSS_SELECTOR, "#timeline rect")) < 5000
