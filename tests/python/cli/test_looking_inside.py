"""Pages and profiles: `rondel inspect --html` and `rondel run --profile`. tests/packages/test_pages.py opens the pages in a browser."""

import json
import re

import numpy as np
import onnx
import pytest
from command_line import rondel as command  # noqa: F401
from models import model

import rondel
from rondel import profiling
from rondel.inspection import graph_html

ROOT = """
main (float[n] x, int64 most) => (float[n] y, float[k] worst) <float half = {0.5}> {
  a = Abs (x)
  [root] y, worst = Loop (most, , a) <body = body (int64 i, bool go, s) => (bool on, t, m) {
    on = Identity (go)  h = Mul (s, half)  t = Add (h, x)  m = ReduceMax <keepdims = 0> (t)
  }>
}"""
BRANCH = """
main (bool c, float[n] x) => (float[n] y) {
  [choice] y = If (c) <then_branch = a () => (float[n] p) { p = Add (x, x) }, else_branch = b () => (float[n] q) { q = Neg (x) }>
}"""
STEPS = """
main (float[n] x, int64 most) => (float[n] y) {
  [outer] y = Loop (most, , x) <body = body (int64 i, bool go, s) => (bool on, t) {
    on = Identity (go)  u = Cast <to = 8> (s)  v = Cast <to = 1> (u)
    [inner] t = Loop (most, , v) <body = deep (int64 j, bool run, p) => (bool stay, q) { stay = Identity (run)  q = Sin (p) }>
  }>
}"""


def saved(text, name="model.onnx"):
    onnx.save(model(text), name)
    return name


def data_of(page):
    """What a page shows, and a check that it needs nothing else."""
    assert page.startswith("<!DOCTYPE html>") and "default-src 'none'" in page
    assert not re.search(r"<(link|img|iframe|script[^>]* src)|@import|url\(|fetch\(|XMLHttpRequest", page)
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1])


# ---- graphs ---------------------------------------------------------------------------------------------


def test_the_page_of_a_graph_has_its_nodes_types_and_loops(command, tmp_path):
    code, out, err = command("inspect", saved(ROOT), "--html", "graph.html")
    assert (code, out) == (0, "wrote graph.html\n"), err
    shown = data_of((tmp_path / "graph.html").read_text())
    name = lambda port: shown["values"][port[0]][0]
    kind = lambda port: shown["values"][port[0]][1]
    root = shown["root"]
    assert [(role, kind((v, role))) for v, role in root["params"]] == [("x", "f32[n]"), ("most", "i64[]")]
    assert [role for _, role in root["results"]] == ["y", "worst"]
    first, loop = root["nodes"]
    assert first["source"] == "node 'a' (Abs)" and loop["source"] == "node 'root' (Loop)"
    assert [(name(p), p[1]) for p in loop["inputs"]] == [("most", "trips"), ("a", "state")]
    assert [p[1] for p in loop["outputs"]] == ["state", "stack", "trips"]
    (body,) = loop["regions"]
    assert [(name(p), kind(p), p[1]) for p in body["params"]] == [("i", "i64[]", "trip"), ("go", "bool[]", "go"), ("s", "f32[n]", "state")]
    assert [p[1] for p in body["results"]] == ["go", "state", "stack"]
    mul = next(n for n in body["nodes"] if n["op"] == "mul")
    assert [shown["values"][v][2] for v, _ in mul["inputs"]] == ["", "f32[] {0.5}"], "a constant is shown where it is read"
    assert shown["control"]["node 'root' (Loop)"] == {"bound": "a trip count from data", "execution": "natively, as a whole"}


def test_the_branches_of_an_if(tmp_path):
    shown = data_of(graph_html(model(BRANCH).SerializeToString()))
    (choice,) = shown["root"]["nodes"]
    assert [(r["role"], r["nodes"][0]["op"]) for r in choice["regions"]] == [("then", "add"), ("else", "neg")]


def test_names_cannot_end_the_script(tmp_path):
    made = model("main (float[2] x) => (float[2] y) { t = Abs (x)  y = Neg (t) }")
    made.graph.node[0].name = "</script><script>alert(1)</script>"
    page = graph_html(made.SerializeToString())
    assert page.count("</script>") == 2
    assert data_of(page)["root"]["nodes"][0]["source"] == "node '</script><script>alert(1)</script>' (Abs)"


def test_with_inputs_the_page_tells_how_the_loops_ran(command, tmp_path):
    code, _, err = command("inspect", saved(STEPS), "-i", "x=[1, 2]", "-i", "most=2", "--html", "graph.html")
    assert code == 0, err
    control = data_of((tmp_path / "graph.html").read_text())["control"]
    assert control["node 'outer' (Loop)"]["execution"].startswith("step by step: node 'u' (Cast) makes text")


def test_a_model_that_does_not_run_has_no_page(command, tmp_path):
    code, out, err = command("inspect", saved("main (float[n] x) => (y) { y = NoSuchOp (x) }"), "--html", "graph.html")
    assert code == 3 and "NoSuchOp" in err and not (tmp_path / "graph.html").exists()
    code, _, err = command("inspect", saved(ROOT), "--html", "graph.txt")
    assert code == 2 and "--html graph.txt: expected a file that ends in .html" in err, err
    code, _, err = command("inspect", saved(ROOT), "--html", "no/such/folder/graph.html")
    assert code == 1 and err.startswith("rondel: --html: "), err


# ---- profiles -------------------------------------------------------------------------------------------


def test_a_page_is_made_of_a_file_or_its_events(command, tmp_path):
    session = rondel.InferenceSession(model(ROOT).SerializeToString(), rondel.SessionOptions(enable_profiling=True, profile_file_prefix=str(tmp_path / "times")))
    session.run(None, {"x": np.ones(3, np.float32), "most": np.array(2)})
    path = session.end_profiling()
    page = profiling.profile_html(path)
    assert data_of(page)["title"] == path.rsplit("/", 1)[-1] and profiling.profile_html(path, "mine").count("mine: profile") == 1
    with open(path) as file:
        assert data_of(profiling.profile_html(json.load(file)))["spans"] == data_of(page)["spans"]
    with pytest.raises(rondel.CallerError, match="'none.json' is no profile that can be read"):
        profiling.profile_html("none.json")


def profile(command, tmp_path, text, *arguments):
    code, out, err = command("run", saved(text), "--profile", "times.json", *arguments)
    assert code == 0 and out.endswith("wrote times.json\n"), err
    events = json.loads((tmp_path / "times.json").read_text())
    return events, [e for e in events if e["ph"] == "X"]


def inside(event, around):
    return event["tid"] == around["tid"] and around["ts"] - 0.01 <= event["ts"] and event["ts"] + event["dur"] <= around["ts"] + around["dur"] + 0.01


def test_a_loop_that_runs_as_a_whole_is_one_span_with_its_trips(command, tmp_path):
    events, spans = profile(command, tmp_path, ROOT, "-i", "x=random:f32[50]", "-i", "most=200", "--repeat", "3")
    runs = [e for e in spans if e["cat"] == "run"]
    loops = [e for e in spans if e["name"] == "node 'root' (Loop)" and e["cat"] == "step"]
    assert len(runs) == len(loops) == 3 and all(inside(loop, run) for loop, run in zip(loops, runs))
    assert all(loop["args"]["trips"] == 200 and "tier" in loop["args"] for loop in loops)
    tracks = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    chunks = [e for e in spans if e["cat"] == "chunk"]
    assert sum(e["args"]["trips"] for e in chunks) == 600 and {tracks[e["tid"]] for e in chunks} == {"tiers"}
    assert all(re.fullmatch(r"(native|interpreted): node 'root' \(Loop\)", e["name"]) for e in chunks)
    assert {"reading the model", "passes and plan", "model_run"} <= {e["name"] for e in spans}
    assert [e for e in events if e["ph"] == "C"] and all(e["args"]["bytes"] >= 0 for e in events if e["ph"] == "C")


def test_what_a_run_waits_for_and_what_is_compiled_are_tracks(command, tmp_path):
    text = ROOT.replace("0.5", "0.498765")  # code that no other test has
    events, spans = profile(command, tmp_path, text, "-i", "x=random:f32[200000]", "-i", "most=2000")
    tracks = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    of = {kind: [e for e in spans if e["cat"] == kind] for kind in ("compile", "wait", "queue")}
    compiled = [e for e in of["compile"] if "'root'" in e["name"]]
    # A second track where both tiers are compiled at the same time.
    assert compiled and re.fullmatch(r"compiling( \(\d+\))?", tracks[compiled[0]["tid"]])
    assert of["wait"] and tracks[of["wait"][0]["tid"]] == "waiting for native code", "a large run waits for the compiler"
    assert of["queue"] and tracks[of["queue"][0]["tid"]] == "waiting for the compiler"
    (loop,) = [e for e in spans if e["name"] == "node 'root' (Loop)" and e["cat"] == "step"]
    assert re.fullmatch(r"native(, after \d+ interpreted trips)?", loop["args"]["tier"])


def test_a_loop_that_runs_step_by_step_holds_its_trips_and_they_their_steps(command, tmp_path):
    _, spans = profile(command, tmp_path, STEPS, "-i", "x=[1, 2]", "-i", "most=3")
    (outer,) = [e for e in spans if e["name"] == "node 'outer' (Loop)"]
    assert outer["args"] == {"trips": 3, "tier": "step by step"}
    trips = [e for e in spans if e["cat"] == "trip"]
    assert [e["name"] for e in trips] == ["trip 0", "trip 1", "trip 2"] and all(inside(t, outer) for t in trips)
    inner = [e for e in spans if e["name"] == "node 'inner' (Loop)" and e["cat"] == "step"]
    assert len(inner) == 3 and all(inside(i, t) and i["args"]["trips"] == 3 for i, t in zip(inner, trips))


def test_of_many_short_trips_some_are_recorded_and_stand_for_the_others(command, tmp_path):
    _, spans = profile(command, tmp_path, STEPS, "-i", "x=[1, 2]", "-i", "most=3000", "--max-trips", "3000")
    trips = [e for e in spans if e["cat"] == "trip"]
    weights = [e["args"].get("stands_for", 1) for e in trips]
    assert weights[:16] == [1] * 16 and 3000 <= sum(weights) < 3000 + weights[-1]
    steps = [e for e in spans if e["name"] == "node 'inner' (Loop)" and e["cat"] == "step"]
    assert sum(e["args"].get("stands_for", 1) for e in steps) == sum(weights)


def test_the_page_of_a_profile(command, tmp_path):
    code, out, err = command("run", saved(STEPS), "-i", "x=[1, 2]", "-i", "most=3", "--profile", "times.html", "--repeat", "2", "-o", "out")
    assert code == 0 and out.endswith("wrote out/y.npy\nwrote times.html\n"), err
    assert re.search(r"^ran in [\d.]+ ms, then 1 more: median [\d.]+ ms$", out, re.MULTILINE)
    shown = data_of((tmp_path / "times.html").read_text())
    names = [row[0] for row in shown["dearest"]]
    assert "node 'outer' (Loop)" in names and "node 'u' (Cast)" in names
    assert all(own <= whole + 1e-9 for _, own, whole, _, _ in shown["dearest"])
    assert shown["how"]["node 'outer' (Loop)"].startswith("step by step: node 'u' (Cast) makes text")
    assert shown["memory"] and len([s for s in shown["spans"] if s[0] == "run"]) == 2


@pytest.mark.parametrize("name, said", [("times.txt", "ends in .json"), ("no/times.json", "there is no folder no"), ("times", "ends in .json")])
def test_a_profile_that_cannot_be_written_is_said_before_the_run(command, name, said):
    code, out, err = command("run", saved(ROOT), "-i", "x=[1]", "-i", "most=3", "--profile", name)
    assert code == 2 and said in err and out == "", err


def test_a_run_that_fails_leaves_no_profile(command, tmp_path):
    code, out, err = command("run", saved(ROOT), "-i", "x=[1]", "-i", "most=30", "--max-trips", "3", "--profile", "times.json", "-o", "out")
    assert code == 4 and out == "" and err.startswith("rondel: ") and err.count("\n") == 1, err
    assert [p.name for p in tmp_path.iterdir()] == ["model.onnx"]


def test_own_times():
    span = lambda cat, name, ts, dur, **args: {"cat": cat, "name": name, "ts": ts, "dur": dur, "tid": 1, "args": args}
    spans = [
        span("step", "loop", 0, 100, trips=9), span("trip", "trip 0", 0, 10), span("step", "a", 0, 4), span("step", "b", 4, 6),
        span("trip", "trip 1", 10, 10, stands_for=8), span("step", "a", 10, 10, stands_for=8),
    ]  # fmt: skip
    rows = {name: (round(own * 1e6), round(whole * 1e6), times) for name, own, whole, times, _ in profiling.dearest(spans)}
    assert rows == {"loop": (10, 100, 1), "a": (84, 84, 9), "b": (6, 6, 1)}


def test_results_with_and_without_a_profile_are_the_same(tmp_path):
    feeds = {"x": np.float32([1, 2, 3]), "most": np.int64(40)}
    with_profile = rondel.SessionOptions()
    with_profile.enable_profiling = True
    with_profile.profile_file_prefix = str(tmp_path / "times")
    for text in (ROOT, STEPS):
        source = model(text).SerializeToString()
        plain, traced = rondel.InferenceSession(source), rondel.InferenceSession(source, with_profile)
        for _ in range(3):
            for a, b in zip(plain.run(None, feeds), traced.run(None, feeds)):
                np.testing.assert_array_equal(a, b)
